"""Searches over all neighbours of a small roster, for the largest move of a private sum."""

import itertools
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People


def domain_of(n_items, n_users, scale=(1, 5, 1)):
    return Domain(range(n_items), scale=scale, max_per_user=500, max_users=1000, users=names(n_users))


def names(n_users):
    return [f"u{k:03d}" for k in range(n_users)]


def ratings_of(domain, rows):
    """Ratings of the roster, given as one tuple of steps (or None) per person."""
    listed = [(user, row) for user, row in zip(names(len(rows)), rows, strict=True) if set(row) != {None}]
    kept = [[(i, s) for i, s in enumerate(row) if s is not None] for _, row in listed]
    return People(
        domain,
        [user for user, _ in listed],
        np.cumsum([0, *map(len, kept)]),
        np.array([i for row in kept for i, _ in row], dtype=np.int32),
        np.array([s for row in kept for _, s in row], dtype=np.uint8),
    )


def people_of(domain, rows):
    return ratings_of(domain, rows)


def some_steps(domain):
    """All steps of a short scale; the ends and the middle of a long one."""
    n = domain.scale.n_values
    return range(n) if n <= 5 else (0, 1, n // 2, n - 1)


def others(domain):
    top = domain.scale.n_values - 1
    return [(0, top, 1), (top, None, 0)]


def neighbours(row, adjacency, steps):
    """Every row that differs in one rating."""
    for i, s in enumerate(row):
        if (s is None) == (adjacency == "add-remove"):
            yield from ((*row[:i], new, *row[i + 1 :]) for new in steps if new != s)


def exceeds(query, one, other):
    """Distance over Δ, rounded up where it is above one, so that a float cannot hide it."""
    return over_delta(query, moved(query, one, other))


def moved(query, one, other):
    """Distance in steps of the grid; under an L2 norm its square."""
    change = [abs(int(d)) for d in (one - other).ravel().tolist()]
    return sum(change) if query.norm == "l1" else sum(d * d for d in change)


def over_delta(query, steps):
    step, bound = Fraction(query.step), Fraction(query.sensitivity)
    if not bound:
        assert not steps, f"{query.name} is published as it is, but neighbours differ in it"
        return 0.0
    if query.norm == "l1":
        ratio = steps * step / bound
        return float(ratio) if ratio <= 1 else np.nextafter(float(ratio), np.inf)
    squared = steps * step**2 / bound**2
    return float(squared) ** 0.5 if squared <= 1 else np.nextafter(float(squared) ** 0.5, np.inf)


@lru_cache(maxsize=8)
def every_row(domain):
    """Ratings of somebody with each row there can be, and of two others, who stay as they are."""
    rows = itertools.product([None, *some_steps(domain)], repeat=domain.n_items)
    return {row: ratings_of(domain, [row, *others(domain)]) for row in rows}


def exhaustive(domain, adjacency, measure):
    """Largest distance/Δ by measurement, over all rows of three items and all their neighbours."""
    steps, worst, queries = some_steps(domain), {}, {}
    made = {row: list(measure(ratings)) for row, ratings in every_row(domain).items()}
    for row, here in made.items():
        for query, _ in here:
            assert queries.setdefault(query.name, query) == query, "Δ depends on the ratings"
        for other in neighbours(row, adjacency, steps):
            for (query, one), (_, two) in zip(here, made[other], strict=True):
                worst[query.name] = max(worst.get(query.name, 0), moved(query, one, two))
    return {name: over_delta(queries[name], steps) for name, steps in worst.items()}


class Search:
    """What these tests share."""

    domain, ratings = staticmethod(domain_of), staticmethod(ratings_of)
    people = staticmethod(people_of)
    exceeds, exhaustive = staticmethod(exceeds), staticmethod(exhaustive)


@pytest.fixture(scope="session")
def search():
    return Search
