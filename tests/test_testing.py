"""The tests' tools: a seed repeats its noise, and whatever is drawn with it is called not private."""

import sys
from types import ModuleType

import numpy as np
import pytest

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


MINE = """
from dataclasses import replace

import hushrec as hr
from hushrec.models.lists.outputs import score_release


class MyPopularity(hr.Popularity):
    '''Popularity with a sensitivity that is too small.'''

    def queries(self, domain, terms):
        return [replace(query, sensitivity=query.sensitivity / 2) for query in super().queries(domain, terms)]

    def fit(self, feedback, run):
        counts, people = self._counts(feedback.domain, run.terms), feedback
        (query,) = self.queries(feedback.domain, run.terms)
        return score_release(self, feedback.domain, run.measure(query, counts.measure(people)).values)
"""


@pytest.mark.full
def test_the_search_finds_a_false_sensitivity(monkeypatch):
    """Half of the true Δ is declared, so the search finds 2; of the right model it finds no more than 1."""
    budget = hr.Budget(epsilon=1.0, delta=1e-6, unit="record", adjacency="add-remove")
    module = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)
    exec(MINE, module.__dict__)
    found = testing.search_neighbours(module.MyPopularity(), budget)
    assert found == {"item counts": 2.0}
    assert testing.search_neighbours(hr.Popularity(), budget) == {"item counts": 1.0}
