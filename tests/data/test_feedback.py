"""What ratings and interactions share: checked rows, parts of them, and a kind that others may require."""

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.feedback import Interactions, Ratings
from hushrec.data.load import load
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.data.split import holdout, kfold, latest
from hushrec.errors import DataError

KINDS = {
    "ratings": {"scale": (1, 5, 1)},
    "likes": {"scale": (1, 5, 1), "likes": 3},
    "interactions": {},
    "counts": {"counts": 9},
}


@pytest.fixture(params=list(KINDS))
def whole(request):
    rng = np.random.default_rng(7)
    table = pl.DataFrame(
        {
            "user_id": rng.integers(0, 20, 400),
            "item_id": rng.integers(0, 30, 400),
            "rating": rng.integers(1, 6, 400),
            "count": rng.integers(1, 9, 400),
            "timestamp": rng.integers(0, 99, 400),
            "personal_epsilon": 1.5,
        }
    )
    return load(table, Domain(range(30), max_users=50, max_per_user=5, **KINDS[request.param]))


def rows(feedback):
    return feedback.to_polars().rows()


def test_every_kind_is_what_its_domain_declares(whole):
    assert whole.domain.feedback == whole.KIND
    assert repr(whole) == f"{type(whole).__name__}({whole.domain!r}, private)"
    assert [block is whole for block in whole.blocks()] == [True]


def test_a_selection_is_the_rows_it_names(whole):
    mask = np.random.default_rng(0).random(len(whole.items)) < 0.3
    part = whole.select(mask)
    assert type(part) is type(whole)
    assert rows(part) == [row for row, keep in zip(rows(whole), mask, strict=True) if keep]
    assert part.personal_epsilon.shape == (part.n_users,)
    with pytest.raises(DataError, match=f"one boolean for each of the {whole.KIND}"):
        whole.select(mask[1:])


def test_slices_make_up_the_whole(whole):
    parts = [whole.slice(0, 3), whole.slice(3, 3), whole.slice(3, whole.n_users)]
    assert {type(part) for part in parts} == {type(whole)}
    assert [row for part in parts for row in rows(part)] == rows(whole)
    with pytest.raises(DataError, match="from one user to a later one"):
        whole.slice(2, 1)


def test_a_cap_keeps_rows_of_the_whole(whole):
    capped = whole.capped(4)
    assert capped.counts.tolist() == np.minimum(whole.counts, 4).tolist()
    assert set(rows(capped)) <= set(rows(whole))
    assert capped.capped(4) is capped


def test_splits_divide_either_kind(whole):
    for train, test in (holdout(whole, 0.2, 1), latest(whole, 2), *kfold(whole, 3, 1)):
        assert type(train) is type(test) is type(whole)
        assert sorted(rows(train) + rows(test)) == sorted(rows(whole))
        assert len(test.items)


def test_what_one_needs_is_given_or_refused(whole):
    known, other = (Ratings, Interactions) if whole.KIND == "ratings" else (Interactions, Ratings)
    assert known.of(whole, by="evaluate") is whole
    with pytest.raises(
        DataError, match=f"evaluate works on {other.KIND}, and this domain declares {known.KIND}"
    ):
        other.of(whole, by="evaluate")


def test_rows_of_another_kind_are_refused(whole):
    other = Domain(
        whole.domain.items, max_users=50, **KINDS["ratings" if whole.KIND != "ratings" else "likes"]
    )
    with pytest.raises(DataError, match="this domain declares"):
        type(whole)(other, whole.users, whole.indptr, whole.items, getattr(whole, whole.VALUES))


@pytest.mark.parametrize(
    ("indptr", "items"),
    [([0, 2], [0]), ([0, 0, 1], [0]), ([1, 2], [0, 1]), ([], []), ([0, 1], [3]), ([0, 2], [1, 0])],
)
def test_arrays_that_do_not_fit_are_refused(indptr, items):
    """As for ratings (test_ratings), which have their values checked too."""
    domain = Domain(["a", "b", "007"], max_users=3)
    with pytest.raises(DataError, match="not compressed rows"):
        Interactions(domain, pl.Series(["x"]), np.array(indptr), np.array(items))


@pytest.mark.parametrize(
    "users",
    [
        ["a", "a"],
        ["b", "a"],
        ["a", None],
        pl.Series(["a", "b"], dtype=pl.Categorical),
        [1, 2],
        ["\uffff", "\U0001f600", "\uffff"],
        ["\U0001f600", "\uffff"],  # in ascending order of UTF-16, not of UTF-8
    ],
)
@pytest.mark.parametrize("kind", [Ratings, Interactions])
def test_a_person_under_two_rows_is_refused(kind, users):
    """They would count twice, under a Δ of once."""
    users = pl.Series(users)
    n = len(users)
    domain = Domain(["a"], max_users=3, **KINDS["ratings" if kind is Ratings else "likes"])
    values = np.zeros(n, np.uint8) if kind is Ratings else None
    with pytest.raises(DataError, match="not strings in strictly ascending order") as refused:
        kind(domain, users, np.arange(n + 1), np.zeros(n, np.int32), values)
    assert "\U0001f600" not in str(refused.value)
    right = pl.Series(["A", "Z", "a", "\u00e9", "\uffff", "\U0001f600"])  # by UTF-8
    values = np.zeros(6, np.uint8) if kind is Ratings else None
    assert kind(domain, right, np.arange(7), np.zeros(6, np.int32), values).n_users == 6


def test_a_person_in_two_tables_is_refused(whole, tmp_path):
    """Each table by itself is right."""
    parts = [whole.slice(0, 3), whole.slice(2, whole.n_users)]
    for send in (
        lambda: SparkFeedback.of(None, parts),
        lambda: SparkFeedback.of(None, [whole, whole]),
        lambda: Blocks.write(parts, tmp_path / "blocks"),
    ):
        with pytest.raises(DataError, match="the same person is in two of the ratings"):
            send()


def test_models_of_ratings_refuse_interactions_before_anything_is_charged(whole, tmp_path):
    if whole.KIND == "ratings":
        return
    with pytest.raises(DataError, match="UserKNN works on ratings, and this domain declares interactions"):
        hr.baseline(whole, hr.UserKNN())
    budget = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)
    with pytest.raises(
        DataError, match=r"CovarianceSVD works on ratings, .*choose PrivateEASE \(--model private-ease\)"
    ):
        hr.fit(whole, hr.CovarianceSVD(), budget, ledger=ledger)
    assert not ledger.state().charges
