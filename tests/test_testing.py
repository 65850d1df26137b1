"""The tests' tools: a seed repeats its noise, and whatever is drawn with it is called not private."""

import numpy as np

import hushrec as hr
from hushrec import testing
from hushrec.documents.sentences import Unprotected
from hushrec.privacy.ledger.ledger import Ledger

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="record", adjacency="replace")


def drawn(seed):
    """What is released of zeros, and what its grant says of it."""
    planned = hr.plan(hr.Domain(range(6), scale=(1, 5, 1), max_users=10), hr.GlobalEffects(), BUDGET)
    grant = Ledger.ephemeral(BUDGET).charge(planned, entropy=testing.Seeded(seed))
    (event,) = planned.noisy
    return grant.measure(event.listed, np.zeros(6, np.int64)).values.tolist(), grant.caveats


def test_a_seed_repeats_its_noise_which_is_called_not_private():
    (one, said), (same, _), (other, _) = (drawn(seed) for seed in (1, 1, 2))
    assert one == same != other
    assert said == (Unprotected.seeded(),)
    assert hr.testing is testing
    assert testing.__all__ == ["Seeded", "fit", "randomize", "search_neighbours", "year"]
