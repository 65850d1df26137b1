"""Answers listed among the marks that are there, against a walk over all cells; and exact uniform choices."""

import itertools

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Bools, Bytes, Ints, Ints32
from hushrec.models.du_leighton_patel import kernels
from hushrec.privacy.noise import kernels as noise_kernels

KEY = np.arange(8, dtype=np.uint32)
ALARM = 1e-9  # under 100 checks: right choices raise an alarm for fewer than one in 1e7 of the keys


def halves(run: int, stream: int = 0):
    """The 32-bit words of a run's stream, one after the other."""
    words = np.empty(noise_kernels.WORDS, np.uint64)
    for call in itertools.count():
        noise_kernels.keystream(words, KEY, call * noise_kernels.BLOCKS, (stream, run, 0))
        for word in words.tolist():
            yield from divmod(word, 2**32)[::-1]


def choices(run: int, stream: int):
    """Uniform choices below a bound that is sent: what divides evenly, and nothing else."""
    bound = yield 0
    for word in halves(run, stream):
        # Of 2^32 words as many are kept as there are whole multiples: Lemire's are the last of each share.
        if word * bound % 2**32 >= 2**32 % bound:
            bound = yield word * bound >> 32


def chooser(run: int, stream: int):
    choosing = choices(run, stream)
    next(choosing)
    return choosing.send


def walk(truth: Ints, turned: Bools, others: int, run: int) -> Ints:
    """Answers of a dense matrix of symbols, −1 for nothing, one cell after the other."""
    choose, answers = chooser(run, kernels.SYMBOLS), truth.copy()
    for cell in zip(*np.nonzero(turned), strict=True):
        choice = choose(others)
        answers[cell] = -1 if choice == truth[cell] else choice
    return answers


def compressed(truth: Ints) -> tuple[Ints, Ints32, Bytes]:
    there = truth >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return starts, np.nonzero(there)[1].astype(np.int32), truth[there].astype(np.uint8)


def answered(truth: Ints, turned: Bools, others: int, run: int) -> Ints:
    rows, _ = truth.shape
    listed, reported = np.full(truth.size, -5, np.int32), np.full(truth.size, 250, np.uint8)
    counts = np.empty(rows, np.int64)
    size = kernels.respond(*compressed(truth), turned, others, KEY, run, listed, reported, counts)
    assert size == counts.sum()
    ends = np.concatenate([[0], np.cumsum(counts)])
    for first, last in itertools.pairwise(ends):
        assert np.all(np.diff(listed[first:last]) > 0)
    answers = np.full_like(truth, -1)
    answers[np.repeat(np.arange(rows), counts), listed[:size]] = reported[:size]
    return answers


def world(shape: tuple[int, int], filled: float, others: int, untrue: float, seed: int) -> tuple[Ints, Bools]:
    generator = np.random.default_rng(seed)
    truth = np.where(generator.random(shape) < filled, generator.integers(0, others, shape), -1)
    return truth, generator.random(shape) < untrue


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (30, 1), (7, 5), (12, 33)])
@pytest.mark.parametrize("filled", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("untrue", [0.0, 0.03, 0.5, 1.0])
def test_cells_are_answered_as_by_a_walk(shape: tuple[int, int], filled: float, untrue: float) -> None:
    for seed, others in enumerate((1, 2, 5, 10, 256)):
        truth, turned = world(shape, filled, others, untrue, seed)
        np.testing.assert_array_equal(
            answered(truth, turned, others, seed), walk(truth, turned, others, seed)
        )


def test_long_streams_go_on_where_a_call_ends() -> None:
    truth, turned = world((60, 90), 0.3, 5, 0.7, 0)  # more choices than one call's 1024 words
    np.testing.assert_array_equal(answered(truth, turned, 5, 3), walk(truth, turned, 5, 3))
    assert np.any(answered(truth, turned, 5, 4) != walk(truth, turned, 5, 3))


def test_a_choice_that_is_not_the_cells_own_is_found() -> None:
    truth, turned = world((12, 33), 0.7, 5, 0.5, 0)
    wrong = walk(truth, turned, 5, 0)
    wrong[wrong < 0] = truth[wrong < 0]  # a choice of the mark itself left standing
    assert np.any(answered(truth, turned, 5, 0) != wrong)


# -- samples ----------------------------------------------------------------------------------------------


def floyd(rows: int, answered: int, width: int, run: int) -> Ints:
    choose, chosen = chooser(run, kernels.SAMPLE), []
    for _ in range(rows):
        taken: set[int] = set()
        for last in range(width - answered, width):
            column = choose(last + 1)
            taken.add(last if column in taken else column)
        chosen.append(sorted(taken))
    return np.array(chosen)


def chosen(rows: int, answered: int, width: int, run: int) -> Ints32:
    found = np.full((rows, answered), -1, np.int32)
    kernels.choose(found, width, KEY, run)
    return found


@pytest.mark.parametrize(
    ("answered", "width"), [(1, 1), (1, 7), (7, 7), (8, 8), (3, 9), (40, 64), (50, 1000)]
)
def test_columns_are_chosen_as_by_floyd(answered: int, width: int) -> None:
    np.testing.assert_array_equal(chosen(40, answered, width, 6), floyd(40, answered, width, 6))


def misfit(found: Ints, width: int) -> float:
    """p-value of all sets of columns being equally likely."""
    sets = list(itertools.combinations(range(width), found.shape[1]))
    places = {columns: place for place, columns in enumerate(sets)}
    counts = np.bincount([places[tuple(row)] for row in found.tolist()], minlength=len(sets))
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize(("answered", "width"), [(1, 6), (2, 6), (3, 6), (5, 6), (4, 8)])
def test_every_set_is_as_likely_as_every_other(answered: int, width: int) -> None:
    assert misfit(chosen(20_000, answered, width, 0), width) > ALARM


def test_a_sample_that_leans_is_found() -> None:
    found = chosen(20_000, 2, 6, 0)
    found[::50] = (0, 1)
    assert misfit(found, 6) < ALARM


def uneven(answers: Ints, bound: int) -> float:
    """p-value of all numbers below the bound being equally likely, in 50 bins at most."""
    edges = np.linspace(0, bound, min(bound, 50) + 1).astype(np.int64)
    counts = np.diff(np.searchsorted(np.sort(answers.ravel()), edges))
    return float(stats.chisquare(counts, np.diff(edges) / bound * answers.size).pvalue)


@pytest.mark.parametrize("bound", [3, 5, 10, 100, 10_007])
def test_choices_are_uniform(bound: int) -> None:
    truth, turned = np.full((1, 40_000), -1), np.ones((1, 40_000), np.bool_)
    answers = answered(truth, turned, bound, 0) if bound <= 256 else chosen(40_000, 1, bound, 0)
    assert uneven(answers, bound) > ALARM
    answers.ravel()[::20] //= 2
    assert uneven(answers, bound) < ALARM


def test_a_choice_rejects_what_would_be_biased() -> None:
    bound, read, words = 3 * 2**29, np.zeros(1, np.int64), np.empty(noise_kernels.WORDS, np.uint64)
    found = np.array([kernels._below_in_run(bound, words, read, KEY, (0, 5, 0)) for _ in range(4000)])
    choose, stream = chooser(5, 0), halves(5)
    assert found[:500].tolist() == [choose(bound) for _ in range(500)]
    biased = np.array([next(stream) * bound >> 32 for _ in range(4000)])  # the fault: every fourth too many
    assert stats.chisquare(np.bincount(found % 3)).pvalue > ALARM
    assert stats.chisquare(np.bincount(biased % 3)).pvalue < ALARM


@pytest.mark.parametrize("answered", [1, 4, 9, 33])
def test_cells_in_chosen_columns_are_kept_by_their_place(answered: int) -> None:
    truth, _ = world((12, 33), 0.5, 5, 0.5, 1)
    starts, columns, marks = compressed(truth)
    sample = chosen(12, answered, 33, 0)
    begins, places, kept = np.empty(13, np.int64), np.empty_like(columns), np.empty_like(marks)
    kernels.restrict(starts, columns, marks, sample, begins, places, kept)
    expected = compressed(np.take_along_axis(truth, sample.astype(np.int64), axis=1))
    for found, right in zip((begins, places[: begins[-1]], kept[: begins[-1]]), expected, strict=True):
        np.testing.assert_array_equal(found, right)
