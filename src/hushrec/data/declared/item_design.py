"""Columns of numbers from a domain's titles and features: labels, tenths of numbers, words of titles."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from hushrec.arrays import Bools, Floats
from hushrec.documents.words import Clause
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior

__all__ = ["described"]

_LABELS, _WORDS, _BINS = 64, 256, 10
"""The most columns of a feature of labels, of a title and of a number: chosen by hand."""
_ENTRIES = 4_000_000
"""The most entries of a table, 32 MB of float64, chosen by hand: a large catalogue gets fewer columns."""
Columns = Callable[[Sequence[str], int], tuple[Floats, Bools]]
"""A function from texts of all items to at most a number of columns, and a mask of items that have any."""
_YEAR = re.compile(r"\((\d{4})\)\s*$")


def described(titles: Sequence[str], features: Mapping[str, Sequence[str]]) -> ItemPrior:
    """Turn titles and features of a catalogue's items into columns; either may be empty.

    Features that are numbers are cut into tenths, each of about as many items. Others are labels, such as
    ``Drama|War``; each of the most frequent ones gets a column that marks its items. Titles give a bag of
    words, hashed, and the year in ``Title (1995)`` if no feature is named year. Columns have mean 0 over the
    items that have the feature, and are 0 for the others.
    """
    names: list[str] = []
    tables: list[Floats] = []
    for name, texts, columns in _kinds(titles, features):
        left = _ENTRIES // len(texts) - sum(table.shape[1] for table in tables)
        table, has = columns(texts, left) if left > 0 else (np.zeros((0, 0)), np.zeros(0, dtype=bool))
        if table.any():
            table[has] -= table[has].mean(axis=0)
            names.append(name)
            tables.append(table)
    if not tables:
        return NOTHING_KNOWN
    groups = np.repeat(np.arange(len(tables)), [table.shape[1] for table in tables])
    assumption = Clause("assumes.catalogue_says", {"names": ", ".join(names)})
    return ItemPrior(design=np.column_stack(tables), groups=groups, clauses=(assumption,))


def _kinds(
    titles: Sequence[str], features: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Sequence[str], Columns]]:
    """Yield the kinds of texts by name, each with the function that turns them into columns."""
    for name, texts in features.items():
        nonblank = [text for text in texts if text.strip()]
        yield name, texts, _tenths if all(map(_is_number, nonblank)) else _labels
    if titles:
        if "year" not in {name.lower() for name in features}:
            years = [match[1] if (match := _YEAR.search(title)) else "" for title in titles]
            yield "year in the title", years, _tenths
        yield "words of the title", [_YEAR.sub("", title) for title in titles], _words


def _tenths(texts: Sequence[str], most: int) -> tuple[Floats, Bools]:
    """Return one column for each tenth of the numbers, and a mask of items that have a number."""
    has = np.array([_is_number(text) for text in texts])
    bins = min(_BINS, most)
    table = np.zeros((len(texts), bins))
    if has.any():
        numbers = np.array([float(text) for text in texts if _is_number(text)])
        edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
        table[np.flatnonzero(has), np.searchsorted(edges, numbers, side="right")] = 1
    return table, has


def _labels(texts: Sequence[str], most: int) -> tuple[Floats, Bools]:
    """Return one column for each of the most frequent labels, and a mask of items that have a label."""
    each = [[label for part in text.split("|") if (label := part.strip())] for text in texts]
    often = Counter(label for labels in each for label in dict.fromkeys(labels))
    chosen = sorted((label for label in often if often[label] > 1), key=lambda label: (-often[label], label))
    places = {label: place for place, label in enumerate(chosen[: min(_LABELS, most)])}
    table = np.zeros((len(texts), len(places)))
    for row, labels in enumerate(each):
        table[row, [places[label] for label in labels if label in places]] = 1
    return table, np.array([bool(labels) for labels in each])


def _words(texts: Sequence[str], most: int) -> tuple[Floats, Bools]:
    """Return one column for each hash of a word, and a mask of items that have a word."""
    size = min(_WORDS, most)
    each = [set(re.findall(r"\w{2,}", text.casefold())) for text in texts]
    places = {
        word: int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest()) % size
        for word in set().union(*each)
    }
    table = np.zeros((len(texts), size))
    for row, words in enumerate(each):
        table[row, [places[word] for word in words]] = 1
    return table, np.array([bool(words) for words in each])


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
