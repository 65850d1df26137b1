"""Triangles that do not fit where the people are: the same bits, band by band, in more passes."""

import numpy as np
import pytest

from hushrec.data.synthetic import interactions, netflix_like
from hushrec.estimation.head import Head
from hushrec.kernels.csr import packed_size
from hushrec.models.lists.sums import ItemWeights, PairSums
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.sums import population
from hushrec.sums.engine import Engine
from hushrec.sums.population import Population
from support.sums import summed

N = 30


class Small(Engine):
    """Remembers how many integers each pass summed."""

    most_cells, passes = 200, []

    def map(self, function):
        made = [function(block) for block in self._read()]
        return Small(lambda: made)

    def total(self, add, *shapes):
        self.passes.append(sum(int(np.prod(shape)) for shape in shapes))
        return super().total(add, *shapes)


def of_covariance():
    ratings = netflix_like(80, N, 700, seed=2)
    more = {"clip": 0.65, "limit": 2.0, "reg": 7, "contribution_cap": 4.0, "offset": 5.0, "threads": 1}
    sums = CovarianceSums(ratings.domain, "user", "add-remove", "l2", **more)
    return [values for _, values in summed(sums.measure(Population(ratings), np.full(N, 3.0), 0.1))]


def of_pairs():
    given = interactions(80, N, 700, seed=2)
    sums = PairSums(N, "user")
    lens = ItemWeights(Head(N, np.arange(N)), np.linspace(0.1, 1, N), np.linspace(0, 1, N))
    return [values for _, values in sums.measure(Population(given), lens)]


@pytest.fixture(params=[of_covariance, of_pairs])
def measure(request):
    return request.param


def in_little(monkeypatch):
    monkeypatch.setattr(population, "engine_of", lambda people: Small(people.blocks))
    monkeypatch.setattr(Small, "passes", [])


def same(measure, whole):
    return all(map(np.array_equal, measure(), whole))


def test_bands_have_the_same_bits_and_no_pass_more_than_the_engine_holds(measure, monkeypatch):
    whole = measure()
    in_little(monkeypatch)
    assert same(measure, whole)
    assert len(Small.passes) > 2
    assert max(Small.passes) <= 200 + N + 2  # and what every pass computes anew
    assert 2 * packed_size(N) > 200
