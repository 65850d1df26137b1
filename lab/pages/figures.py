"""Draws the figures of stored rows, which are not stored themselves: ``make figures``.

``python -m lab.pages.figures [docs|lab]`` draws those of docs/, or of the papers' pages, or both, each beside
its page. A figure whose rows are not stored is stored itself.
"""

import sys
from pathlib import Path

from lab.pages import choosing
from lab.reproduction import MODULES, home, named

LAB = Path(__file__).resolve().parents[1]
DOCS = LAB.parent / "docs"


def documentation(folder: Path = DOCS) -> None:
    """Draw what the documentation shows."""
    (folder / "choosing.svg").write_text(choosing.picture(), "utf-8")


def laboratory(folder: Path = LAB) -> None:
    """Draw what pages of the laboratory name, from the rows that lie beside them."""
    for name in MODULES:
        if draw := named(name).figures:
            draw(folder / home(name).name)


PARTS = {"docs": documentation, "lab": laboratory}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
