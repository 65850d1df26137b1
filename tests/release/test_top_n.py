"""Best items for many users at once: exactly the list that each user would get alone."""

from dataclasses import replace

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import ConfigError
from hushrec.release import top_n
from hushrec.release.predictors import factor_predictor
from hushrec.release.predictors.neighbours import NeighbourPredictor
from hushrec.release.predictors.scores import BlockScores, Rows
from hushrec.release.top_n import top_n as ranked
from support.releases import release as by_hand

USERS, ITEMS = 40, 90
MODELS = {
    "factors": hr.CovarianceSVD(rank=5),
    "no factors": hr.GlobalEffects(),
    "factors and people": hr.MatrixFactorization(rank=4, epochs=2),
    "neighbours": hr.CovarianceKNN(),
    "people's rows": hr.UserKNN(n_neighbours=3),
    "item neighbours": hr.ItemKNN(n_neighbours=3),
    "item scores": hr.Popularity(),
    "linear items": hr.PrivateEASE(rank=4),
}


@pytest.fixture(scope="module")
def releases():
    """A release of every model, made from other users."""
    rated, given = netflix_like(200, ITEMS, 6000, 1), interactions(200, ITEMS, 6000, 1)
    return {
        kind: hr.baseline(given if m.feedback == "interactions" else rated, m) for kind, m in MODELS.items()
    }


@pytest.fixture(scope="module")
def rows():
    """What users gave: nothing, everything, all but three items, and anything between; never counted."""
    rng = np.random.default_rng(0)
    sizes = [0, ITEMS, ITEMS - 3, 1, 0, *rng.integers(0, ITEMS, USERS - 5)]
    items = [np.sort(rng.choice(ITEMS, size, replace=False)) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, np.concatenate(items).astype(np.int32), rng.integers(1, 6, indptr[-1]).astype(float))


def together(release, rows, n, **more):
    blocks = [*ranked(release, rows, n, **more)]
    return [np.concatenate([getattr(block, name) for block in blocks]) for name in ("items", "scores")]


def alone(release, rows, user, n):
    """The list of one user by the client, as positions and scores, padded."""
    own = slice(rows.indptr[user], rows.indptr[user + 1])
    names = [release.items[i] for i in rows.items[own]]
    values = dict(zip(names, rows.values[own], strict=True))
    listed = hr.Client(release).recommend({*names} if release.feedback == "interactions" else values, n)
    missing = n - len(listed)
    items = [release.items.index(item) for item, *_ in listed] + [-1] * missing
    return items, [row.score for row in listed] + [-np.inf] * missing


@pytest.mark.parametrize("n", [7, ITEMS + 5])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.full
def test_many_users_get_what_each_would_get_alone(releases, rows, kind, n):
    release = releases[kind]
    if release.scale is None:
        rows = rows._replace(values=np.ones(len(rows.items)))
    items, scores = together(release, rows, n)
    for user in range(USERS):
        expected = alone(release, rows, user, n)
        assert items[user].tolist() == expected[0]
        assert scores[user].tolist() == expected[1]


def large(n_items=3000, rank=12, ties=0.5, seed=0):
    """A release of many items, of which a share are copies of others, so that scores are equal."""
    rng = np.random.default_rng(seed)
    copies = np.where(rng.random(n_items) < ties, rng.integers(0, 40, n_items), np.arange(n_items))
    tensors = {
        "item_effects": rng.uniform(2, 4, n_items)[copies],
        "item_noise": rng.uniform(0.5, 1.5, n_items),
        "item_popularity": rng.uniform(1, 20, n_items)[copies],
        "item_factors": rng.standard_normal((n_items, rank))[copies],
    }
    made = by_hand("factors", n=n_items, rank=rank)
    return replace(made, tensors={name: array.astype(np.float32) for name, array in tensors.items()})


def given(n_items, n_users=60, seed=3):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 150, n_users)
    items = [np.sort(rng.choice(n_items, size, replace=False)) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, np.concatenate(items).astype(np.int32), rng.integers(1, 6, indptr[-1]).astype(float))


@pytest.mark.parametrize("n", [1, 20, 400])
def test_ties_are_in_the_order_of_the_catalogue(n):
    release = large()
    mine = given(3000)
    items, scores = together(release, mine, n)
    same = (np.diff(scores, axis=1) == 0) & np.isfinite(scores[:, 1:])
    assert n == 1 or same.mean() > 0.1
    assert (np.diff(items, axis=1)[same] > 0).all()
    for user in range(0, 60, 7):
        assert items[user].tolist() == alone(release, mine, user, n)[0]


def test_blocks_change_no_bit(monkeypatch):
    release, mine = large(ties=0.2), given(3000)
    whole = together(release, mine, 30)
    for users in (1, 7, 59, 60):
        monkeypatch.setattr(top_n, "_SCORES", users * 3000)
        monkeypatch.setattr(factor_predictor, "_CELLS", 3 * 13**2)  # three users are solved for at once
        for found, expected in zip(together(release, mine, 30), whole, strict=True):
            assert (found == expected).all()


def test_nearly_equal_scores_are_told_apart():
    """Single precision cannot order these scores; the exact ones can."""
    n_items = 2000
    release = large(n_items=n_items, ties=0)
    order = np.random.default_rng(0).permutation(n_items)
    tensors = dict(release.tensors)
    tensors["item_factors"] = np.zeros((n_items, 2), dtype=np.float32)
    tensors["item_factors"][:, 0] = 1000
    tensors["item_factors"][order, 1] = np.arange(n_items) * np.float32(1e-7)
    tensors["item_popularity"] = np.ones(n_items, dtype=np.float32)
    release = replace(release, tensors=tensors)
    users = Rows(np.array([0, 2]), np.sort(order[:2]).astype(np.int32), np.array([5.0, 5.0]))
    items, scores = together(release, users, 50)
    assert (np.diff(scores[0]) <= 0).all()
    assert items[0].tolist() == alone(release, users, 0, 50)[0]
    single = (release.tensors["item_factors"] @ np.ones(2, np.float32)).astype(np.float32)
    assert len(np.unique(single)) < n_items / 10


@pytest.mark.parametrize("n", [3, 25])
@pytest.mark.parametrize("kind", ["factors", "neighbours", "item scores", "linear items"])
def test_items_that_are_not_allowed_are_not_listed(releases, rows, kind, n):
    allowed = np.arange(ITEMS) % 2 == 0
    items, scores = together(releases[kind], rows, n, allowed=allowed)
    every, values = together(releases[kind], rows, ITEMS)
    for user in range(USERS):
        kept = (every[user] >= 0) & allowed[every[user]]
        expected = every[user][kept][:n]
        assert items[user][: len(expected)].tolist() == expected.tolist()
        assert scores[user][: len(expected)].tolist() == values[user][kept][:n].tolist()
        assert (items[user][len(expected) :] == -1).all()
        assert (scores[user][len(expected) :] == -np.inf).all()


@pytest.mark.parametrize("kind", ["factors", "people's rows"])
def test_what_else_was_seen_is_not_listed(releases, rows, kind):
    none = Rows(np.zeros(USERS + 1, dtype=np.int64), rows.items[:0], rows.values[:0])
    items, _ = together(releases[kind], none, ITEMS, seen=rows)
    every, _ = together(releases[kind], none, ITEMS)
    for user in range(USERS):
        own = rows.items[rows.indptr[user] : rows.indptr[user + 1]]
        expected = every[user][~np.isin(every[user], own)]
        assert items[user][: len(expected)].tolist() == expected.tolist()
        assert (items[user][len(expected) :] == -1).all()


def test_a_list_has_an_item(releases, rows):
    with pytest.raises(ConfigError, match="n must be a whole number, 1 or more"):
        next(ranked(releases["factors"], rows, 0))


@pytest.mark.parametrize(("n", "n_items"), [(1, 10), (1, 5000), (3, 100), (10, 81), (100, 5000), (7, 3001)])
def test_the_floor_keeps_the_best_and_few_others(n, n_items):
    rng = np.random.default_rng(n)
    rough = rng.standard_normal((50, n_items)).astype(np.float32)
    rough[:, rng.integers(0, n_items, n_items // 3)] = -np.inf
    kept = (rough >= top_n._floor(rough, n, np.zeros(50))[:, None]).sum(axis=1)
    assert (kept >= n).all()
    assert kept.mean() < 1.3 * n + 2


def test_rough_scores_that_are_wrong_within_their_bound_change_nothing():
    rng = np.random.default_rng(0)
    exact = np.round(rng.standard_normal((30, 400)), 2)
    expected = np.argsort(-exact, axis=1, kind="stable")[:, :10]
    for error in (0.0, 0.01, 0.3, 100.0):
        rough = exact + rng.uniform(-error, error, exact.shape)
        block = BlockScores(rough, np.full(30, error), lambda users, items: exact[users, items])
        assert (top_n._best(block, 10).items == expected).all()


def alike(n_items, rank, spread, seed=0):
    """A release of nearest neighbours, some of whose items are copies of others."""
    rng = np.random.default_rng(seed)
    copies = np.where(rng.random(n_items) < 0.2, rng.integers(0, 40, n_items), np.arange(n_items))
    tensors = {
        "item_effects": rng.uniform(2, 4, n_items)[copies],
        "item_noise": rng.uniform(0.5, 1.5, n_items),
        "item_popularity": rng.lognormal(3, spread, n_items)[copies],
        "item_factors": rng.standard_normal((n_items, rank))[copies] / 2,
        "similarity_factors": rng.standard_normal((n_items, rank))[copies],
    }
    made = by_hand("neighbours", n=n_items, rank=rank)
    return replace(made, tensors={name: array.astype(np.float32) for name, array in tensors.items()})


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_neighbours_of_few_items_are_looked_for_and_lists_are_whole(monkeypatch, n, spread):
    """What bounds leave out is on no list; a twentieth of the bound would lose items."""
    release, mine, asked = alike(3000, 6, spread), given(3000), []
    monkeypatch.setattr(top_n, "_FIRST", 4)
    rank, most = NeighbourPredictor.rank, NeighbourPredictor.at_most

    def counted(self, rated, ratings, targets):
        asked.append(len(targets))
        return rank(self, rated, ratings, targets)

    whole = [alone(release, mine, user, n) for user in range(mine.n_users)]
    monkeypatch.setattr(NeighbourPredictor, "rank", counted)
    items, scores = together(release, mine, n)
    assert items.tolist() == [row for row, _ in whole]
    assert scores.tolist() == [row for _, row in whole]
    assert spread < 1 or sum(asked) < 0.5 * 3000 * mine.n_users
    monkeypatch.setattr(NeighbourPredictor, "at_most", lambda *of: shrunk(most, *of))
    assert together(release, mine, n)[0].tolist() != items.tolist()


def shrunk(most, predictor, rated, ratings):
    """A twentieth of what taste may add."""
    alone = np.log(predictor._popularity)
    return alone + (most(predictor, rated, ratings) - alone) / 20


@pytest.mark.parametrize("noise", [1e-3, 1.0])
def test_no_score_exceeds_its_bound(noise):
    """Of items that a user likes as much as others dislike them, whose factors all point the same way."""
    release, mine = alike(400, 1, 1.0), given(400, n_users=20)
    noisy = {**release.tensors, "item_noise": np.full(400, noise, dtype=np.float32)}
    predictor = NeighbourPredictor(replace(release, tensors=noisy))
    ratios = []
    for user in range(mine.n_users):
        own = slice(mine.indptr[user], mine.indptr[user + 1])
        rated, ratings = mine.items[own].astype(np.int64), mine.values[own]
        scores = predictor.rank(rated, ratings, np.arange(400))
        most = predictor.at_most(rated, ratings)
        assert (scores <= most).all()
        alone = np.log(predictor._popularity)
        ratios.append(((scores - alone) / (most - alone + 1e-300)).max())
    assert max(ratios) > 0.1


def test_what_cannot_be_solved_to_a_millionth_has_no_bound():
    release = alike(400, 1, 1.0)
    noisy = {**release.tensors, "item_noise": np.full(400, 1e-9, dtype=np.float32)}
    predictor = NeighbourPredictor(replace(release, tensors=noisy))
    assert predictor.at_most(np.arange(30), np.full(30, 4.0)).min() == np.inf
