"""The sampler as callers see it: exact, repeatable, independent of threads, in place, self-testing."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from hushrec.errors import SamplerError
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE, Distribution
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noise.exact import Uniform

KEY = Seeded(1).key()
SCALES = [0.1, 0.6, 3.0, 10_000.0, 2.0**26, 2.0**45 / 3, 2.0**50]
distributions = pytest.mark.parametrize("distribution", [GAUSSIAN, LAPLACE])


@distributions
@pytest.mark.parametrize("scale", SCALES)
def test_draws_are_the_exact_ones(distribution: Distribution, scale: float) -> None:
    draws = sampler.rounded(distribution, 1200, scale, KEY)
    for i in [*range(15), 511, 512, 1199]:
        assert draws[i] == sampler.exact_draw(distribution, scale, KEY, i)


@distributions
@pytest.mark.parametrize("scale", [0.6, 3.0, 1000.0, 2.0**45])
@pytest.mark.full
def test_doubt_costs_time_but_changes_nothing(
    distribution: Distribution, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = sampler.rounded(distribution, 3000, scale, KEY)
    table = sampler.quantiles(distribution).copy()
    table[:, 7] += 0.05 / (scale / 2 ** max(0, np.frexp(scale)[1] - 26))  # a tenth of all draws
    refined = []
    exact_draw = sampler.exact_draw
    monkeypatch.setattr(sampler, "quantiles", lambda distribution: table)
    monkeypatch.setattr(sampler, "exact_draw", lambda *args: refined.append(args[3]) or exact_draw(*args))
    np.testing.assert_array_equal(sampler.rounded(distribution, 3000, scale, KEY), draws)
    assert 10 < len(refined) < 1000


@distributions
@pytest.mark.parametrize("scale", [3.0, 2.0**45])
def test_threads_slabs_and_sizes_change_nothing(
    distribution: Distribution, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 3 * sampler._SLAB // 2 + 17
    draws = sampler.rounded(distribution, size, scale, KEY, threads=1)
    np.testing.assert_array_equal(sampler.rounded(distribution, size, scale, KEY, threads=2), draws)
    np.testing.assert_array_equal(sampler.rounded(distribution, 1003, scale, KEY), draws[:1003])
    monkeypatch.setattr(sampler, "_SLAB", 3 * 512)
    np.testing.assert_array_equal(
        sampler.rounded(distribution, 20_011, scale, KEY, threads=2), draws[:20_011]
    )


def test_every_draw_has_further_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw in 2^40 needs them, so they are read here by somebody who always does."""

    def second(*fractions: Uniform) -> list[int]:
        return [[next(fraction.words), next(fraction.words)][1] for fraction in fractions]

    monkeypatch.setattr(
        sampler.exact, "draw", lambda distribution, scale, bits, *fractions: second(*fractions)
    )
    words = []
    for number in (0, 1, 511, 512, 2**32, 2**32 + 1, 2**33 + 512):
        words += sampler.exact_draw(GAUSSIAN, 3.0, KEY, number)  # type: ignore[misc]
    assert len(set(words)) == len(words) == 14


def test_keys_and_laws_and_scales_give_other_draws() -> None:
    draws = [
        tuple(sampler.rounded(distribution, 50, scale, key))
        for distribution in (GAUSSIAN, LAPLACE)
        for scale in (1000.0, 1010.0)
        for key in (KEY, Seeded(2).key())
    ]
    assert len(set(draws)) == 8


@distributions
def test_noise_is_added_where_the_values_lie(distribution: Distribution) -> None:
    values = np.arange(600, dtype=np.int64).reshape(20, 30) << 40
    sampler.add(distribution, values, 50.0, KEY)
    np.testing.assert_array_equal(
        values.ravel() - (np.arange(600) << 40), sampler.rounded(distribution, 600, 50.0, KEY)
    )


def test_no_second_array_is_needed() -> None:
    values = np.zeros(6 * sampler._SLAB, np.int64)
    sampler.add(GAUSSIAN, values[:1], 3.0, KEY)
    tracemalloc.start()
    sampler.add(GAUSSIAN, values, 3.0, KEY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes / 10


def test_nothing_to_add_to_is_fine() -> None:
    assert sampler.rounded(GAUSSIAN, 0, 3.0, KEY).shape == (0,)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.0999, 2.0**50 * 1.01, float("nan"), float("inf")])
def test_scales_that_cannot_be_drawn_are_refused(scale: float) -> None:
    for distribution in (GAUSSIAN, LAPLACE):
        with pytest.raises(SamplerError, match="choose a grid"):
            sampler.rounded(distribution, 3, scale, KEY)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_keys_of_another_length_are_refused(key: bytes) -> None:
    with pytest.raises(SamplerError, match="32 bytes"):
        sampler.rounded(GAUSSIAN, 3, 1.0, key)


def test_arrays_that_would_be_copied_are_refused() -> None:
    fixed = np.zeros(10, np.int64)
    fixed.flags.writeable = False
    for values in (np.zeros(10, np.int64)[::2], np.zeros((4, 5), np.int64).T, np.zeros(10), fixed):
        with pytest.raises(SamplerError, match="contiguous"):
            sampler.add(GAUSSIAN, values, 1.0, KEY)  # type: ignore[arg-type]


def test_numpy_generators_are_never_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    before = np.random.get_state()[1].copy()

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("release noise must not come from numpy.random")

    for name in ("default_rng", "normal", "standard_normal", "laplace", "randint", "random", "SeedSequence"):
        monkeypatch.setattr(np.random, name, forbidden)
    for distribution in (GAUSSIAN, LAPLACE):
        sampler.rounded(distribution, 2000, 3.0, KEY)
        sampler.rounded(distribution, 2000, 2.0**40, KEY)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_the_self_test_passes() -> None:
    sampler.self_test()


def test_the_self_test_catches_a_wrong_table(monkeypatch: pytest.MonkeyPatch) -> None:
    table = sampler.quantiles(GAUSSIAN).copy()
    table[1:-1, 0] *= 1.01
    monkeypatch.setattr(sampler, "quantiles", lambda distribution: table)
    with pytest.raises(SamplerError, match="not the known ones"):
        sampler.self_test()


def test_the_self_test_catches_a_wrong_cipher(monkeypatch: pytest.MonkeyPatch) -> None:
    right = sampler._key_words
    monkeypatch.setattr(sampler, "_key_words", lambda key: right(key)[::-1].copy())
    with pytest.raises(SamplerError, match="not the known ones"):
        sampler.self_test()


def test_the_self_test_catches_a_kernel_that_exact_arithmetic_contradicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact_draw = sampler.exact_draw
    monkeypatch.setattr(sampler, "exact_draw", lambda *args: exact_draw(*args) + 1)
    with pytest.raises(SamplerError, match="not the exact ones"):
        sampler.self_test()


def test_the_self_test_catches_a_misfit(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = sampler.rounded
    monkeypatch.setattr(
        sampler, "rounded", lambda law, size, scale, key, **kw: draw(law, size, 1.04 * scale, key, **kw)
    )
    with pytest.raises(SamplerError, match="do not fit"):
        sampler.self_test()


def test_an_order_is_a_permutation_and_none_is_favoured() -> None:
    """Pearson's χ² of the 24 orders of four: a false alarm in 1e9."""
    for size in (0, 1, 2, 512, 513, 5000):
        np.testing.assert_array_equal(np.sort(sampler.permutation(size, KEY)), np.arange(size))
    orders = [tuple(sampler.permutation(4, Seeded(seed).key())) for seed in range(6000)]
    found = np.unique(orders, axis=0, return_counts=True)[1]
    assert found.size == 24
    assert stats.chisquare(found).pvalue > 1e-9
    assert stats.chisquare(found + 120 * (np.arange(24) == 0)).pvalue < 1e-9
    with pytest.raises(SamplerError, match="32 bytes"):
        sampler.permutation(4, KEY[:31])


def test_equal_words_leave_the_order_of_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.array([7, 3, 7, 3, 5], np.uint64)
    monkeypatch.setattr(sampler, "_keystream", lambda *_: words)
    assert sampler.permutation(5, KEY).tolist() == [1, 3, 4, 0, 2]
