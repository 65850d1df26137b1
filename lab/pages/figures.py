"""Draws the figures of stored rows, which are not stored themselves: ``make figures``.

``python -m lab.pages.figures [docs|results]`` draws those of docs/, or of lab/results/, or both, each beside
its page. A figure whose rows are not stored is stored itself.
"""

import sys
from importlib import import_module
from pathlib import Path

import polars as pl

from lab.pages import choosing, weekly
from lab.reproductions.reproduction import MODULES, named

LAB = Path(__file__).resolve().parents[1]
DOCS, RESULTS = LAB.parent / "docs", LAB / "results"


def documentation(folder: Path = DOCS) -> None:
    """Draw what the documentation shows."""
    (folder / "choosing.svg").write_text(choosing.picture(), "utf-8")
    (folder / "weekly.svg").write_text(weekly.picture(weekly.kept()), "utf-8")


def results(folder: Path = RESULTS) -> None:
    """Draw what pages of results name, from the rows that lie in the folder."""
    for name in MODULES:
        if draw := named(name).figures:
            draw(folder)

    def table(name: str) -> pl.DataFrame:
        return pl.read_csv(folder / f"{name}.csv", schema_overrides={"epsilon": pl.Float64})

    sys.path.insert(0, str(LAB / "benchmarks"))
    crowds, membership, people, public = map(
        import_module, ("crowds", "membership", "synthetic_people", "top_n_public")
    )
    rows = {
        "crowds": crowds.figure(crowds.losses(crowds.stored(folder / "crowds.csv"))),
        "membership": membership.picture(membership.read(folder / "membership.csv"), "MovieLens 1M"),
        "synthetic_people": people.picture(table("synthetic_people"), "MovieLens 1M"),
        "top_n_public": public.picture(table("top_n_public")),
    }
    for name, drawn in rows.items():
        (folder / f"{name}.svg").write_text(drawn, "utf-8")


PARTS = {"docs": documentation, "results": results}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
