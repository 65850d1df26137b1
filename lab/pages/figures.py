"""Draws the figures of stored rows, which are not stored themselves: ``make figures``.

``python -m lab.pages.figures [docs|lab]`` draws those of docs/, or of lab/, or both, each beside its page. A
figure whose rows are not stored is stored itself.
"""

import sys
from importlib import import_module
from pathlib import Path

import polars as pl

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

    def table(path: Path) -> pl.DataFrame:
        return pl.read_csv(path, schema_overrides={"epsilon": pl.Float64})

    sys.path.insert(0, str(LAB / "scoreboard"))
    crowds, membership, people, public = map(
        import_module, ("crowds", "membership", "synthetic_people", "top_n_public")
    )
    board, attacks = folder / "scoreboard", folder / "attacks"
    rows = {
        board / "crowds": crowds.figure(crowds.losses(crowds.stored(board / "crowds.csv"))),
        attacks / "membership": membership.picture(
            membership.read(attacks / "membership.csv"), "MovieLens 1M"
        ),
        board / "synthetic_people": people.picture(table(board / "synthetic_people.csv"), "MovieLens 1M"),
        board / "top_n_public": public.picture(table(board / "top_n_public.csv")),
    }
    for path, drawn in rows.items():
        path.with_suffix(".svg").write_text(drawn, "utf-8")


PARTS = {"docs": documentation, "lab": laboratory}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
