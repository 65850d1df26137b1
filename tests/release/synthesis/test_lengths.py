"""Numbers of items of synthetic people."""

import numpy as np
import pytest

from hushrec.release.synthesis.moments import Lengths, lengths_with, lengths_with_root


def test_every_number_of_people_has_the_same_distribution():
    lengths = Lengths(40.0, 1000)
    few, many = lengths.quantiles(500), lengths.quantiles(100_000)
    assert few.mean() == pytest.approx(many.mean(), rel=0.03)
    assert np.quantile(few, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(many, [0.1, 0.5, 0.9]), rel=0.03)


def test_they_stay_within_the_catalogue():
    numbers = Lengths(40.0, 50).quantiles(2000)
    assert (numbers.min(), numbers.max()) == (1, 50)
    assert Lengths(0.1, 50).quantiles(10).min() == 1


@pytest.mark.parametrize("mean", [2.0, 30.0, 165.0])
def test_lengths_have_the_mean_that_is_asked_for(mean):
    assert lengths_with(mean, np.inf, 4000).mean == pytest.approx(mean, rel=1e-6)
    assert lengths_with(mean, np.inf, 4000).quantiles(50_000).mean() == pytest.approx(mean, rel=0.01)


def test_lengths_have_the_capped_mean_of_item_counts():
    lengths = lengths_with(25.0, 30.0, 4000)
    numbers = lengths.quantiles(50_000)
    counted = np.minimum(numbers, np.sqrt(30.0 * numbers))
    assert counted.mean() == pytest.approx(25.0, rel=0.01)
    assert numbers.mean() > 30


def test_lengths_have_the_mean_of_roots_that_is_asked_for():
    numbers = lengths_with_root(0.11, 4000).quantiles(50_000)
    assert np.sqrt(numbers).mean() / numbers.mean() == pytest.approx(0.11, rel=0.01)


def test_a_mean_beyond_the_catalogue_gives_the_most_there_is():
    assert lengths_with(1e6, np.inf, 20).quantiles(5).max() == 10
