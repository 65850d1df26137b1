import math

import numpy as np
import pytest

from hushrec.errors import GrantError
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.own_noise import Unpriced
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.authors_noise import OwnNoise
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
VALUES = np.arange(4.0)


def grant(seed=0):
    event = Unpriced("counts", math.inf, 1.0, 1.0, 4)
    plan = Plan("toy", {}, "d" * 64, 1000, BUDGET, (Measurement(event, 1.0),))
    return Ledger.ephemeral(BUDGET).charge(plan, entropy=Seeded(seed))


def uniform(rng, values):
    values += rng.uniform(-1, 1, values.shape)
    return values


def test_its_author_draws_it_once_from_the_seed():
    query, granted = OwnNoise("counts", 4, 1.0, uniform), grant()
    noisy = query.release(granted, VALUES)
    assert 0 < np.abs(noisy - np.arange(4.0)).max() <= 1
    assert np.array_equal(noisy, query.release(grant(), VALUES))
    assert not np.array_equal(noisy, query.release(grant(1), VALUES))
    assert np.array_equal(query.exact(VALUES), np.arange(4.0))  # an author who writes in place changes a copy
    with pytest.raises(GrantError, match="already made"):
        query.release(granted, VALUES)


def test_another_shape_is_refused():
    with pytest.raises(GrantError, match="changed the shape"):
        OwnNoise("counts", 4, 1.0, lambda rng, values: values[1:]).release(grant(), VALUES)


def test_a_query_is_known_by_its_facts_and_not_by_its_function():
    assert OwnNoise("counts", 4, 1.0, uniform) == OwnNoise("counts", 4, 1.0, lambda rng, values: values)
    assert OwnNoise("counts", 4, 1.0, uniform) != OwnNoise("counts", 4, 2.0, uniform)
