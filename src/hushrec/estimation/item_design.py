"""Tables of numbers from a domain's titles and features: labels, tenths of numbers, words of titles.

Privacy: public.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hushrec.arrays import Bools, Floats
from hushrec.documents.sentences import Assumes
from hushrec.item_prior import NOTHING_KNOWN, FeatureGroup, ItemPrior

_LABELS, _WORDS, _BINS, _FINER = 64, 256, 10, 30
"""The most columns of a feature of labels, of a title and of a number, and the finer bins of a number in the
sparse tables: chosen by hand."""
_ENTRIES = 4_000_000
"""The most entries of the dense table, 32 MB of float64, chosen by hand: a large catalogue gets fewer
columns."""
_RAREST, _COMMONEST = 2, 0.95
"""The fewest items of a value, and the largest part of the catalogue: a value of one item, or of nearly all,
says nothing of two items together. Chosen by hand."""
_YEAR = re.compile(r"\((\d{4})\)\s*$")


class _Kind(NamedTuple):
    """One kind of feature.

    Attributes:
        each: the values of every item.
        most: the most columns of the dense table, which are its most frequent values.
        bins: all values, in the order of the columns, if it is a number.
        hashed: whether the columns are hashes of the values.
        finer: the same numbers in more bins, if it is a number.
    """

    name: str
    each: Sequence[Sequence[str]]
    most: int
    bins: Sequence[str] = ()
    hashed: bool = False
    finer: Sequence["_Kind"] = ()


def describe_items(titles: Sequence[str], features: Mapping[str, Sequence[str]]) -> ItemPrior:
    """Turn titles and features of a catalogue's items into tables; either may be empty.

    Features that are numbers are cut into tenths, each of about as many items. Others are labels, such as
    ``Drama|War``. Titles give words, and the year in ``Title (1995)`` if no feature is named year. The dense
    table has columns of the most frequent labels, and of hashes of words. They have mean 0 over the items
    with the feature, and are 0 for the rest. The sparse table of each kind has all values of two items or
    more; of numbers there is a second one, of thirtieths. Words have none: they made lists no better.
    """
    names: list[str] = []
    tables: list[Floats] = []
    groups: list[FeatureGroup] = []
    for kind in _kinds(titles, features):
        left = _ENTRIES // len(kind.each) - sum(table.shape[1] for table in tables)
        table, has = _dense(kind, min(left, kind.most))
        if table.any():
            table[has] -= table[has].mean(axis=0)
            names.append(kind.name)
            tables.append(table)
        if not kind.hashed:
            wider = [_sparse(each, kind) for each in (kind, *kind.finer)]
            groups += [group for group in wider if group.labels]
    if not tables:
        return NOTHING_KNOWN
    columns = np.repeat(np.arange(len(tables)), [table.shape[1] for table in tables])
    assumption = Assumes.catalogue_says(names=", ".join(names))
    return ItemPrior(
        design=np.column_stack(tables), groups=columns, features=tuple(groups), says=(assumption,)
    )


def _kinds(titles: Sequence[str], features: Mapping[str, Sequence[str]]) -> Iterator[_Kind]:
    """Yield the kinds of features, each with the values of all items."""
    for name, texts in kinds_of_texts(titles, features).items():
        if all(is_number(text) for text in texts if text.strip()):
            yield _numbers(name, texts)
        else:
            yield _Kind(name, [labels_of(text) for text in texts], _LABELS)
    if titles:
        words = [re.findall(r"\w{2,}", _YEAR.sub("", title).casefold()) for title in titles]
        yield _Kind("words of the title", [[*dict.fromkeys(each)] for each in words], _WORDS, hashed=True)


def kinds_of_texts(
    titles: Sequence[str], features: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """Return the features, with the year in the title if there are titles and no feature is named year."""
    if not titles or "year" in {name.lower() for name in features}:
        return features
    years = [match[1] if (match := _YEAR.search(title)) else "" for title in titles]
    return {**features, "year in the title": years}


def _numbers(name: str, texts: Sequence[str]) -> _Kind:
    return _bin_numbers(name, texts, _BINS)._replace(finer=(_bin_numbers(name, texts, _FINER),))


def _bin_numbers(name: str, texts: Sequence[str], n_bins: int) -> _Kind:
    """Return the part of the numbers that each item's is in, such as ``1990–1994``."""
    has = [is_number(text) for text in texts]
    numbers = np.array([float(text) for text, is_number in zip(texts, has, strict=True) if is_number])
    if not len(numbers):
        return _Kind(name, [[] for _ in texts], _BINS)
    # Equal numbers share a bin, so there may be fewer bins than were asked for.
    edges = np.unique(np.quantile(numbers, np.arange(1, n_bins) / n_bins))
    bins = np.searchsorted(edges, numbers, side="right")
    labels = {}
    for place in np.unique(bins).tolist():
        low, high = numbers[bins == place].min(), numbers[bins == place].max()
        labels[place] = f"{low:g}" if low == high else f"{low:g}–{high:g}"
    places = iter(bins.tolist())
    each = [[labels[next(places)]] if is_number else [] for is_number in has]
    return _Kind(name, each, _BINS, tuple(labels.values()))


def labels_of(text: str) -> list[str]:
    """Split a text such as ``Drama|War`` into its values."""
    return [*dict.fromkeys(label for part in text.split("|") if (label := part.strip()))]


def _dense(kind: _Kind, most: int) -> tuple[Floats, Bools]:
    """Return at most a number of columns that mark items, and a mask of items that have the feature."""
    has = np.array([bool(values) for values in kind.each], dtype=bool)
    if most <= 0:
        return np.zeros((0, 0)), has
    counted = Counter(value for values in kind.each for value in values)
    if kind.hashed:
        size = most
        places = {
            # Python's own hash of a text differs from run to run.
            value: int.from_bytes(hashlib.blake2b(value.encode(), digest_size=8).digest()) % size
            for value in counted
        }
    else:
        often = sorted(counted, key=lambda value: (-counted[value], value))
        columns = kind.bins or [value for value in often if counted[value] >= _RAREST]
        places = {value: place for place, value in enumerate(columns[:most])}
        size = len(places)
    table = np.zeros((len(kind.each), size))
    for row, values in enumerate(kind.each):
        table[row, [places[value] for value in values if value in places]] = 1
    return table, has


def _sparse(kind: _Kind, wider: _Kind) -> FeatureGroup:
    """Return all values of two items or more, but not of nearly all items, in the order of their names.

    Args:
        wider: the same numbers in wider bins; else the same kind.
    """
    n_items = len(kind.each)
    counted = Counter(value for values in kind.each for value in values)
    labels = sorted(value for value, n in counted.items() if _RAREST <= n <= _COMMONEST * n_items)
    places = {value: place for place, value in enumerate(labels)}
    rows = [[places[value] for value in values if value in places] for values in kind.each]
    sizes = np.array([len(row) for row in rows])
    columns = np.array([place for row in rows for place in sorted(row)], dtype=np.int64)
    # A row has length 1, so an item of many values is no more alike to others than one of few.
    entries = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    table = sparse.csr_array((entries, columns, indptr), shape=(n_items, len(labels)))
    pairs = zip(kind.each, wider.each, strict=True)
    shown = {value: among[at] for values, among in pairs for at, value in enumerate(values)}
    return FeatureGroup(kind.name, tuple(labels), tuple(shown[label] for label in labels), table)


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
