import dataclasses

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement
from support.worlds import budget, world

__all__ = ["budget", "make", "ratings", "release", "world"]

DOMAIN = Domain(["a", "b", "c", "d"], scale=(1, 5, 1), max_users=10)


def make(rows, domain=DOMAIN):
    """Ratings of {user: {item: stars}}."""
    users = sorted(rows)
    indptr = np.cumsum([0, *(len(rows[user]) for user in users)])
    pairs = [
        (domain.positions[item], stars - 1)
        for user in users
        for item, stars in sorted(rows[user].items(), key=lambda pair: domain.positions[pair[0]])
    ]
    items, steps = zip(*pairs, strict=True) if pairs else ((), ())
    return People(domain, users, indptr, np.array(items), np.array(steps))


@pytest.fixture
def release():
    """Effects 2, 3, 4, 5, popularity 1, 2, 3, 4; no tastes; a person's level has variance 1, a rating 0.5."""
    tensors = {
        "item_effects": np.array([2, 3, 4, 5], np.float32),
        "item_noise": np.full(4, 0.5, np.float32),
        "item_popularity": np.array([1, 2, 3, 4], np.float32),
        "item_factors": np.zeros((4, 0), np.float32),
    }
    return Release(
        model="Planted",
        settings={},
        kind="factors",
        items=DOMAIN.items,
        scale=(1.0, 5.0, 1.0),
        constants={"user_mean": 0.0, "user_variance": 1.0},
        tensors=tensors,
        statement=dataclasses.replace(placeholder_statement()),
    )


@pytest.fixture
def ratings():
    return make
