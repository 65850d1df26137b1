"""Public features of items, from lists made by their publishers: genres, years, tags.

Privacy: public. Do not derive a feature from ratings: an item's popularity reveals who rated it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import read_list
from hushrec.errors import DomainError
from hushrec.settings import is_unordered

_NOTHING = ("", "(no genres listed)")
_TITLE = "title"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ItemFeatures:
    """One feature vector per item of a catalogue; an item without any feature has zeros.

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
        if is_unordered(self.names):
            raise DomainError("a set of names has another order in each process; give them as a tuple")
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
    """Read features of a domain's items.

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
    if is_unordered(features):
        raise DomainError("a set of columns has another order in each process; give features as a list")
    catalogue = read_list(path, column)
    names = catalogue.names
    if names and features is None:
        features = [name for name in names if name != catalogue.id_column and name.lower() != _TITLE]
        if not features:
            raise DomainError(f"{path} has no columns except ids and titles; name some with features=")
    texts = catalogue.features(features)
    if not texts:
        raise DomainError(f"{path} does not hold features; give a list of items with genres or other columns")
    rows = np.array([domain.positions.get(item, -1) for item in catalogue.ids], dtype=np.int64)
    listed_rows = np.flatnonzero(rows >= 0)
    # Of repeated rows of an item the first counts.
    _, first = np.unique(rows[listed_rows], return_index=True)
    listed_rows = listed_rows[first]
    if not listed_rows.size:
        raise DomainError(
            f"{path} lists none of the catalogue's items; give another list, or name the ids with column="
        )
    shape = domain.n_items, len(catalogue.ids)
    place = sparse.csr_array((np.ones(listed_rows.size), (rows[listed_rows], listed_rows)), shape=shape)
    listed_features = of_texts(texts, named=bool(names))
    return ItemFeatures(sparse.csr_array(place @ listed_features.matrix), listed_features.names)


def of_texts(texts: Mapping[str, Sequence[str]], *, named: bool = True) -> ItemFeatures:
    """Make features of items from their texts, as a domain or a release has them.

    Numbers are taken as they are; other texts are split at ``|`` into features of 0 and 1.

    Args:
        texts: name → one text for each item; there is at least one.
        named: True if labels begin with the text's name: ``genres=Drama`` in place of ``Drama``.
    """
    parts = [_column(cells, f"{name}=" if named else "", name) for name, cells in texts.items()]
    matrices, names = [matrix for matrix, _ in parts], [name for _, labels in parts for name in labels]
    return ItemFeatures(sparse.csr_array(sparse.hstack(matrices, format="csr")), tuple(names))


_Part = tuple[Any, list[str]]
"""A sparse matrix and the names of its columns."""


def _column(texts: Sequence[str], prefix: str, name: str) -> _Part:
    """Return the single feature of a column of numbers, or one for each label of a column of text."""
    numbers = [_number(text) for text in texts]
    if any(number is None and text not in _NOTHING for number, text in zip(numbers, texts, strict=True)):
        return _indicators(texts, prefix)
    return sparse.csr_array(np.array([number or 0.0 for number in numbers])[:, None]), [name]


def _number(text: str) -> float | None:
    try:
        # Python reads 1_000 as a number; in a list of items it is a label.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _indicators(cells: Sequence[str], prefix: str) -> _Part:
    """Return one 0/1 feature for each word that occurs in a cell; bars separate words."""
    words = [{word.strip() for word in cell.split("|")}.difference(_NOTHING) for cell in cells]
    names = sorted(set().union(*words))
    places = {name: place for place, name in enumerate(names)}
    rows = np.repeat(np.arange(len(cells)), [len(cell_words) for cell_words in words])
    columns = np.array([places[word] for cell_words in words for word in cell_words], dtype=np.int64)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(len(cells), len(names)))
    return matrix, [f"{prefix}{name}" for name in names]
