"""Results of a grid on disk: a file that grows by a line for every finished run, and one table made of it.

A process that is killed leaves at most half a line, which is passed over: what was finished before is there,
and a start after it needs no repair.

Privacy: private: errors measured on held-out ratings.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from hushrec import files
from hushrec.errors import ConfigError

SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "model": pl.String,
    "unit": pl.String,
    "adjacency": pl.String,
    "analysis": pl.String,
    "epsilon": pl.Float64,
    "delta": pl.Float64,
    "split": pl.Int64,
    "seed": pl.Int64,
    "fold_in": pl.Boolean,
    "settings": pl.String,
    "rmse": pl.Float64,
    "mae": pl.Float64,
    "true_epsilon": pl.Float64,
    "claimed_epsilon": pl.Float64,
    "fit_seconds": pl.Float64,
    "predict_seconds": pl.Float64,
    "error": pl.String,
    "splits": pl.String,
    "data": pl.String,
    "domain": pl.String,
    "hushrec": pl.String,
    "numpy": pl.String,
    "python": pl.String,
}
"""Columns of a run on ratings. The table has ``name``, the label of its curve, before them."""
RUN = {name: SCHEMA[name] for name in ("key", "error", "hushrec", "numpy", "python")}
"""The columns that every experiment has."""
_FIX = "choose another with --out"


def columns_of(errors: bool, ranked: Sequence[str]) -> dict[str, Any]:
    """Columns of a run with these metrics.

    Args:
        errors: whether ratings are predicted, so that there are RMSE and MAE.
        ranked: metrics of rankings. They stand after the errors; ``measured`` names them once more, as a part
            of what identifies a run.
    """
    if not ranked:
        return SCHEMA
    found: dict[str, Any] = {}
    for name, kind in SCHEMA.items():
        if name == "true_epsilon":
            found |= dict.fromkeys(ranked, pl.Float64)
        if errors or name not in ("rmse", "mae"):
            found[name] = kind
        if name == "splits":
            found["measured"] = pl.String
    return found


class Results:
    """The table of an experiment's results, and beside it the file of all runs, of other grids too.

    Args:
        out: the table, ``.parquet`` or ``.csv``. The file has its name, followed by ``.runs``.
        schema: its columns; ``RUN`` among them.
    """

    def __init__(self, out: Path, schema: dict[str, Any] = SCHEMA) -> None:
        self.out, self.log, self.schema = out, out.with_name(f"{out.name}.runs"), schema

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of one run; those of the same key are replaced."""
        given = [{name: value for name, value in row.items() if value is not None} for row in rows]
        with files.refusing(self.log, "written", ConfigError, _FIX):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("a", encoding="utf-8") as file:  # a new line first: the last may be half
                file.write("\n" + json.dumps(given, default=lambda number: number.item()))

    def runs(self) -> dict[str, list[dict[str, Any]]]:
        """Rows of every run that is known, by key."""
        found: dict[str, list[dict[str, Any]]] = {}
        lines = self.log.read_text("utf-8").split("\n") if self.log.exists() else []
        for line in filter(None, lines):
            try:
                rows = json.loads(line)
            except ValueError:
                continue
            if not (isinstance(rows, list) and rows and "key" in rows[0]):
                raise ConfigError(f"{self.log} does not hold runs; choose another file with --out")
            found[rows[0]["key"]] = rows
        return found

    def table(self, names: Mapping[str, str]) -> pl.DataFrame:
        """Write the table of the runs of a grid.

        Args:
            names: key → name of the curve, in the table's order.

        Returns:
            The table.
        """
        known = self.runs()
        rows = [{"name": name, **row} for key, name in names.items() for row in known.get(key, ())]
        table = pl.DataFrame(rows, schema={"name": pl.String, **self.schema})
        with files.refusing(self.out, "written", ConfigError, _FIX), files.whole(self.out) as file:
            (table.write_csv if self.out.suffix == ".csv" else table.write_parquet)(file)
        return table
