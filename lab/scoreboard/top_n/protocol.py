"""Strong generalisation (Liang et al. 2018; Steck 2019): who trains, who is ranked for, and how well.

Likes are ratings of at least a threshold. Of the people with at least five, 500 are held out for validation
and 500 for the test; everyone else trains. Of a held-out person four fifths of the items are folded in, and
the others are to be found among all items but those. The filter on five belongs to the measurement alone.
``held_out`` hides items of everybody instead.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix, vstack

import hushrec as hr
from hushrec.data.synthetic import round_up

DATA, DELTA = Path(__file__).resolve().parents[4] / "shared/data/ml-1m.parquet", 1e-6
HELD_OUT, AT_LEAST, TO_FIND = 500, 5, 0.2
MOST_LISTS = 1000


class Fold(NamedTuple):
    """Held-out people: what they fold in and what is to be found, each of shape (n_people, n_items)."""

    given: csr_matrix
    hidden: csr_matrix


class People(NamedTuple):
    """One draw of people."""

    train: csr_matrix
    validation: Fold
    test: Fold


def ratings(path: Path) -> pl.DataFrame:
    """``user, item, rating`` of a Parquet file, or of MovieLens' ratings.csv, ratings.dat or u.data."""
    names = ["user", "item", "rating"]
    if path.suffix == ".parquet":
        return pl.read_parquet(path, columns=names)
    headed = path.suffix == ".csv"
    separator = "," if headed else "\t"
    text = path.read_bytes().replace(b"::", b"\t")
    table = pl.read_csv(text, separator=separator, has_header=headed, infer_schema=False)
    kinds = pl.Int64, pl.Int64, pl.Float64
    columns = zip(table.columns, kinds, names, strict=False)
    return table.select(pl.col(column).cast(kind).alias(name) for column, kind, name in columns)


def likes(path: Path, threshold: float) -> csr_matrix:
    """Who likes what, from a file that ``ratings`` reads; the catalogue is all its items."""
    table = ratings(path)
    users, rows = np.unique(table["user"].to_numpy(), return_inverse=True)
    items, columns = np.unique(table["item"].to_numpy(), return_inverse=True)
    liked = table["rating"].to_numpy() >= threshold
    ones = np.ones(liked.sum(), np.float32)
    found = csr_matrix((ones, (rows[liked], columns[liked])), (len(users), len(items)))
    found.data[:] = 1  # a pair that is there twice is one like
    return found


def people(liked: csr_matrix, draw: int) -> People:
    """The draw of this number: who is held out and which of their items, all from one seed."""
    rng = np.random.default_rng(draw)
    eligible = np.flatnonzero(np.diff(liked.indptr) >= AT_LEAST)
    if len(eligible) <= 2 * HELD_OUT:
        raise SystemExit(f"too few people: only {len(eligible):,} have {AT_LEAST} likes or more")
    chosen = rng.permutation(eligible)[: 2 * HELD_OUT]
    train = np.setdiff1d(np.flatnonzero(np.diff(liked.indptr)), chosen)
    validation, test = (fold(liked[rows], rng) for rows in (chosen[:HELD_OUT], chosen[HELD_OUT:]))
    return People(liked[train], validation, test)


def held_out(liked: csr_matrix, draw: int) -> People:
    """A random fifth of everybody's items is to be found; lists are measured for a thousand people."""
    rng = np.random.default_rng(draw)
    counts = np.diff(liked.indptr)
    chosen = rng.permutation(np.flatnonzero(counts >= AT_LEAST))
    parts = fold(liked[chosen], rng)
    others = np.setdiff1d(np.flatnonzero(counts), chosen)
    shown = Fold(parts.given[:MOST_LISTS], parts.hidden[:MOST_LISTS])
    return People(vstack([liked[others], parts.given]).tocsr(), shown, shown)


def fold(rows: csr_matrix, rng: np.random.Generator) -> Fold:
    hidden = np.zeros(rows.nnz, bool)
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        hidden[start + rng.choice(end - start, int(TO_FIND * (end - start)), replace=False)] = True
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    parts = ((rows.data[kept], (owner[kept], rows.indices[kept])) for kept in (~hidden, hidden))
    return Fold(*(csr_matrix(part, rows.shape) for part in parts))


def measured(scores: np.ndarray, fold: Fold) -> dict[str, np.ndarray]:
    """Recall@20, recall@50 and nDCG@100 of every person; scores have shape (n_people, n_items)."""
    scores = np.array(scores, np.float32)
    scores[fold.given.nonzero()] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    hits = np.take_along_axis(fold.hidden.toarray(), best, axis=1)
    wanted = np.diff(fold.hidden.indptr)
    discount = 1 / np.log2(np.arange(2, 102))
    ideal = np.concatenate([[0], np.cumsum(discount)])[np.minimum(wanted, 100)]
    recalls = {f"recall@{n}": hits[:, :n].sum(1) / np.minimum(wanted, n) for n in (20, 50)}
    return recalls | {"nDCG@100": hits @ discount / ideal}


Texts = dict[str, object]
"""Titles and features of the catalogue, as a domain takes them."""


def texts(data: Path, items: Path | None) -> Texts:
    """What a public list says of the items of a file of ratings, in the order of ``likes``."""
    if items is None:
        return {}
    ids = np.unique(pl.read_parquet(data, columns=["item"])["item"].to_numpy())
    known = hr.Domain.from_catalogue(items, max_users=1)
    places = [known.positions.get(str(item), -1) for item in ids]

    def of(listed: tuple[str, ...]) -> list[str]:
        return [listed[place] if place >= 0 else "" for place in places]

    features = {name: of(listed) for name, listed in (known.features or {}).items()}
    return {"titles": of(known.titles) if known.titles else None, "features": features or None}


def others(data: Path, items: Path, threshold: float) -> hr.Release:
    """Which items go together, by other people: their likes are declared public, items match by title."""
    table = ratings(data).filter(pl.col("rating") >= threshold)
    columns = (pl.col(name).cast(pl.String).alias(f"{name}_id") for name in ("user", "item"))
    known = hr.Domain.from_catalogue(items, max_users=round_up(table["user"].n_unique()))
    return hr.baseline(hr.load(table.select(columns), known), hr.PrivateEASE())


def interactions(train: csr_matrix, public: Texts) -> hr.People:
    """The training rows as hushrec takes them; the declared crowd is the next of 1, 2, 5, 10, …"""
    train.sort_indices()
    counts = np.diff(train.indptr)
    given = np.flatnonzero(counts)
    crowd = round_up(len(given))
    domain = hr.Domain([str(item) for item in range(train.shape[1])], max_users=crowd, **public)
    indptr = np.concatenate([[0], np.cumsum(counts[given])]).astype(np.int64)
    users = [f"u{user:07d}" for user in given]
    return hr.People(domain, users, indptr, train.indices.astype(np.int32))


def scores(release: hr.Release, given: csr_matrix) -> np.ndarray:
    tensors = {name: tensor.astype(np.float64) for name, tensor in release.tensors.items()}
    if release.kind == "item scores":
        return np.tile(tensors["item_scores"], (given.shape[0], 1))
    factors, given = tensors["item_factors"], csr_matrix(given.multiply(tensors["input_weights"]))
    lengths = np.sqrt(given.multiply(given).sum(axis=1))
    people = given @ factors + np.outer(lengths, tensors["intercept"])
    return np.asarray(people @ factors.T * tensors["output_weights"])
