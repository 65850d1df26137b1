"""Sums of far more people than were declared still fit: an error after the charge would cost it, and tell."""

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.models.mcsherry_mironov import sums as covariance_sums
from hushrec.models.mcsherry_mironov.sums import CovarianceSums, HeadRatings
from support.sums import summed

DECLARED = 1 << 14  # as many as bring the finest weights to their limit under either norm


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.parametrize("limit", [2.0, 4.0])
@pytest.mark.full
def test_a_covariance_has_room_for_forty_times_the_declared_users(norm, unit, limit):
    domain = Domain(["a", "b"], scale=(1, 5, 1), max_users=DECLARED, max_per_user=10)
    people = 40 * DECLARED
    # One rating each, at full weight, of the item that everybody rated, as far from its effect as may be.
    ratings = People(
        domain,
        [f"{number:06d}" for number in range(people)],
        np.arange(people + 1),
        np.zeros(people, dtype=np.int32),
        np.full(people, 4, dtype=np.uint8),
    )
    sums = CovarianceSums(
        domain,
        unit=unit,
        adjacency="add-remove",
        norm=norm,
        clip=1.0,
        limit=limit,
        reg=50,
        contribution_cap=1.0,
        offset=0.0,
    )
    measured = summed(sums.measure(ratings, np.ones(2), 0.0))
    found = {query.name: values for query, values in measured}
    head = people * int(sums.weights.steps[1])
    assert found["co-rating weights"].tolist() == [head, 0, 0]
    assert ratings.values is not None
    rows = HeadRatings(ratings.indptr, ratings.items, ratings.values)
    assert (sums.entries(rows, np.ones(2), 0.0) == sums.bound).all()
    assert found["covariance"].tolist() == [head * sums.bound**2 >> sums.dropped_bits, 0, 0]


def test_where_one_run_ends_changes_no_bit(monkeypatch):
    rng = np.random.default_rng(0)
    domain = Domain(range(6), scale=(1, 5, 1), max_users=99, max_per_user=10)
    counts = rng.integers(1, 7, 60)
    ratings = People(
        domain,
        [f"{number:02d}" for number in range(60)],
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([np.sort(rng.permutation(6)[:count]) for count in counts]).astype(np.int32),
        rng.integers(0, 5, counts.sum()).astype(np.uint8),
    )
    sums = CovarianceSums(domain, "record", "add-remove", "l1", 2.0, 0.65, 20, 1.0, 0.0)
    people = ratings
    (_, whole), (_, weights) = summed(sums.measure(people, np.full(6, 3.3), 0.1))
    for bits in (47, 48, 50):  # 32 people a run, or fewer
        monkeypatch.setattr("hushrec.models.mcsherry_mironov.sums._KERNEL_BITS", bits)
        sizes = []

        def run(indptr, *rows, right=covariance_sums.weighted_gram, sizes=sizes, **settings):
            sizes.append(len(indptr) - 1)
            return right(indptr, *rows, **settings)

        with monkeypatch.context() as patched:
            patched.setattr(covariance_sums, "weighted_gram", run)
            (_, parts), (_, again) = summed(sums.measure(people, np.full(6, 3.3), 0.1))
        assert len(sizes) > 1
        assert sum(sizes) == 60
        assert (parts == whole).all()
        assert (again == weights).all()
