"""Samples of people: exactly the booked chance, independently for each person, and once."""

import hashlib
import math
import struct
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, chi2

from hushrec.arrays import Bools, Words32
from hushrec.errors import BudgetError, GrantError, SamplerError
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import Part, gaussians
from hushrec.privacy.accounting.events import ODDS, Gaussian, drawn_rate
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise import kernels
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noise.poisson_sampling import Sample, nonces

KEY = bytes(range(32))
RATES = (2.0**-10, 0.03125, 0.3125, 0.5, 0.96875)
PEOPLE, ROUNDS = 2**19, 32
BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
Draw = Callable[[Words32, float, bytes], Bools]


def key(number: int) -> bytes:
    return hashlib.sha256(b"participation %d" % number).digest()


def ids(*numbers: int) -> pl.Series:
    return pl.Series([f"user {number}" for number in range(*numbers)], dtype=pl.String)


def draw(own: Words32, rate: float, key: bytes) -> Bools:
    return Sample(rate, key).of(own)


@pytest.fixture(scope="module")
def people() -> Words32:
    return nonces(ids(PEOPLE))


def fits(draw: Draw, people: Words32) -> bool:
    """Participants, pairs of people in one round, one person in two rounds: within 1e-8 tails of their law.

    And over many rounds their numbers vary as those of people who are drawn each for themselves.
    """
    checks = []
    for number, rate in enumerate(RATES):
        taken, later = (draw(people, rate, key(of)) for of in (number, 100 + number))
        checks.append((int(taken.sum()), PEOPLE, rate))
        checks += [(int((taken & other).sum()), PEOPLE, rate * rate) for other in (later, np.roll(later, 1))]
        for lag in (1, 2, 63, 64, 65, 2048):
            first = taken[: PEOPLE // (2 * lag) * 2 * lag].reshape(-1, 2, lag)
            checks.append((int((first[:, 0] & first[:, 1]).sum()), first[:, 0].size, rate * rate))
    counts = [int(draw(people, 0.5, key(200 + number)).sum()) for number in range(ROUNDS)]
    varied = sum((2 * count - PEOPLE) ** 2 for count in counts) / PEOPLE
    return chi2.ppf(1e-8, ROUNDS) <= varied <= chi2.isf(1e-8, ROUNDS) and all(
        binom.ppf(1e-8, trials, chance) <= found <= binom.isf(1e-8, trials, chance)
        for found, trials, chance in checks
    )


def test_samples_have_the_law_that_is_booked(people: Words32) -> None:
    # 46 checks at 2e-8 each: a false alarm in less than one of 1e6 sets of keys, and these keys are fixed.
    # Binomial counts of 2^19 are normal enough for the last one: their fourth moment is off by 4e-6.
    assert fits(draw, people)


FAULTS: dict[str, Draw] = {
    "three per cent too many": lambda own, rate, key: draw(own, drawn_rate(min(1.03 * rate, 0.99)), key),
    "one word for two people": lambda own, rate, key: np.repeat(draw(own[::2], rate, key), 2),
    "a sample of fixed size": lambda own, rate, key: np.roll(np.arange(len(own)) < rate * len(own), key[0]),
    "words drawn twice": lambda own, rate, key: np.tile(draw(own[:512], rate, key), len(own) // 512),
    "one key for two rounds": lambda own, rate, key: draw(own, rate, KEY),
    "16 of the 96 bits": lambda own, rate, key: draw(own & np.array([0xFFFF, 0, 0], np.uint32), rate, key),
    "the word, not the person's": lambda own, rate, key: draw(own[:1].repeat(len(own), 0), rate, key),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.full
def test_the_check_of_samples_finds_a_planted_fault(fault: str, people: Words32) -> None:
    assert not fits(FAULTS[fault], people)


def test_no_two_people_share_their_bits(people: Words32) -> None:
    # A false alarm at 2^38/2^97.
    assert len(np.unique(people, axis=0)) == PEOPLE


def test_a_sample_is_the_words_below_the_rate() -> None:
    """Person by person: BLAKE2b of the id is the nonce, and block 0 begins with the word."""
    users, rate = pl.Series([*ids(300), "", "ü", "a" * 1000, "\U0001f600"]), 0.375
    taken, words = draw(nonces(users), rate, KEY), np.empty(kernels.WORDS, np.uint64)
    for user, there in zip(users, taken, strict=True):
        own = hashlib.blake2b(user.encode(), digest_size=12, person=b"hushrec sample").digest()
        key_words = np.frombuffer(KEY, "<u4").astype(np.uint32)
        kernels.keystream(words, key_words, 0, struct.unpack("<3I", own))
        assert there == (int(words[0]) & 0xFFFFFFFF < rate * ODDS)


def test_a_person_is_drawn_whoever_else_there_is_and_in_any_order() -> None:
    users = ids(70_000)  # more than are hashed at once
    everybody = draw(nonces(users), 0.25, KEY)
    for n_people in (0, 1, 63, 64, 65, 3000):
        assert np.array_equal(draw(nonces(users[:n_people]), 0.25, KEY), everybody[:n_people])
    order = np.random.default_rng(1).permutation(len(users))
    assert np.array_equal(draw(nonces(users.gather(order)), 0.25, KEY), everybody[order])


@pytest.mark.parametrize("rate", [0.0, 1.0, 1.5, 0.1, math.nan, -0.5, 2.0**-33])
def test_a_rate_that_cannot_be_drawn_is_refused(rate: float) -> None:
    with pytest.raises(SamplerError, match="multiple of 2"):
        Sample(rate, KEY)
    if rate != 1:
        with pytest.raises(BudgetError, match="drawn_rate"):
            Gaussian("sums", 1.0, 1.0, 1.0, 1, rate)


def test_a_sample_needs_a_whole_key_and_does_not_show_it() -> None:
    for short in (b"", KEY[1:], KEY + KEY):
        with pytest.raises(SamplerError, match="32 bytes"):
            Sample(0.5, short)
    secret = Sample(0.5, b"S" * 32)
    assert "SSS" not in f"{secret!r} {secret}"


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
        grant.measure(sums("round 0"))
    own = nonces(ids(1000))
    taken = grant.sample("round 0").of(own)
    assert taken.dtype == np.bool_
    assert 150 < taken.sum() < 350
    with pytest.raises(GrantError, match="drawn already"):
        grant.sample("round 0")
    with pytest.raises(GrantError, match="draw it with sample"):
        grant.measure(sums("round 1"))
    noisy = grant.measure(sums("round 0"))
    assert noisy.sigma == noisy.event.noise  # type: ignore[union-attr]
    assert noisy.values.any()
    for again in (lambda: grant.sample("round 0"), lambda: grant.measure(sums("round 0"))):
        with pytest.raises(GrantError, match="already made"):
            again()
    assert not np.array_equal(taken, grant.sample("round 1").of(own))


def test_only_what_is_booked_is_sampled() -> None:
    grant = granted(0.25, 1.0)
    with pytest.raises(GrantError, match="booked was gaussian"):
        grant.sample("round 1")
    grant.measure(sums("round 1"))
    with pytest.raises(GrantError, match="not booked"):
        grant.sample("round 2")


def test_a_seeded_sample_is_repeatable() -> None:
    first, again, other = (granted(0.5, seed=seed).sample("round 0") for seed in (3, 3, 4))
    assert first == again != other


def test_who_takes_part_and_the_noise_have_keys_of_their_own() -> None:
    """With a checkpoint a key is a matter of what it is asked for: the same twice would be the same words."""
    asked: list[tuple[str, str]] = []

    class Watched(Seeded):
        def key(self, name: str = "", purpose: str = "noise") -> bytes:
            asked.append((name, purpose))
            return super().key(name, purpose)

    grant = Ledger.ephemeral(BUDGET).charge(plan(0.25, 0.25), entropy=Watched(1))
    for name in ("round 0", "round 1"):
        grant.sample(name)
        grant.measure(sums(name))
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
    for changes in ({"unit": "record"}, {"adjacency": "replace"}):
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
            samples.append(grant.sample("round 0"))
            released.append(grant.measure(sums("round 0")).values)
            samples.append(grant.sample("round 1"))
    assert samples[:2] == samples[2:]
    assert samples[0] != samples[1]
    assert np.array_equal(released[0], released[1])
