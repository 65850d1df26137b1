"""Randomized response on sparse rows through the one door: what is booked, refused and answered."""

import functools
import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest

from hushrec.arrays import Ints, Words
from hushrec.errors import BudgetError, GrantError
from hushrec.models.du_leighton_patel import kernels, response
from hushrec.models.du_leighton_patel.method import randomize_rows
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import _exponent
from hushrec.privacy.accounting.measurement import Responses, Substitutions
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise import exact
from hushrec.privacy.noise.distributions import LAPLACE
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem, Seeded
from support.cells import dense, rows_of, truth

SHAPE = 30, 40
BOOKED = Responses.of("answers", 6, _exponent(1.0, 6), 40, 40)
LAW = ResponseRandomizer(6, BOOKED.exponent)


def drawn(distribution: ResponseRandomizer, before: Ints, threads: int = 2) -> Ints:
    return dense(before.shape, *distribution.draw(rows_of(before), Seeded(2).key(), threads=threads))


def grant_for(booked: Responses | Substitutions = BOOKED, entropy: Entropy | None = None) -> Grant:
    budget = Budget(epsilon=1e6, delta=0.0, unit="user", adjacency="replace")
    plan = Plan("toy", {}, "d" * 64, 1000, budget, (booked,))
    return Ledger.ephemeral(budget).charge(plan, entropy=entropy or Seeded(1))


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def reported(entropy: Entropy, answered: int | None = None) -> str:
    booked = Responses.of("answers", 6, BOOKED.exponent, answered or 40, answered or 40)
    law = ResponseRandomizer(6, BOOKED.exponent, answered)
    found = randomize_rows(grant_for(booked, entropy), rows_of(truth(6, SHAPE)), law)
    Rows("answers", 40, *found)  # such rows they are
    assert found[2].max() < 5
    return digest(*found)[:16]


def test_the_same_seed_gives_the_same_bytes_and_the_system_never_does() -> None:
    assert reported(Seeded(5)) == reported(Seeded(5)) != reported(Seeded(6))
    assert reported(OperatingSystem()) != reported(OperatingSystem())


def test_the_answers_are_the_known_ones() -> None:
    assert (reported(Seeded(1)), reported(Seeded(1), 7)) == ("eeb3d881577e8a24", "3a321a269174bb0a")


def test_nothing_given_is_written_to() -> None:
    rows = rows_of(truth(6, SHAPE))
    before = digest(rows.indptr, rows.columns, rows.marks)
    randomize_rows(grant_for(), rows, LAW)
    assert digest(rows.indptr, rows.columns, rows.marks) == before


@pytest.mark.parametrize("answered", [None, 12])
def test_threads_change_nothing(answered: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response, "_RUN", 2**12)
    one, three = (
        drawn(ResponseRandomizer(6, 1.0, answered), truth(6, (20_000, 50)), threads) for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("answered", [None, 1, 5])
@pytest.mark.parametrize("shape", [(0, 5), (1, 5), (3, 700_000), (400_000, 5)])
def test_rows_of_any_number_and_width_are_whole(answered: int | None, shape: tuple[int, int]) -> None:
    """Within 7 standard deviations: a false alarm in 4e11. A run that is lost is 1e3 of them."""
    before = truth(6, shape)
    distribution, rate = ResponseRandomizer(6, 0.25, answered), math.exp(-0.25)
    answers = drawn(distribution, before)
    share = (answered or shape[1]) / shape[1]
    for there, seen in ((before < 0, rate), (before >= 0, 1 - rate / 5)):
        expected = there.sum() * share * seen
        assert abs((answers >= 0)[there].sum() - expected) <= 7 * math.sqrt(max(expected, 5))


@pytest.mark.parametrize("exponent", [1e-9, 0.25, 3.0, 40.0, 300.0])
def test_words_beside_the_chance_are_settled_by_further_ones(
    exponent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of a stream round e^−exponent · 2^64, against what exact arithmetic says of any continuation."""
    chance = LAPLACE.survival(Fraction(exponent), 64, False)
    near = np.array([max(0, chance + shift) for shift in range(-3, 12)], np.uint64)
    asked = []

    def stream(words: Words, key: object, first: int, nonce: tuple[int, int, int]) -> None:
        words[:] = near if nonce[0] == kernels.TRUTH else further
        if nonce[0] != kernels.TRUTH:
            asked.append(nonce)

    monkeypatch.setattr(kernels, "stream", stream)
    for further in (0, 2**64 - 1):
        asked.clear()
        found = response.untrue(Fraction(exponent), 15, np.zeros(8, np.uint32), 5)
        words = ([int(word), *[further] * 9] for word in near)
        right = [exact.happens(Fraction(exponent), exact.Uniform(iter(own))) for own in words]
        assert found.tolist() == right
        assert {nonce[::2] for nonce in asked} == {(kernels.FURTHER, 5)}
        assert len({cell for _, cell, _ in asked}) < 5  # only the word that holds the chance, here


def test_one_cell_of_two_symbols_is_turned() -> None:
    """Warner's: 40,000 people, one question. Within 7 standard deviations."""
    before = np.where(np.arange(40_000) % 2, 0, -1)[:, None]
    distribution = ResponseRandomizer(2, -math.log(0.3))
    answers = drawn(distribution, before)
    for mark in (-1, 0):
        turned = (answers != before)[before == mark].sum()
        assert abs(turned - 6000) < 7 * math.sqrt(4200)


def test_all_256_marks_are_answered() -> None:
    before = np.tile(np.arange(256), (40, 1))
    distribution = ResponseRandomizer(257, -math.log(0.5))
    answers = drawn(distribution, before)
    assert set(answers[answers != before]) >= {0, 255}


@pytest.mark.parametrize(
    ("distribution", "booked", "complaint"),
    [
        (LAW, Responses.of("others", 6, BOOKED.exponent, 40, 40), "not booked"),
        (LAW, Substitutions.of("answers", 1.0, 0.5, 40, 40), "booked was item substitution"),
        (
            LAW,
            Responses.of("answers", 6, BOOKED.exponent * (1 - 1e-15), 40, 40),
            "loses more than the booked ε = 1;",
        ),
        (ResponseRandomizer(7, BOOKED.exponent), BOOKED, "loses more than the booked"),
        (LAW, Responses.of("answers", 6, BOOKED.exponent, 39, 40), "more than the booked 39 cells"),
        (LAW, Responses.of("answers", 6, BOOKED.exponent, 40, 41), "booked were 41"),
        (ResponseRandomizer(6, BOOKED.exponent, 7), BOOKED, "7 of 40 cells"),
        (LAW, Responses.of("answers", 6, BOOKED.exponent, 7, 7), "40 of 40 cells"),
        (
            ResponseRandomizer(6, BOOKED.exponent, 41),
            Responses.of("answers", 6, BOOKED.exponent, 41, 41),
            "41 of 40",
        ),
        (
            ResponseRandomizer(6, BOOKED.exponent, 7),
            Responses.of("answers", 6, BOOKED.exponent, 6, 7),
            "6 cells",
        ),
        (ResponseRandomizer(5, BOOKED.exponent), BOOKED, "a mark is not among the 4"),
    ],
)
def test_what_was_not_booked_is_refused_and_spends_nothing(
    distribution: ResponseRandomizer, booked: Responses | Substitutions, complaint: str
) -> None:
    grant = grant_for(booked)
    for _ in range(2):
        with pytest.raises(GrantError, match=complaint):
            randomize_rows(grant, rows_of(truth(6, SHAPE)), distribution)


def test_rows_are_randomized_once() -> None:
    grant = grant_for()
    randomize_rows(grant, rows_of(truth(6, SHAPE)), LAW)
    with pytest.raises(GrantError, match="already made"):
        randomize_rows(grant, rows_of(truth(6, SHAPE)), LAW)


def test_the_longest_row_decides_how_many_cells_may_differ() -> None:
    before = np.full(SHAPE, -1)
    before[3, :7] = 2
    booked = functools.partial(Responses.of, "answers", 6, BOOKED.exponent, size=40)
    randomize_rows(grant_for(booked(cells=14)), rows_of(before), LAW)
    with pytest.raises(GrantError, match="cap contributions") as refusal:
        randomize_rows(grant_for(booked(cells=13)), rows_of(before), LAW)
    assert "7" not in str(refusal.value)
    assert "14" not in str(refusal.value)


def test_a_law_that_tells_nothing_or_everything_is_none() -> None:
    for symbols, exponent in ((6, 0.1), (6, 301.0), (1, 1.0), (6, math.nan)):
        with pytest.raises(BudgetError):
            ResponseRandomizer(symbols, exponent)


def test_an_order_is_the_same_again_from_the_same_seed() -> None:
    np.testing.assert_array_equal(grant_for().order(50), grant_for().order(50))
    assert np.any(grant_for(entropy=Seeded(2)).order(50) != grant_for().order(50))
