"""Results of a grid on disk: a small file for every finished run, and one table of them all.

A run's file appears whole or not at all, under the run's key. So whenever the process is killed, what was
finished is there once, and a start after it needs no repair.

Privacy: private: errors measured on held-out ratings.
"""

import contextlib
from collections.abc import Sequence
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
    "peak_mb": pl.Float64,
    "error": pl.String,
    "splits": pl.String,
    "data": pl.String,
    "domain": pl.String,
    "hushrec": pl.String,
    "numpy": pl.String,
    "python": pl.String,
}
"""Columns of a run on ratings. The table has ``name``, the label of its curve, before them."""
RUN = {name: SCHEMA[name] for name in ("key", "peak_mb", "error", "hushrec", "numpy", "python")}
"""The columns that every experiment has."""
_OTHERS, _PLACE = "others.parquet", "place"


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


def read(path: str | Path) -> pl.DataFrame:
    """A table of results, ``.parquet`` or ``.csv``, with the types of its columns.

    Privacy: private.
    """
    source = Path(path)
    if source.suffix != ".csv":
        return pl.read_parquet(source)
    names = pl.read_csv(source, n_rows=0).columns
    return _read(source, {name: _kind(name) for name in names})


def _kind(name: str) -> Any:
    return SCHEMA.get(name, pl.Float64 if "@" in name else pl.String)


def _read(source: Path, schema: dict[str, Any]) -> pl.DataFrame:
    """The columns of a schema."""
    if source.suffix != ".csv":
        return pl.read_parquet(source, columns=list(schema))
    return pl.read_csv(source, columns=list(schema), schema_overrides=schema).select(*schema)


class Results:
    """The table of an experiment's results, and the files of runs that are not in it yet.

    Args:
        out: the table, ``.parquet`` or ``.csv``. The files lie in a folder beside it, its name followed by
            ``.parts``.
        schema: its columns; ``RUN`` among them.

    Privacy: private.
    """

    def __init__(self, out: Path, schema: dict[str, Any] = SCHEMA) -> None:
        self.out, self.folder, self.schema = out, out.with_name(f"{out.name}.parts"), schema

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Keep the rows of one run; those of the same key are replaced."""
        self._write(pl.DataFrame(rows, schema=self.schema), self.folder / f"{rows[0]['key']}.parquet")

    def rows(self) -> pl.DataFrame:
        """Every run that is known, once, of this grid or another.

        Raises:
            ConfigError: The table is not one of results.
        """
        return self._read(self._parts())

    def merge(self, names: dict[str, str]) -> pl.DataFrame:
        """Write the table of the runs of a grid. Others stay beside it, for a grid that asks for them.

        Args:
            names: key → name of the curve, in the table's order.

        Returns:
            The table.
        """
        parts = self._parts()
        found = self._read(parts)
        table, others = self._named(found, names), found.filter(~pl.col("key").is_in(list(names)))
        if len(others):
            self._write(others, self.folder / _OTHERS)
            parts = [part for part in parts if part.name != _OTHERS]
        self._write(table, self.out)
        files.sweep(self.folder)  # of killed processes
        for part in parts:
            part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # it holds others, or another process writes there
            self.folder.rmdir()
        return table

    def _write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a table, whole or not at all, whatever happens meanwhile.

        Raises:
            ConfigError: It cannot be written.
        """
        with files.refusing(path, "written", ConfigError, "choose another with --out"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with files.whole(path) as file:
                (table.write_csv if path.suffix == ".csv" else table.write_parquet)(file)

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("*.parquet"), key=lambda part: (part.name != _OTHERS, part.name))

    def _read(self, parts: list[Path]) -> pl.DataFrame:
        """The table's runs, then the others, then the files', of which the last counts."""
        sources = [self.out] * self.out.exists() + parts
        try:
            tables = [_read(source, self.schema) for source in sources]
        except (OSError, pl.exceptions.PolarsError):
            raise ConfigError(
                f"{self.out}, or the folder {self.folder.name} beside it, is not a table of results; choose "
                "another file with --out"
            ) from None
        placed = [table.with_columns(pl.lit(place).alias(_PLACE)) for place, table in enumerate(tables)]
        everything = pl.concat([pl.DataFrame(schema={**self.schema, _PLACE: pl.Int32}), *placed])
        return everything.filter(pl.col(_PLACE) == pl.col(_PLACE).max().over("key")).drop(_PLACE)

    def _named(self, found: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        schema = {"name": pl.String, "key": pl.String}
        wanted = pl.DataFrame({"name": list(names.values()), "key": list(names)}, schema=schema)
        table = wanted.join(found, on="key", how="inner", maintain_order="left_right")
        return table.select("name", *self.schema)
