"""What is sent to where the ratings are: settings and released arrays, never a run, a grant or other people.

Every function that a model's sums give to ``People`` is walked: what it holds, in closures, partial arguments
and the objects of its methods, is of the few kinds of ``PLAIN``, and as large for other ratings.
"""

import dataclasses
import functools
import types

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.people import Once, People
from support.everywhere import class_of, fits, made

LEAVES = (type(None), bool, int, float, str, np.generic, types.ModuleType, type, Domain)
PLAIN = (  # modules whose values may be sent, and what they hold is walked
    "hushrec.estimation.head",
    "hushrec.privacy.accounting.measurement",
    "hushrec.models.mcsherry_mironov.sums",
    "hushrec.sums.factor_sums",
    "hushrec.sums.integer_grid",
    "hushrec.models.lists.sums",
    "hushrec.sums.item_sums",
    "hushrec.models.liu_wang_smola.sums",
    "hushrec.sums.overall",
    "hushrec.sums.residuals",
)


class NotPlain(Exception):
    """A function holds what may not be sent."""


def arrays(value):
    """Shapes of the arrays that a function holds."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value.shape
    elif isinstance(value, functools.partial):
        yield from walked(value.func, *value.args, *value.keywords.values())
    elif isinstance(value, types.MethodType):
        yield from walked(value.__func__, value.__self__)
    elif isinstance(value, Once):
        yield from walked(value.make)  # alone is sent
    elif isinstance(value, types.FunctionType):
        cells = (cell.cell_contents for cell in value.__closure__ or ())
        yield from walked(*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    elif isinstance(value, tuple | list):
        yield from walked(*value)
    elif type(value).__module__ in PLAIN:
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))
        yield from walked(*fields, *getattr(value, "__dict__", {}).values())  # also cached properties
    elif not isinstance(value, LEAVES):
        raise NotPlain(type(value).__name__)


def walked(*values):
    for value in values:
        yield from arrays(value)


@pytest.fixture
def sent(monkeypatch):
    """Shapes of the arrays that are sent with each function."""
    noted = []

    def total(people, add, *shapes, weighted=False, right=People.total):
        noted.append([*arrays(add)])
        return right(people, add, *shapes, weighted=weighted)

    def with_weights(people, weigh, right=People.with_weights):
        noted.append([*arrays(weigh)])
        return right(people, weigh)

    monkeypatch.setattr(People, "total", total)
    monkeypatch.setattr(People, "with_weights", with_weights)
    return noted


def world(name, n_people, seed):
    """Ratings or likes of this many of a roster of 60, who ask for an ε of their own where they may."""
    kind = class_of(name)
    users, items = [f"u{k:02d}" for k in range(60)], [f"i{k:02d}" for k in range(30)]
    likes = None if kind.feedback == "ratings" else 1
    domain = hr.Domain(items, scale=(1, 5, 1), likes=likes, max_per_user=20, max_users=80, users=users)
    rng = np.random.default_rng(seed)
    rows = [
        (u, i) for u in rng.permutation(60)[:n_people] for i in rng.permutation(30)[: rng.integers(1, 15)]
    ]
    table = pl.DataFrame(
        {
            "user_id": [users[u] for u, _ in rows],
            "item_id": [items[i] for _, i in rows],
            "rating": rng.integers(1, 6, len(rows)),
        }
    )
    found = hr.load(table, domain)
    return (
        found.with_personal_epsilon(rng.choice([0.0, 1.0, 4.0], n_people)) if kind.personal_epsilon else found
    )


@pytest.mark.parametrize(("name", "pair"), [fit for fit in fits() if class_of(fit.values[0]).sums_alone])
def test_what_is_sent_is_plain_and_as_large_for_other_ratings(name, pair, sent):
    """A fit of either world may take its own branch; of these, the functions before are compared."""
    made(name, pair, world(name, 40, 1))
    here = sent.copy()
    sent.clear()
    made(name, pair, world(name, 55, 2))
    if name == "PrivateEASE":
        first = min(len(here), len(sent)) - 1
        here, sent = here[:first], sent[:first]
    assert here == sent != []
