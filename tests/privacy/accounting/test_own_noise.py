"""Noise of a researcher's own: seeded, stamped, and refused by every ledger that is kept."""

import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetError
from hushrec.models.phases.outputs import score_release
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.own_noise import Unpriced
from hushrec.privacy.ledger import caveats
from hushrec.testing import OwnNoise, Seeded

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
CLICKS = hr.synthetic.interactions(60, 12, 400, 7)


class Uniform(PrivateModel):
    """Counts with uniform noise, which has no ε."""

    supports = frozenset({("user", "add-remove")})
    feedback = "interactions"
    half: float = 3.0

    def queries(self, domain, terms):
        return [OwnNoise("counts", domain.n_items, self.half / math.sqrt(3), self._noisy)]

    def default_split(self, domain, budget):
        return {"counts": 1.0}

    def release(self, feedback, run):
        (query,) = self.queries(feedback.domain, run.terms)
        counts = np.bincount(feedback.items, minlength=feedback.domain.n_items).astype(np.float64)
        return score_release(self, feedback.domain, run.measure(query, counts))

    def _noisy(self, rng, counts):
        return counts + rng.uniform(-self.half, self.half, counts.shape)


def made(seed=1):
    return hr.fit(CLICKS, Uniform(), BUDGET, entropy=Seeded(seed))


def test_a_release_says_whose_noise_it_is_and_promises_nothing():
    statement = made().statement
    assert not statement.private
    assert statement.epsilon == math.inf
    assert statement.caveat.startswith(
        f"NOT PRIVATE: the noise of counts is that of {__name__}.Uniform, and no ε is known for it; seeded"
    )
    assert str(statement).startswith("NOT PRIVATE")
    again = hr.Release.from_bytes(made().to_bytes()).statement
    assert again == statement
    assert again.measurements[0].mechanism == Unpriced.mechanism


def test_the_noise_is_its_authors_and_a_seed_repeats_it():
    exact = hr.fit(CLICKS, Uniform()).to_bytes()
    one, same, other = (made(seed).to_bytes() for seed in (1, 1, 2))
    assert one == same
    assert len({one, other, exact}) == 3


@pytest.mark.parametrize("entropy", [None, Seeded(1)])
def test_no_ledger_that_is_kept_accepts_it(tmp_path, entropy):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", BUDGET)
    with pytest.raises(BudgetError):
        hr.fit(CLICKS, Uniform(), BUDGET, ledger=ledger, entropy=entropy)
    assert ledger.remaining == pytest.approx(1, abs=1e-6)


def test_without_the_stamp_it_would_be_noticed(monkeypatch):
    monkeypatch.setattr(caveats, "_own", lambda caveat, plan: caveat)
    with pytest.raises(AssertionError):
        test_a_release_says_whose_noise_it_is_and_promises_nothing()


def test_other_measurements_beside_it_keep_their_price():
    class Both(Uniform):
        def queries(self, domain, terms):
            (counts,) = hr.Popularity().queries(domain, terms)
            return [*super().queries(domain, terms), counts]

        def default_split(self, domain, budget):
            return {"counts": 1.0, "item counts": 1.0}

    planned = hr.plan(Both(), CLICKS.domain, BUDGET)
    (alone,) = hr.plan(hr.Popularity(), CLICKS.domain, BUDGET).events
    assert planned.events[1].noise == alone.noise
    assert planned.epsilon == math.inf


def test_what_cannot_be_is_refused():
    with pytest.raises(BudgetError, match="the noise must be a positive number"):
        Unpriced("counts", math.inf, 0.0, 1.0, 4)
    with pytest.raises(BudgetError, match="no ε that users could choose"):
        Unpriced("counts", math.inf, 1.0, 1.0, 4).scaled(1)


def test_a_plan_begins_with_what_is_not_known():
    plan = hr.plan(Uniform(), CLICKS.domain, BUDGET)
    assert str(plan).splitlines()[0] == "Uniform, no finite ε: NOT PRIVATE; ε = 1 names its points"
    assert not hr.plan(hr.Popularity(), CLICKS.domain, BUDGET).is_own_noise
