"""Parts of which something can be measured, and a release that fits them."""

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError
from hushrec.evaluation.parts import require_apart, require_same_domain, rows_of
from support.releases import ranker


def test_parts_of_interactions_are_apart_or_refused():
    domain = Domain(["a", "b", "c", "d"], max_users=10)
    given = load(pl.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "b"]}), domain)
    require_apart(given.slice(0, 1), given.slice(1, 2))
    with pytest.raises(DataError, match="train and test share interactions"):
        require_apart(given, given.slice(1, 2))
    liked = Domain(["a", "b", "c", "d"], scale=(1, 5, 1), likes=4, max_users=10)
    table = pl.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "b"], "rating": [5, 5]})
    with pytest.raises(DataError, match="load both with the same domain"):
        require_apart(given.slice(0, 1), load(table, liked).slice(1, 2))


def test_rows_are_found_by_id(ratings):
    train, test = ratings({"a": {"a": 1}, "c": {"a": 1}}), ratings({"b": {"b": 1}, "c": {"b": 1}})
    np.testing.assert_array_equal(rows_of(train, test), [-1, 1])


@pytest.mark.parametrize(
    "other",
    [
        Domain(["a", "b", "d", "c"], max_users=10),
        Domain(["a", "b", "c", "d"], max_users=10, counts=3),
        Domain(["a", "b", "c", "d"], max_users=10, scale=(1, 5, 1), likes=4),
    ],
)
def test_a_release_of_another_domain_is_refused(other):
    table = pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [5]})
    plain = Domain(["a", "b", "c", "d"], max_users=10)
    require_same_domain(ranker(), load(table, plain))
    with pytest.raises(DataError, match="different catalogues or scales; load the interactions with"):
        require_same_domain(ranker(), load(table, other))
