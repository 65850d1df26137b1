"""Made-up people are as many as asked, and have the shape of real ones."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import kstest, norm

from hushrec.data.synthetic import _alias_table, interactions, made_up_titles, netflix_like
from hushrec.errors import DataError


@pytest.fixture(scope="module")
def ratings():
    return netflix_like(6_000, 1_500, 400_000, seed=7)


@pytest.mark.parametrize("make", [netflix_like, interactions])
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (5, 3, 15), (5, 3, 5), (40, 30, 1000), (300, 20, 5999), (7, 9000, 4000)]
)
def test_the_size_is_as_asked_and_the_same_arguments_give_the_same(make, size):
    """``People`` refuses items that repeat or are not there."""
    made = make(*size, seed=3)
    assert (made.n_users, made.domain.n_items, made.n_entries) == size
    assert made.domain.feedback == ("interactions" if make is interactions else "ratings")
    assert made.digest() == make(*size, seed=3).digest()
    if size[2] == 1000:
        assert made.digest() != make(*size, seed=4).digest()


def test_the_domain_is_public_and_activity_and_popularity_have_long_tails(ratings):
    """The ratios that the Netflix Prize's ratings show, within the room that a small catalogue leaves."""
    domain = ratings.domain
    assert (domain.items[:2], ratings.users[0].as_py()) == (("i00000", "i00001"), "u00000")
    assert (domain.max_users, domain.scale) == (10_000, (1, 5, 1))
    assert netflix_like(20, 10, 50, seed=0).domain.max_users == 20
    per_user, per_item = ratings.counts, np.bincount(ratings.items, minlength=1_500)
    assert 1.7 < per_user.mean() / np.median(per_user) < 2.4
    assert per_user.max() > 12 * np.median(per_user)
    assert per_item.mean() / np.median(per_item) > 3
    assert np.sort(per_item)[::-1][:170].sum() > 0.5 * ratings.n_entries
    assert (per_item == 0).any()


def test_biases_and_spread_are_those_of_real_ratings(ratings):
    values, items, users = ratings.numbers(), ratings.items, ratings.user_index()
    assert 3.4 < values.mean() < 3.8
    assert 1.0 < values.std() < 1.15
    rest = values - values.mean()
    for index in (items, users):
        rest = rest - (np.bincount(index, rest) / (np.bincount(index) + 5))[index]
    assert 0.85 < np.sqrt(np.mean(rest**2)) < 0.93


def test_an_interaction_of_the_asked_rank_is_planted():
    """Where everybody rates everything, ``rank`` singular values of the rest stand out of the noise."""
    n_users, n_items = 3_000, 100
    made = netflix_like(n_users, n_items, n_users * n_items, seed=1, rank=3)
    table = made.numbers().reshape(n_users, n_items)
    rest = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    singular = np.linalg.svd(rest, compute_uv=False)
    noise_edge = rest.std() * (np.sqrt(n_users) + np.sqrt(n_items))
    assert (singular[:3] > 1.2 * noise_edge).all()
    assert singular[3] < noise_edge


def test_the_alias_table_draws_by_weight():
    weights = np.array([1.0, 2.0, 3.0, 10.0, 0.01])
    stay, other = _alias_table(weights)
    share = stay.copy()
    np.add.at(share, other, 1 - stay)
    assert np.allclose(share / len(weights), weights / weights.sum())


@pytest.mark.full
def test_the_shape_of_ten_million_ratings_and_of_numbers_below_saturation():
    """KS distance of the logarithm to a normal: right draws fail with chance 1e-6, uniform ones always."""
    counts = netflix_like(4_000, 200_000, 4_000_000, seed=2).counts
    z = (np.log(counts) - np.log(counts).mean()) / np.log(counts).std()
    assert kstest(z, norm.cdf).pvalue > 1e-6
    assert kstest(np.linspace(-1.7, 1.7, 4_000), norm.cdf).pvalue < 1e-6
    assert abs(np.log(counts).std() - 1.25) < 0.07
    made = netflix_like(69_878, 10_677, 10_000_000, seed=1)
    per_item = np.bincount(made.items, minlength=10_677)
    assert np.sort(per_item)[::-1][:2000].sum() > 0.75 * made.n_entries
    assert 2_000 < made.counts.max() < 10_677


def test_a_size_that_does_not_fit_is_refused():
    for size in ((0, 5, 0), (5, 5, 4), (5, 5, 26)):
        with pytest.raises(DataError, match="users and"):
            netflix_like(*size, seed=0)
    with pytest.raises(DataError, match="3 users and 4 items have 3 to 12 interactions, not 13"):
        interactions(3, 4, 13, 0)


def test_tastes_are_planted():
    """Items go together in more directions than the two that activity and popularity give."""

    def fourth(made):
        dense = np.zeros((made.n_users, made.domain.n_items))
        dense[made.user_index(), made.items] = 1
        dense = dense[:, np.argsort(-dense.sum(0))[:40]]
        return np.linalg.eigvalsh(np.corrcoef(dense.T))[-4]

    assert fourth(interactions(2000, 200, 60_000, 5)) > 2 * fourth(interactions(2000, 200, 60_000, 5, rank=0))


@pytest.mark.parametrize("make", [interactions, netflix_like])
def test_titles_are_the_ids_of_the_same_data(make):
    plain, titled = (make(50, 40, 300, seed=1, titles=titles) for titles in (False, True))
    columns = made_up_titles(40)
    assert titled.domain.items == tuple(columns.pop("title"))
    assert {name: list(texts) for name, texts in titled.domain.features.items()} == columns
    assert [titled.items.tolist(), titled.indptr.tolist()] == [plain.items.tolist(), plain.indptr.tolist()]
    assert plain.domain.features is None


def test_every_made_up_title_occurs_once_and_years_and_genres_are_as_a_table_has_them():
    made = made_up_titles(2_000)
    assert len(set(made["title"])) == 2_000
    assert made["title"][1600] == f"{made['title'][0]} 2"
    assert all(not set(one.split()) & set(other.split()) for one, other in pairwise(made["title"][:1600]))
    assert {int(year) for year in made["year"]} <= set(range(1950, 2020))
    assert all(kind.isalpha() for genres in made["genres"] for kind in genres.split("|"))
