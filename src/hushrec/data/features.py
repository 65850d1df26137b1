"""Public features of items, from lists made by their publishers: genres, years, tags.

Privacy: public. Do not derive a feature from ratings: an item's popularity reveals who rated it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import GENRES, read_ids
from hushrec.errors import DomainError

_NOTHING = ("", "(no genres listed)")
_TITLE = "title"

__all__ = ["ItemFeatures", "of_texts", "read"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ItemFeatures:
    """One feature vector per item of a catalogue; an item of which nothing is known has zeros.

    Args:
        matrix: finite numbers, sparse or dense, shape (n_items, n_features), in the order of the domain;
            stored as a ``scipy.sparse.csr_array`` of float64.
        names: names of the features, shape (n_features,).

    Privacy: public.
    """

    matrix: Any
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        matrix: Any = sparse.csr_array(self.matrix, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if matrix.ndim != 2 or matrix.shape[1] != len(self.names) or not np.isfinite(matrix.data).all():
            raise DomainError("features must be finite numbers, one row per item and one name per column")
        object.__setattr__(self, "matrix", matrix)

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of names and numbers."""
        total = hashlib.sha256("\0".join(("hushrec features", *self.names, "")).encode())
        total.update(np.array(self.matrix.shape, "<i8").tobytes())
        for array, kind in zip(
            (self.matrix.indptr, self.matrix.indices, self.matrix.data), ("<i8", "<i8", "<f8"), strict=True
        ):
            total.update(array.astype(kind).tobytes())
        return total.hexdigest()

    def __repr__(self) -> str:
        return "ItemFeatures({:,} items, {:,} features)".format(*self.matrix.shape)


def read(
    path: str | Path, domain: Domain, column: str | None = None, features: Sequence[str] | None = None
) -> ItemFeatures:
    """Features of a domain's items.

    Args:
        path: MovieLens ``movies.dat`` (``id::title::genre|genre``) or ``u.item``; or ``.csv``, ``.tsv`` or
            ``.parquet`` with a header, such as MovieLens' ``movies.csv``. In these, numeric columns are taken
            as they are, and text columns are split at ``|`` into features of 0 and 1.
        domain: determines the items; items missing from the file get zeros; rows of other items and repeated
            rows of an item are skipped.
        column: the column of the ids, for a file with a header; the first by default.
        features: the columns to take, for a file with a header; by default all except ids and ``title``.

    Privacy: public.
    """
    path = Path(path)
    ids = read_ids(path, column)
    if path.name.startswith("movie_titles.") or path.suffix in (".txt", ".user"):
        raise DomainError(f"{path} does not hold features; give a list of items with genres or other columns")
    if path.suffix in (".dat", ".item"):
        if features is not None:
            raise DomainError(f"{path} has no header, so there are no columns to choose; leave features= out")
        parts = [_listed(path)]
    else:
        parts = _columns(path, column, features)
    rows = np.array([domain.positions.get(item, -1) for item in ids], dtype=np.int64)
    known = np.flatnonzero(rows >= 0)
    _, first = np.unique(rows[known], return_index=True)
    known = known[first]
    if not known.size:
        raise DomainError(
            f"{path} lists none of the catalogue's items; give another list, or name the ids with column="
        )
    place = sparse.csr_array((np.ones(known.size), (rows[known], known)), shape=(domain.n_items, len(ids)))
    matrices, names = [matrix for matrix, _ in parts], [name for _, own in parts for name in own]
    return ItemFeatures(sparse.csr_array(place @ sparse.hstack(matrices, format="csr")), tuple(names))


def of_texts(texts: Mapping[str, Sequence[str]]) -> ItemFeatures:
    """Features of a release's items, from the texts that it carries, as from the columns of a file.

    Args:
        texts: name → one text for each item; there is at least one.

    Raises:
        DomainError: the texts are not one for each item.

    Privacy: public.
    """
    parts = [
        _column(Path("the release"), pl.Series(name, own, dtype=pl.String)) for name, own in texts.items()
    ]
    matrices, names = [matrix for matrix, _ in parts], [name for _, own in parts for name in own]
    return ItemFeatures(sparse.csr_array(sparse.hstack(matrices, format="csr")), tuple(names))


_Part = tuple[Any, list[str]]
"""A sparse matrix and the names of its columns."""


def _listed(path: Path) -> _Part:
    """Genres of a MovieLens list; only the genres are decoded, since titles are often not UTF-8."""
    lines = [line for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines() if line]
    try:
        if path.suffix == ".dat":
            return _indicators([line.rsplit(b"::", 1)[-1].decode() for line in lines], "")
        flags = [line.split(b"|")[-len(GENRES) :] for line in lines]
        matrix = np.array(flags, dtype=np.float64).reshape(len(lines), len(GENRES))
    except (UnicodeError, ValueError):
        raise DomainError(f"{path}: lines do not end in genres, as MovieLens' movies.dat or u.item") from None
    return sparse.csr_array(matrix), list(GENRES)


def _columns(path: Path, column: str | None, features: Sequence[str] | None) -> list[_Part]:
    table = (
        pl.read_parquet(path)
        if path.suffix == ".parquet"
        else pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",", infer_schema=False)
    )
    own = column or table.columns[0]
    if features is None:
        features = [name for name in table.columns if name != own and name.lower() != _TITLE]
    if missing := sorted({*features} - {*table.columns}):
        raise DomainError(f"{path} has no column {missing[0]!r}; it has {', '.join(table.columns)}")
    if not features:
        raise DomainError(f"{path} has no columns except ids and titles; name some with features=")
    return [_column(path, table[name]) for name in features]


def _column(path: Path, column: pl.Series) -> _Part:
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.is_in(_NOTHING).sum() + column.null_count():
            return _indicators(column.fill_null("").to_list(), f"{column.name}=")
        column = numbers
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise DomainError(
            f"{path}: column {column.name!r} is {column.dtype.base_type()}; features must be numbers or text"
        )
    values: Floats = column.cast(pl.Float64).fill_null(0.0).to_numpy()
    return sparse.csr_array(values[:, None]), [column.name]


def _indicators(cells: Sequence[str], prefix: str) -> _Part:
    """One 0/1 feature for each word that occurs in a cell, words being separated by bars."""
    words = [{word.strip() for word in cell.split("|")}.difference(_NOTHING) for cell in cells]
    names = sorted(set().union(*words))
    places = {name: place for place, name in enumerate(names)}
    rows = np.repeat(np.arange(len(cells)), [len(own) for own in words])
    columns = np.array([places[word] for own in words for word in own], dtype=np.int64)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(len(cells), len(names)))
    return matrix, [f"{prefix}{name}" for name in names]
