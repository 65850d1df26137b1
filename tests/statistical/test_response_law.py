"""Randomized response on sparse rows has the law of responses on every cell.

Each check passes on the answers and fails on a planted fault. It gives a p-value and alarms below 1e-10;
there are under 600 of them, so right answers raise an alarm for fewer than one choice in 1e7 of the seeds.
The seeds are fixed: one that passes once always does.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Bools, Ints
from hushrec.models.du_leighton_patel import kernels, response
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.privacy.noise.entropy import Seeded
from support.cells import dense, rows_of
from support.cells import truth as truth_of

ALARM = 1e-10
ROWS, WIDTH, ASKED = 20_000, 50, 12
LAWS = [(k, rate) for k in (3, 6, 11) for rate in (0.01, 0.17, 0.83) if rate < 1 - 1 / k]
Fault = Callable[[Bools], Bools]
truth = functools.partial(truth_of, shape=(ROWS, WIDTH))


def answered(distribution: ResponseRandomizer, symbols: int, seed: int, fault: Fault | None = None) -> Ints:
    with pytest.MonkeyPatch.context() as patch:
        if fault:
            right = response.untrue
            patch.setattr(response, "untrue", lambda *call: fault(right(*call)))
        drawn = distribution.draw(rows_of(truth(symbols)), Seeded(seed).key())
    return dense((ROWS, WIDTH), *drawn)


def total(found: Ints, expected: float) -> float:
    """p-value of the sum of independent numbers: Poisson's law for rare events, and else the normal one."""
    number, mean = int(found.sum()), expected * found.size
    if mean < 1000:
        return float(min(1.0, 2 * min(stats.poisson.cdf(number, mean), stats.poisson.sf(number - 1, mean))))
    deviation = math.sqrt(found.size) * max(float(found.std()), math.sqrt(expected) / 2)
    return float(2 * stats.norm.sf(abs(number - mean) / deviation))


def binned(found: Ints, chances: np.ndarray) -> float:
    """p-value of numbers 0, 1, …; with the outer ones put together until 20 are expected in each."""
    expected = chances * found.size
    low, high = np.flatnonzero(expected > 20)[[0, -1]]
    counts = np.bincount(np.clip(found, low, high), minlength=high + 1)[low:]
    expected = np.concatenate(
        [[expected[: low + 1].sum()], expected[low + 1 : high], [expected[high:].sum()]]
    )
    return float(stats.chisquare(counts, expected, sum_check=False).pvalue)


def checks(answers: Ints, symbols: int, rate: float) -> dict[str, float]:
    """p-values: how many answers are not true, in which cells, and what they are."""
    before = truth(symbols)
    turned = answers != before
    number = turned.sum(axis=1)
    first = np.where(number > 0, turned.argmax(axis=1), WIDTH)
    beside = turned[::2, -1] & turned[1::2, 0]  # a gap goes on from row to row
    shares = stats.chi2.sf(
        ((turned.sum(axis=0) - ROWS * rate) ** 2).sum() / (ROWS * rate * (1 - rate)), WIDTH
    )
    found = {
        "number": float(stats.binomtest(int(number.sum()), ROWS * WIDTH, rate).pvalue),
        "rows": binned(number, stats.binom.pmf(np.arange(WIDTH + 1), WIDTH, rate)),
        "columns": float(shares),
        "first": binned(first, np.append(rate * (1 - rate) ** np.arange(WIDTH), (1 - rate) ** WIDTH)),
        "neighbours": total((turned[:, 1:] & turned[:, :-1]).sum(axis=1), (WIDTH - 1) * rate**2),
        "across": float(stats.binomtest(int(beside.sum()), beside.size, rate**2).pvalue),
    }
    pairs = np.bincount((before[turned] + 1) * symbols + answers[turned] + 1, minlength=symbols**2)
    pairs = pairs.reshape(symbols, symbols)
    assert not np.diag(pairs).any()
    for mark in range(symbols):
        others = np.delete(pairs[mark], mark)
        found[f"answers for {mark}"] = float(stats.chisquare(others).pvalue)
    return found


def sample_checks(answers: Ints, symbols: int, rate: float) -> dict[str, float]:
    """p-values of answers to some cells: how many marks are seen in empty and in full rows, and where."""
    found = {}
    filled = (truth(symbols) >= 0).sum(axis=1)
    for name, cells, seen in (("empty", 0, rate), ("full", WIDTH, 1 - rate / (symbols - 1))):
        marked = (answers >= 0)[filled == cells]
        people, once = marked.shape[0], ASKED / WIDTH * seen
        both = ASKED * (ASKED - 1) / (WIDTH * (WIDTH - 1)) * seen**2
        found[f"rows {name}"] = binned(marked.sum(axis=1), stats.binom.pmf(np.arange(ASKED + 1), ASKED, seen))
        # Columns exclude each other, all alike: their counts' variance is the same in all directions but one.
        counts = marked.sum(axis=0)
        spread = people * (once - both)
        found[f"columns {name}"] = float(
            stats.chi2.sf(((counts - counts.mean()) ** 2).sum() / spread, WIDTH - 1)
        )
        for apart in (1, 2):
            pairs = (marked[:, apart:] & marked[:, :-apart]).sum(axis=1)
            found[f"{apart} apart {name}"] = total(pairs, (WIDTH - apart) * both)
    there = (answers >= 0) & (truth(symbols) >= 0)
    wrong = (answers != truth(symbols))[there]
    share = rate * (symbols - 2) / (symbols - 1) / (1 - rate / (symbols - 1))
    found["wrong"] = float(stats.binomtest(int(wrong.sum()), wrong.size, share).pvalue)
    return found


def alarms(p_values: dict[str, float]) -> set[str]:
    return {name for name, p in p_values.items() if p < ALARM}


@pytest.mark.parametrize(("symbols", "rate"), LAWS)
@pytest.mark.full
def test_every_cell_has_the_law_of_responses(symbols: int, rate: float) -> None:
    for asked, check in ((None, checks), (ASKED, sample_checks)):
        answers = answered(ResponseRandomizer(symbols, -math.log(rate), asked), symbols, 1)
        assert not alarms(check(answers, symbols, rate))


def alike(turned: Bools) -> Bools:
    """The first cell of a row as the last of the row before it."""
    rows = turned.reshape(-1, WIDTH)
    rows[1:, 0] = rows[:-1, -1]
    return turned


def apart(turned: Bools) -> Bools:
    """Neighbours never both untrue: the second of two is moved on by one."""
    both = np.flatnonzero(turned[:-1] & turned[1:]) + 1
    turned[both] = False
    turned[np.minimum(both + 1, turned.size - 1)] = True
    return turned


@pytest.mark.parametrize(("check", "fault"), [("across", alike), ("neighbours", apart)])
def test_planted_draws_raise_their_alarm(check: str, fault: Fault) -> None:
    assert check in alarms(checks(answered(ResponseRandomizer(6, -math.log(0.17)), 6, 1, fault), 6, 0.17))


@pytest.mark.parametrize(("symbols", "rate"), LAWS)
@pytest.mark.full
def test_a_chance_off_by_ten_percent_raises_its_alarm(symbols: int, rate: float) -> None:
    for factor in (0.9, 1 / 0.9):
        if factor * rate < 1 - 1 / symbols:
            answers = answered(ResponseRandomizer(symbols, -math.log(factor * rate)), symbols, 1)
            assert "number" in alarms(checks(answers, symbols, rate))
            if rate < 0.1:  # a sample tells too little of answers that are so seldom untrue
                continue
            answers = answered(ResponseRandomizer(symbols, -math.log(factor * rate), ASKED), symbols, 1)
            assert alarms(sample_checks(answers, symbols, rate))


@pytest.mark.parametrize(("symbols", "rate"), LAWS[::4])
def test_answers_that_are_never_the_first_symbol_raise_their_alarm(symbols: int, rate: float) -> None:
    answers = answered(ResponseRandomizer(symbols, -math.log(rate)), symbols, 1)
    first = (answers == 0) & (truth(symbols) != 0)
    answers[first] = np.where(truth(symbols)[first] == 1, -1, 1)
    assert "answers for 0" in alarms(checks(answers, symbols, rate))


def fewer(chosen: Ints, *_: object) -> None:
    """Every tenth row answers for the first cells."""
    chosen[::10] = np.arange(chosen.shape[1])


def blocks(chosen: Ints, *_: object) -> None:
    """Every cell as likely as every other, but neighbours together."""
    begin = np.arange(chosen.shape[0])[:, None]
    chosen[:] = np.sort((begin + np.arange(chosen.shape[1])) % WIDTH, axis=1)


@pytest.mark.parametrize(("check", "fault"), [("columns full", fewer), ("1 apart full", blocks)])
def test_samples_that_lean_raise_their_alarm(
    check: str, fault: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = kernels.choose
    monkeypatch.setattr(kernels, "choose", lambda *call: (right(*call), fault(*call)))
    assert check in alarms(
        sample_checks(answered(ResponseRandomizer(6, -math.log(0.17), ASKED), 6, 1), 6, 0.17)
    )
