"""Reproductions say NOT PRIVATE, whatever they cost; and no road of hushrec charges for a published form."""

import math

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.release.artefact import Release
from lab import published
from lab.paper import REPRODUCED

SHORT = {"rank": 2, "epochs": 2}
CELLS = hr.Budget(epsilon=40.0, delta=0.0, unit="user", adjacency="replace")
SLOTS = CELLS.model_copy(update={"adjacency": "replace-items"})
METHODS = [
    (published.DuResponse(), CELLS),
    (
        published.DuRepresentatives(
            keep_probability=0.5, group_probability=0.5, threshold=3.0, groups="ratings"
        ),
        SLOTS,
    ),
]


def short(kind):
    if kind is published.LiuPosterior:
        return kind(rank=2, chain={"chains": 2, "epochs": 10})
    return kind(**{name: value for name, value in SHORT.items() if name in kind.model_fields})


@pytest.fixture(scope="module")
def small():
    made = hr.synthetic.netflix_like(20, 6, 60, 1)
    frame = made.domain.model_copy(update={"users": tuple(made.users.to_pylist())})
    return hr.load(made.table(), frame)


@pytest.mark.parametrize("kind", published.MODELS)
def test_a_reproduction_is_never_private_and_has_one_release_for_one_seed(small, budget, kind):
    for unit, adjacency in sorted(kind.supports):
        form, spent = short(kind), budget(2.0, unit, adjacency)
        made = published.fit(small, form, spent, 1)
        said = made.statement
        assert not said.private
        assert said.caveats == (REPRODUCED(),)
        assert (said.epsilon, said.unit, said.adjacency, said.ledger) == (math.inf, unit, adjacency, {})
        assert said.model == kind.__name__
        assert Release.from_bytes(made.to_bytes()).statement == said
        assert published.fit(small, form, spent, 1).to_bytes() == made.to_bytes()
        assert published.fit(small, form, spent, 2).to_bytes() != made.to_bytes()


@pytest.mark.parametrize("kind", published.MODELS)
def test_no_ledger_and_no_seed_of_hushrec_takes_a_published_form(small, budget, tmp_path, kind):
    spent = budget(2.0, *min(kind.supports))
    ledger = hr.Ledger.create(tmp_path / "ledger.db", spent)
    for fit, road in ((hr.fit, {"ledger": ledger}), (hr.testing.fit, {"entropy": hr.testing.Seeded(1)})):
        with pytest.raises(BudgetUnsupported, match="is what a paper prints, and no ledger is charged"):
            fit(small, short(kind), spent, **road)
    with pytest.raises(BudgetUnsupported, match=r"reproduce it with lab\.published"):
        hr.plan(small.domain, short(kind), spent)
    assert ledger.state().charges == ()


@pytest.mark.parametrize(("method", "spent"), METHODS, ids=lambda given: type(given).__name__)
def test_nor_does_it_take_a_published_method(small, tmp_path, method, spent):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", spent)
    seeded = {"entropy": hr.testing.Seeded(1)}
    for verb, road in ((hr.randomize, {"ledger": ledger}), (hr.testing.randomize, seeded)):
        with pytest.raises(BudgetUnsupported, match="is what a paper prints"):
            verb(small, method, spent, **road)
    assert ledger.state().charges == ()


@pytest.mark.parametrize(("method", "spent"), METHODS, ids=lambda given: type(given).__name__)
def test_released_rows_are_never_private_and_have_one_owner_each(small, tmp_path, method, spent):
    made = published.randomize(small, method, spent, 1)
    said = made.data.statement
    assert said.caveats == (REPRODUCED(),)
    assert str(said).startswith("NOT PRIVATE: this reproduces a paper")
    assert (said.epsilon, said.local) == (math.inf, None)
    assert hr.ReleasedData.open(made.data.save(tmp_path / "d.parquet")).statement == said
    listed = made.rows[made.rows >= 0]
    np.testing.assert_array_equal(np.sort(listed), np.arange(made.data.ratings.n_users))
    again = published.randomize(small, method, spent, 1)
    np.testing.assert_array_equal(again.data.ratings.items, made.data.ratings.items)


def test_people_are_capped_where_they_are_protected(small, budget):
    """As by hushrec: at most ``max_per_user`` ratings of each, unless single ratings are protected."""
    frame = small.domain.model_copy(update={"max_per_user": 1})
    few = hr.People(frame, small.users, small.indptr, small.items, small.values)
    one = few.capped(1)
    form = published.McSherryEffects()
    for unit, same in (("user", True), ("record", False)):
        made, of_one = (published.fit(given, form, budget(2.0, unit), 1) for given in (few, one))
        equal = made.tensors["item_effects"] == of_one.tensors["item_effects"]
        assert bool(equal.all()) == same


def test_per_user_epsilon_is_in_no_paper(budget):
    domain = hr.Domain(range(3), scale=(1, 5, 1), max_users=9, personal_epsilon={"low": 1.0})
    rows = {
        "user_id": ["a", "b"],
        "item_id": ["0", "1"],
        "rating": [1, 2],
        "personal_epsilon": ["low", "low"],
    }

    asking = hr.load(pl.DataFrame(rows), domain)
    with pytest.raises(BudgetUnsupported, match="drop personal_epsilon"):
        published.fit(asking, published.McSherryEffects(), budget(2.0), 1)
