"""Normals from ChaCha20: the same as in NumPy, of the right law, and independent of one another.

A statistical check gives a p-value and alarms below 1e-9; there are under 50 of them, so right normals raise
an alarm for fewer than one key in 1e7. Every check fails on a planted fault.
"""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from hushrec.kernels.noise.gaussian import LARGEST, draw, reference_draw, room

ALARM = 1e-9
KEY = np.frombuffer(bytes(range(32)), "<u4").astype(np.uint32)
EDGES = [-5.0, -4.7, -4.4, -4.1, -3.8, -3.5, *stats.norm.ppf(np.linspace(0.0005, 0.9995, 400))]
EDGES += [-edge for edge in EDGES[5::-1]]


def normals(count, key=KEY, nonce=(1, 2, 3)):
    z = np.full(room(count) + 3, np.nan, np.float32)
    draw(z, count, key, nonce)
    assert np.isnan(z[room(count) :]).all()
    return z[:count]


def differ(left, right):
    return float(np.abs(left - right).max())


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 33, 64, 65, 256, 257, 300, 1024, 2049, 70_000])
def test_equal_numpy(count):
    got = normals(count)
    assert differ(got, reference_draw(count, KEY, (1, 2, 3))) < 2e-6
    for key, nonce in ((KEY ^ np.uint32(1 << 31), (1, 2, 3)), (KEY, (1, 2, 4)), (KEY, (2, 1, 3))):
        assert differ(got, reference_draw(count, key, nonce)) > 1e-3


def test_fewer_are_the_first_of_more():
    assert np.array_equal(normals(70), normals(5000)[:70])


def test_the_whole_nonce_counts():
    largest = 2**32 - 1
    names = [(0, 0, 0), (largest, 0, 0), (0, largest, 0), (0, 0, largest), (largest, largest, largest)]
    drawn = [normals(3, nonce=name) for name in names]
    assert all(differ(a, b) > 0 for k, a in enumerate(drawn) for b in drawn[:k])
    for z, name in zip(drawn, names, strict=True):
        assert differ(z, reference_draw(3, KEY, name)) < 2e-6


@numba.njit(nogil=True)
def draw_rows(z, key, first):
    for row in range(len(z)):
        draw(z[row], z.shape[1], key, (first + row, 5, 1))


def rows(n, size=256, first=0):
    """As payments draw them: a row for each of n consecutive names."""
    z = np.empty((n, size), np.float32)
    draw_rows(z, KEY, first)
    return z


def two_sided(z):
    return float(2 * stats.norm.sf(abs(z)))


def checks(z):
    n = z.size
    wide = z.astype(np.float64)
    square = wide * wide
    observed = np.histogram(z, [-np.inf, *EDGES, np.inf])[0]
    expected = n * np.diff(stats.norm.cdf([-np.inf, *EDGES, np.inf]))
    # Products of two columns, over √rows, are standard normal; so are those of their squares, over 2.
    products = (z.T @ z)[np.triu_indices(z.shape[1], 1)] / np.sqrt(len(z))
    of_squares = (((square - 1).T @ (square - 1)) / (2 * np.sqrt(len(z))))[np.triu_indices(z.shape[1], 1)]
    # Two numbers side by side: among 2^20 such pairs 1/32 repetition is expected, or less.
    pairs = np.ascontiguousarray(z[:, :2]).view(np.uint64)[: 2**20, 0]
    return {
        "mean": two_sided(wide.sum() / np.sqrt(n)),
        "variance": two_sided((square - 1).sum() / np.sqrt(2 * n)),
        "third": two_sided((square * wide).sum() / np.sqrt(15 * n)),
        "fourth": two_sided((square * square - 3).sum() / np.sqrt(96 * n)),
        "bins": float(stats.chisquare(observed, expected * n / expected.sum()).pvalue),
        "columns": float(stats.chi2.sf((products**2).sum(), products.size)),
        "squares": two_sided(((of_squares**2).sum() - of_squares.size) / np.sqrt(2 * of_squares.size)),
        "names": two_sided((wide[1:] * wide[:-1]).sum() / np.sqrt(wide[1:].size)),
        "serial": two_sided((wide[:, 1:] * wide[:, :-1]).sum() / np.sqrt(wide[:, 1:].size)),
        "repetition": float(stats.poisson.sf(len(pairs) - len(np.unique(pairs)) - 1, 1 / 32)),
    }


def alarms(z):
    return {name for name, p in checks(z).items() if p < ALARM}


@pytest.fixture(scope="module")
def sample():
    """1.7e7 normals."""
    return rows(2**16)


@pytest.mark.full
def test_have_the_law(sample):
    assert not alarms(sample)
    assert np.abs(sample).max() < LARGEST


def reused(z):
    table = z.reshape(-1)[: 2**16]
    starts = np.random.default_rng(0).integers(0, len(table) - z.shape[1], len(z))
    return table[starts[:, None] + np.arange(z.shape[1])]


def sums(z):
    """Four uniform numbers, added: the right variance."""
    found = np.zeros_like(z)
    for k in range(4):
        found += np.random.default_rng(k).random(z.shape, np.float32)
    return (found - 2) * np.float32(np.sqrt(3))


def one_sided(z):
    return np.where(z > 3, -z, z)


def twins(z):
    """Both numbers of a pair from one radius, with signs of their own."""
    found = z.copy()
    found[:, 16:32] = np.abs(z[:, :16]) * np.sign(z[:, 16:32])
    return found


def slow_key(z):
    """Every name serves twice."""
    return np.repeat(z[::2], 2, axis=0)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (lambda z: z * np.float32(1.005), {"variance", "bins"}),  # variance 1 % too large
        (lambda z: z + np.float32(0.004), {"mean"}),
        (lambda z: np.clip(z, -4, 4), {"bins"}),
        (one_sided, {"mean", "third", "bins"}),
        (sums, {"fourth", "bins"}),
        (reused, {"bins", "repetition"}),
        (twins, {"squares"}),
        (lambda z: np.repeat(z[:, ::2], 2, axis=1), {"columns", "serial"}),
        (slow_key, {"names", "repetition"}),
    ],
)
@pytest.mark.full
def test_planted_faults_raise_their_alarm(sample, fault, found):
    assert found <= alarms(fault(sample[: 2**14]))


@pytest.mark.parametrize("place", [0, 64, 255])
def test_a_coordinate_has_the_law(sample, place):
    assert stats.kstest(sample[:, place], stats.norm.cdf).pvalue > ALARM
    assert stats.kstest(sample[:, place] * 1.1, stats.norm.cdf).pvalue < ALARM


@pytest.mark.full
def test_tails():
    """2^30 normals: how many lie beyond 4 to 6. Twice as many, or half, would be noticed from 4 to 5.5."""
    bounds, beyond = np.arange(4, 6.1, 0.5), np.zeros(5)
    for part in range(64):
        size = np.abs(rows(2**16, first=part * 2**16))
        far = size[size > 4]
        beyond += [(far > bound).sum() for bound in bounds]
        assert far.max() < LARGEST
    expected = 2**30 * 2 * stats.norm.sf(bounds)

    def alarm(seen):
        p = np.minimum(stats.poisson.cdf(seen, expected), stats.poisson.sf(seen - 1, expected))
        return 2 * p < ALARM

    assert not alarm(beyond).any()
    assert alarm(2 * beyond)[:4].all()
    assert alarm(beyond // 2)[:3].all()


def test_the_largest():
    assert math.exp(-(LARGEST**2) / 2) == pytest.approx(2.0**-33)
