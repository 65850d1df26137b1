"""Groups of near items, against distances between dense vectors."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import hushrec as hr
from hushrec.kernels.csr import unpack
from hushrec.models.du_leighton_patel import groups
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.models.du_leighton_patel.groups import Groups, quantile_threshold
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings

DISTANCES = ("squared", "cosine", "pearson", "d2p")
N = 24


def domain(n=N):
    return hr.Domain(range(n), scale=(1, 5, 0.5), max_users=1000)


def features(seed=0, integers=True):
    generator = np.random.default_rng(seed)
    matrix = generator.integers(0, 3, (N, 9)) * (generator.random((N, 9)) < 0.5)
    matrix[3], matrix[7], matrix[11] = 0, matrix[6], 1  # nothing known, twins, no variation
    return ItemFeatures(matrix if integers else matrix + 0.1 * generator.random(9), tuple("abcdefghi"))


def ratings(seed=0):
    """Of 60 people; nobody rated the last item."""
    generator = np.random.default_rng(seed)
    rows = [
        (f"u{user:03}", int(item), float(generator.integers(2, 11)) / 2)
        for user in range(60)
        for item in np.flatnonzero(generator.random(N - 1) < generator.random())
    ]
    table = pd.DataFrame(rows, columns=["user_id", "item_id", "rating"])
    return hr.load(table, domain())


def vectors_of(given):
    dense = np.zeros((given.n_users, N))
    dense[given.user_index(), given.items] = given.numbers()
    return dense.T


@pytest.fixture(scope="module")
def releases():
    """One of each kind that holds a covariance, of random numbers, with an item of which nothing is known."""
    made, generator = hr.synthetic.netflix_like(200, N, 1500, seed=3), np.random.default_rng(0)
    factors = generator.normal(size=(N, 4))
    factors[5] = 0
    noisy = factors @ factors.T + 0.1 * generator.normal(size=(N, N))
    noisy[5, 5] = -0.2
    packed = noisy[np.triu_indices(N)].astype(np.float32)
    kinds = {
        "factors": (hr.CovarianceSVD(rank=4), {"item_factors": factors.astype(np.float32)}),
        "neighbours": (hr.CovarianceKNN(rank=4), {"item_factors": factors.astype(np.float32)}),
        "dense neighbours": (
            hr.CovarianceKNN(covariance=CovarianceSettings(cleaning="none")),
            {"covariance": packed},
        ),
    }
    found = {}
    for kind, (config, tensors) in kinds.items():
        fitted = hr.baseline(made, config)
        found[kind] = dataclasses.replace(fitted, tensors={**fitted.tensors, **tensors})
        assert fitted.kind == kind
    return found


def covariance_of(release):
    if "covariance" in release.tensors:
        return unpack(release.tensors["covariance"], N).astype(np.float64)
    factors = release.tensors["item_factors"].astype(np.float64)
    return factors @ factors.T


def of_vectors(vectors, distance):
    """Distances, item by item; infinite where there is none."""
    found = np.full((N, N), np.inf)
    for i in range(N):
        for j in range(N):
            a, b = vectors[i], vectors[j]
            if i == j or not a.any() or not b.any():
                continue
            if distance == "pearson":
                a, b = a - a.mean(), b - b.mean()
                if np.abs(a).max() < 1e-12 or np.abs(b).max() < 1e-12:
                    continue
            cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b) if distance != "squared" else 0.0
            found[i, j] = {
                "squared": ((a - b) ** 2).sum(),
                "d2p": 1 / cosine - 1 if cosine > 0 else math.inf,
            }.get(distance, 1 - cosine)
    return found


def of_covariance(covariance, distance):
    variances = covariance.diagonal()
    known = variances > 0
    norms = np.sqrt(np.where(known, variances, 1))
    cosines = np.clip(covariance / norms / norms[:, None], -1, 1)
    with np.errstate(divide="ignore"):
        found = {
            "squared": variances + variances[:, None] - 2 * covariance,
            "d2p": np.where(cosines > 0, 1 / cosines - 1, np.inf),
        }.get(distance, 1 - cosines)
    return np.where(known & known[:, None] & ~np.eye(N, dtype=bool), found, np.inf)


def relation(found):
    assert found.indptr[0] == 0
    near = np.zeros((N, N), bool)
    near[np.repeat(np.arange(N), found.sizes), found.members] = True
    assert near.sum() == found.members.size
    for first, last in zip(found.indptr[:-1], found.indptr[1:], strict=True):
        assert np.all(np.diff(found.members[first:last]) > 0)
    return near


def between(distances, fraction):
    """A threshold that lies in the middle between two distances."""
    finite = np.unique(distances[np.isfinite(distances)].round(9))
    place = int(fraction * (finite.size - 1))
    return float(finite[place] + finite[place + 1]) / 2


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("distance", DISTANCES)
def test_groups_are_those_of_the_distances(distance, fraction, releases):
    for given in (features(), features(1, integers=False)):
        distances = of_vectors(given.matrix.toarray(), distance)
        threshold = between(distances, fraction)
        found = Groups.of_features(given, domain(), distance, threshold)
        np.testing.assert_array_equal(relation(found), distances < threshold)
    given = ratings()
    distances = of_vectors(vectors_of(given), distance)
    threshold = between(distances, fraction)
    found = Groups.of_ratings(given, distance, threshold)
    np.testing.assert_array_equal(relation(found), distances < threshold)
    assert found.sizes[-1] == 0
    for release in releases.values():
        distances = of_covariance(covariance_of(release), distance)
        threshold = max(between(distances, fraction), 1e-6)
        found = Groups.of_release(release, distance, threshold)
        np.testing.assert_array_equal(relation(found), distances < threshold)


@pytest.mark.parametrize("filled", [0.0, 2.0])
@pytest.mark.parametrize("distance", DISTANCES)
def test_blocks_and_sparse_products_change_nothing(distance, filled, monkeypatch, releases):
    def every():
        threshold = {"squared": 6.0, "cosine": 0.4, "pearson": 0.5, "d2p": 0.7}[distance]
        yield Groups.of_features(features(), domain(), distance, threshold)
        yield Groups.of_ratings(ratings(), distance, threshold)
        yield Groups.of_release(releases["dense neighbours"], distance, threshold)

    def parts():
        return [(each.indptr.tolist(), each.members.tolist()) for each in every()]

    before = parts()
    monkeypatch.setattr(groups, "_FILLED", filled)
    for cells in (1, 5 * N, 7 * N + 3):
        monkeypatch.setattr(groups, "_CELLS", cells)
        assert parts() == before


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("fraction", [0.02, 0.25, 0.6])
def test_a_quantile_is_the_least_threshold_of_its_share(distance, fraction):
    given = ratings()
    threshold = quantile_threshold(given, distance, fraction)
    distances = of_vectors(vectors_of(given), distance)
    pairs = N * (N - 1)
    if math.isinf(threshold):
        assert np.isfinite(distances).sum() < fraction * pairs
        return
    found = Groups.of_ratings(given, distance, threshold).members.size
    assert found >= fraction * pairs
    assert (distances < threshold * (1 - 1e-6)).sum() < fraction * pairs
