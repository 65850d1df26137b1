import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import holdout
from hushrec.errors import ConfigError, DataError, ReleaseError
from hushrec.evaluation.protocol import DEFAULT_METRICS, evaluate, predictions, references
from support.releases import ranker


def test_who_is_absent_from_train_gets_the_item_effects(release, ratings):
    train, test = ratings({"other": {"a": 3}}), ratings({"new": {"a": 2, "c": 5}})
    assert predictions(release, train=train, test=test) == pytest.approx([2, 4])
    result = evaluate(release, train=train, test=test)
    assert result["rmse"] == pytest.approx(np.sqrt(1 / 2))
    assert result["mae"] == pytest.approx(1 / 2)


def test_own_training_ratings_are_folded_in_and_predictions_clamped(release, ratings):
    train = ratings({"low": {"b": 1, "c": 2}, "high": {"a": 4, "b": 5}})
    test = ratings({"low": {"a": 1, "d": 3}, "high": {"d": 5}})
    # Two residuals of ∓2 with variance 1/2 against a prior of variance 1: level ∓2 · 4/(4 + 1) = ∓1.6.
    assert predictions(release, train=train, test=test) == pytest.approx([5, 1, 3.4])


def test_nothing_of_the_test_part_is_folded_in(release, ratings):
    """The same predictions whatever the answers are, and a planted peek is refused."""
    train = ratings({"u": {"a": 3}})
    one, other = ratings({"u": {"b": 1}}), ratings({"u": {"b": 5}})
    assert predictions(release, train=train, test=one) == predictions(release, train=train, test=other)
    peeking = ratings({"u": {"a": 3, "b": 5}})
    with pytest.raises(DataError, match="share ratings"):
        predictions(release, train=peeking, test=other)


@pytest.fixture(scope="module")
def checkerboard():
    """Even users give even items 5 and odd ones 1, odd users the reverse: one factor explains all of it."""
    users, items = 40, 30
    domain = Domain(range(items), scale=(1, 5, 1), max_users=100)
    rows = {
        "user_id": [f"u{u:02}" for u in range(users) for _ in range(items)],
        "item_id": [str(i) for _ in range(users) for i in range(items)],
        "rating": [5 if (u + i) % 2 == 0 else 1 for u in range(users) for i in range(items)],
    }
    import polars as pl

    return holdout(hr.load(pl.DataFrame(rows), domain), 0.2, seed=0)


def test_a_world_whose_answer_is_known(checkerboard):
    train, test = checkerboard
    effects = evaluate(hr.baseline(train, hr.GlobalEffects()), train=train, test=test)
    factors = evaluate(hr.baseline(train, hr.CovarianceSVD(rank=1)), train=train, test=test)
    assert effects["rmse"] == pytest.approx(2, abs=0.15)  # 1s and 5s, predicted by their mean
    assert factors["rmse"] < 0.5


def test_evaluation_is_a_mapping_that_says_it_is_not_private(release, ratings):
    result = evaluate(
        release, train=ratings({}), test=ratings({"u": {"a": 2}, "v": {"a": 3}}), metrics=["mae"]
    )
    assert dict(result) == {"mae": 0.5}
    assert len(result) == 1
    assert str(result).startswith("NOT PRIVATE, not for publication")
    assert "mae       0.5000 ± 0.5000" in str(result)
    stored = json.loads(json.dumps(result.to_dict()))
    assert next(iter(stored)) == "warning"
    assert stored["scores"] == [{"name": "Planted", "metric": "mae", "value": 0.5, "error": 0.5}]
    assert (stored["n_users"], stored["n_held_out"], stored["n_ranked"]) == (2, 2, 0)


def test_what_cannot_be_evaluated_is_refused_with_the_fix(release, ratings):
    some = ratings({"u": {"a": 2}})
    other = Domain(["a", "b", "c", "e"], scale=(1, 5, 1), max_users=10)
    halves = Domain(["a", "b", "c", "d"], scale=(0, 5, 1), max_users=10)
    with pytest.raises(DataError, match="nothing of a known item"):
        evaluate(release, train=some, test=ratings({}))
    with pytest.raises(DataError, match="load both with the same domain"):
        evaluate(release, train=ratings({}, other), test=some)
    for domain in (other, halves):
        with pytest.raises(DataError, match="release's domain"):
            evaluate(release, train=ratings({}, domain), test=ratings({"u": {"a": 2}}, domain))
    with pytest.raises(ConfigError, match="ndcg"):
        evaluate(release, train=ratings({}), test=some, metrics=["ndcg"])


# -- rankings ---------------------------------------------------------------------------------------------

CLICKS = Domain(["a", "b", "c", "d"], max_users=10)


def clicks(rows, domain=CLICKS):
    pairs = [(user, item) for user, items in rows.items() for item in items]
    return load(pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row"), domain)


def test_interactions_are_ranked_by_default():
    """Ranked a, b, c, d. u finds b first, as a is known; v finds d at the third place; w has nothing."""
    train, test = clicks({"u": "a", "v": "a", "w": "a"}), clicks({"u": "b", "v": "d"})
    found = evaluate(ranker(), train=train, test=test)
    assert tuple(found) == DEFAULT_METRICS["interactions"] == ("recall@20", "recall@50", "ndcg@100")
    assert found["ndcg@100"] == pytest.approx((1 + 1 / np.log2(4)) / 2)
    assert (found.n_users, found.n_held_out, found.n_ranked, found.n_left_out) == (2, 2, 2, 1)
    few = evaluate(ranker(), train=train, test=test, metrics=("mrr@3", "recall@1", "coverage@2"))
    assert dict(few) == {"mrr@3": (1 + 1 / 3) / 2, "recall@1": 0.5, "coverage@2": 0.5}
    assert few.scores["recall@1"].error == pytest.approx(0.5)
    assert few.to_dict()["scores"][2]["error"] is None
    assert "2 people; 1 have nothing to be found" in str(few)
    assert str(few).startswith("NOT PRIVATE, not for publication")


def test_what_people_had_before_is_not_to_be_found_again():
    """Next week's clicks: u again gives a, new people come, and nobody had d."""
    train, test = clicks({"u": "ac", "v": "a"}), clicks({"u": "ab", "v": "d", "new": "ab"})
    found = evaluate(ranker(), train=train, test=test, metrics=["recall@1"])
    assert dict(found) == dict(
        evaluate(ranker(), train=train, test=clicks({"u": "b", "v": "d"}), metrics=found)
    )
    popular = references(found, train=train, test=test)["popularity"]
    assert popular["recall@1"].value == found["recall@1"] == 0.5
    assert (found.n_users, found.n_held_out, found.n_repeats, found.n_new) == (3, 4, 1, 1)
    assert "1 more, which their people have in the training part" in str(found)
    assert "2 people; 1 are new and fold in nothing, 0 have nothing to be found" in str(found)
    assert "2 of what is to be found, which nobody had in training" in str(found)


def test_ratings_are_predicted_and_ranked_at_once(release, ratings):
    """Item effects 2, 3, 4, 5: d is the first place, c the second."""
    train, test = (
        ratings({"u": {"a": 3}, "v": {"d": 5}}),
        ratings({"u": {"c": 5, "d": 1}, "v": {"b": 4, "a": 2}}),
    )
    found = evaluate(release, train=train, test=test, metrics=("recall@1", "rmse", "recall@2"), likes=4)
    assert tuple(found) == ("recall@1", "rmse", "recall@2")
    assert (found["recall@1"], found["recall@2"]) == (0, 1)
    assert found["rmse"] == evaluate(release, train=train, test=test)["rmse"]
    assert found.predicted.shape == (4,)


def test_metrics_that_do_not_fit_are_refused_with_the_fix(release, ratings):
    train, test = clicks({"u": "a"}), clicks({"u": "b"})
    rated = {"train": ratings({}), "test": ratings({"u": {"a": 2}})}
    with pytest.raises(ConfigError, match=r"rmse is an error of predicted ratings.* such as recall@20"):
        evaluate(ranker(), train=train, test=test, metrics=["rmse"])
    with pytest.raises(ConfigError, match="recall@20 needs to know which ratings are relevant; give likes"):
        evaluate(release, **rated, metrics=["rmse", "recall@20"])
    with pytest.raises(ConfigError, match="likes and fitted are for rankings; leave them out"):
        evaluate(release, **rated, likes=4)
    with pytest.raises(ConfigError, match="leave out likes"):
        evaluate(ranker(), train=train, test=test, likes=4)
    with pytest.raises(ConfigError, match=r"likes = 4.5 is not on the scale"):
        evaluate(release, **rated, metrics=["recall@2"], likes=4.5)
    with pytest.raises(DataError, match="no test rating is a like"):
        evaluate(release, **rated, metrics=["recall@2"], likes=4)
    with pytest.raises(
        DataError, match="this release works on interactions, and this domain declares ratings"
    ):
        evaluate(ranker(), **rated)
    with pytest.raises(
        DataError, match="this release works on ratings, and this domain declares interactions"
    ):
        evaluate(release, train=train, test=test)
    with pytest.raises(ReleaseError, match="it ranks items and predicts no ratings; call recommend"):
        predictions(ranker(), **rated)
    with pytest.raises(DataError, match="that its people did not have before"):
        evaluate(ranker(), train=test, test=test)


# -- a release that lists people --------------------------------------------------------------------------


@pytest.fixture
def listing(release):
    """Two people listed, with effects 1 and −1, and tastes that only item a sees."""
    tensors = {
        **release.tensors,
        "item_factors": np.array([[0.5], [0], [0], [0]], np.float32),
        "user_effects": np.array([1, -1], np.float32),
        "user_factors": np.array([[1], [-1]], np.float32),
    }
    return dataclasses.replace(release, kind="factors and people", tensors=tensors, users=("v", "u"))


def test_listed_people_are_predicted_by_their_vectors_and_others_fold_in(listing, ratings):
    train = ratings({"low": {"b": 1, "c": 2}, "u": {"b": 5}, "v": {"b": 1}})
    test = ratings({"low": {"d": 3}, "new": {"b": 2}, "u": {"a": 1, "d": 2}, "v": {"a": 1, "d": 5}})
    found = predictions(listing, train=train, test=test)
    assert found == pytest.approx([3.4, 3, 1, 4, 3.5, 5])  # clamped: u's a is 0.5, v's d is 6
