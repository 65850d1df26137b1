"""Samples of people: exactly the booked chance, independently for each person, and once."""

import hashlib
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from hushrec.arrays import Bools
from hushrec.errors import BudgetError, GrantError, SamplerError
from hushrec.kernels.noise import chacha
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.events import ODDS, Gaussian, drawn_rate
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noise.poisson_sampling import participants

KEY = bytes(range(32))
RATES = (2.0**-10, 0.03125, 0.3125, 0.5, 0.96875)
PEOPLE = 2**20
BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")


def key(number: int) -> bytes:
    return hashlib.sha256(b"participation %d" % number).digest()


def fits(draw: Callable[[int, float, bytes], Bools]) -> bool:
    """Number of participants, and of pairs of them at many distances, within 1e-7 tails of their law."""
    for number, rate in enumerate(RATES):
        taken = draw(PEOPLE, rate, key(number))
        checks = [(int(taken.sum()), PEOPLE, rate)]
        for lag in (1, 2, 511, 512, 513, 1024, 2048):
            first = taken[: PEOPLE // (2 * lag) * 2 * lag].reshape(-1, 2, lag)
            checks.append((int((first[:, 0] & first[:, 1]).sum()), first[:, 0].size, rate * rate))
        for found, trials, chance in checks:
            distribution = binom(trials, chance)
            if not distribution.ppf(1e-7) <= found <= distribution.isf(1e-7):
                return False
    return True


def test_samples_have_the_law_that_is_booked() -> None:
    # 40 checks at 2e-7 each: a false alarm once in 1e5 sets of keys, and these keys are fixed.
    assert fits(participants)


FAULTS: dict[str, Callable[[int, float, bytes], Bools]] = {
    "three per cent too many": lambda n, rate, key: participants(n, drawn_rate(min(1.03 * rate, 0.99)), key),
    "one word for two people": lambda n, rate, key: np.repeat(participants(n // 2, rate, key), 2),
    "a sample of fixed size": lambda n, rate, key: np.roll(np.arange(n) < rate * n, key[0]),
    "16 of the 32 bits": lambda n, rate, key: participants(
        n, max(1, math.floor(rate * 2**4)) / 2**4 if rate < 0.9 else rate, key
    ),
    "words drawn twice": lambda n, rate, key: np.tile(participants(512, rate, key), n // 512),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_of_samples_finds_a_planted_fault(fault: str) -> None:
    assert not fits(FAULTS[fault])


def test_a_sample_is_the_words_below_the_rate() -> None:
    taken = participants(5000, 0.375, KEY)
    words = np.empty(chacha.WORDS, np.uint64)
    for person in (0, 1, 511, 512, 1023, 1024, 2047, 3000, 4999):
        batch, place = divmod(person, 2 * chacha.WORDS)
        chacha.keystream(words, np.frombuffer(KEY, "<u4").astype(np.uint32), batch * chacha.BLOCKS, (0, 0, 0))
        word = int(words[place % chacha.WORDS])
        half = word & 0xFFFFFFFF if place < chacha.WORDS else word >> 32
        assert taken[person] == (half < 0.375 * ODDS)


def test_a_person_is_drawn_whatever_the_number_of_others() -> None:
    everybody = participants(3000, 0.25, KEY)
    for n_people in (0, 1, 1023, 1024, 1025):
        assert np.array_equal(participants(n_people, 0.25, KEY), everybody[:n_people])


@pytest.mark.parametrize("rate", [0.0, 1.5, 0.1, math.nan, -0.5, 2.0**-33])
def test_a_rate_that_cannot_be_drawn_is_refused(rate: float) -> None:
    with pytest.raises(SamplerError, match="multiple of 2"):
        participants(3, rate, KEY)
    with pytest.raises(BudgetError, match="drawn_rate"):
        Gaussian("sums", 1.0, 1.0, 1.0, 1, rate)


def test_the_drawn_rate_is_never_above_the_asked_one() -> None:
    for rate in (0.1, 1 / 3, 0.05, 0.9999999, 2.0**-32):
        assert rate - 1 / ODDS < drawn_rate(rate) <= rate
        Gaussian("sums", 1.0, 1.0, 1.0, 1, drawn_rate(rate))


def plan(*rates: float) -> Plan:
    part = 1 / len(rates)
    wanted = [Part(f"round {i}", 2.0, 2**-8, 4, part, rate) for i, rate in enumerate(rates)]
    events = tuple(Measurement(event, part) for event in gaussians(BUDGET, wanted))
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, events)


def sums(name: str) -> Bounded:
    return Bounded(name, np.zeros(4, np.int64), 2.0, "l2", 2**-8)


def granted(*rates: float, seed: int = 1) -> Grant:
    return Ledger.ephemeral(BUDGET).charge(plan(*rates), entropy=Seeded(seed))


def test_a_sum_over_a_sample_is_released_after_the_sample_was_drawn_and_once() -> None:
    grant = granted(0.25, 0.25, 1.0)
    with pytest.raises(GrantError, match="draw it with sample"):
        grant.release(sums("round 0"))
    taken = grant.sample("round 0", 1000)
    assert taken.dtype == np.bool_
    assert 150 < taken.sum() < 350
    with pytest.raises(GrantError, match="drawn already"):
        grant.sample("round 0", 1000)
    with pytest.raises(GrantError, match="draw it with sample"):
        grant.release(sums("round 1"))
    noisy = grant.release(sums("round 0"))
    assert noisy.sigma == noisy.event.noise  # type: ignore[union-attr]
    assert noisy.values.any()
    for again in (lambda: grant.sample("round 0", 5), lambda: grant.release(sums("round 0"))):
        with pytest.raises(GrantError, match="already made"):
            again()
    assert not np.array_equal(taken, grant.sample("round 1", 1000))


def test_only_what_is_booked_is_sampled() -> None:
    grant = granted(0.25, 1.0)
    with pytest.raises(GrantError, match="booked was gaussian"):
        grant.sample("round 1", 5)
    grant.release(sums("round 1"))
    with pytest.raises(GrantError, match="not booked"):
        grant.sample("round 2", 5)


def test_a_seeded_sample_is_repeatable() -> None:
    first, again, other = (granted(0.5, seed=seed).sample("round 0", 500) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_who_takes_part_and_the_noise_have_keys_of_their_own() -> None:
    """With a checkpoint a key is a matter of what it is asked for: the same twice would be the same words."""
    asked: list[tuple[str, str]] = []

    class Watched(Seeded):
        def key(self, name: str = "", purpose: str = "noise") -> bytes:
            asked.append((name, purpose))
            return super().key(name, purpose)

    grant = Ledger.ephemeral(BUDGET).charge(plan(0.25, 0.25), entropy=Watched(1))
    for name in ("round 0", "round 1"):
        grant.sample(name, 100)
        grant.release(sums(name))
    assert len(set(asked)) == len(asked) == 4


def test_a_ledger_keeps_what_samples_cost(path) -> None:
    booked = plan(0.25, 0.125, 1.0)
    Ledger.create(path, BUDGET).charge(booked)
    reopened = Ledger.open(path)
    assert reopened.spent == booked.spent
    assert reopened.remaining < 1e-9
    first, *_, last = reopened.entries()
    assert (first.mechanism, first.rate, last.rate, last.curve) == ("subsampled gaussian", 0.25, 1.0, ())
    assert [entry.spent for entry in reopened.entries()] == [
        type(first.spent)(curve=first.curve),
        reopened.entries()[1].spent,
        last.spent,
    ]
    assert sum((entry.spent for entry in reopened.entries()), type(first.spent)()) == booked.spent


def test_samples_are_priced_for_people_who_come_or_go_alone() -> None:
    for changes in ({"unit": "rating"}, {"adjacency": "replace"}):
        budget = BUDGET.model_copy(update=changes)
        with pytest.raises(BudgetError, match="what a sample of people costs"):
            Plan("toy", {}, "d" * 64, 1000, budget, plan(0.25).measurements)


def test_the_key_of_a_plan_names_the_rate() -> None:
    event = Gaussian("round 0", 1.0, 90.0, 2**-8, 4, 0.25)
    other = Gaussian("round 0", 1.0, 90.0, 2**-8, 4, 0.125)
    keys = {
        Plan("toy", {}, "d" * 64, 1000, BUDGET, (Measurement(e, 1.0),)).key("p", 0)
        for e in (event, other, Gaussian("round 0", 1.0, 90.0, 2**-8, 4))
    }
    assert len(keys) == 3


def test_a_fit_that_goes_on_draws_the_same_people_again(path, tmp_path) -> None:
    samples, released = [], []
    ledger = Ledger.create(path, BUDGET)
    for _ in range(2):
        with Checkpoint(tmp_path / "kept") as checkpoint:
            checkpoint.bind({"fit": "this"}, ledger.id)
            grant = Ledger.open(path).charge(plan(0.25, 0.25), entropy=checkpoint)
            samples.append(grant.sample("round 0", 500))
            released.append(grant.release(sums("round 0")).values)
            samples.append(grant.sample("round 1", 500))
    assert np.array_equal(samples[0], samples[2])
    assert np.array_equal(samples[1], samples[3])
    assert np.array_equal(released[0], released[1])
    assert not np.array_equal(samples[0], samples[1])
