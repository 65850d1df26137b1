"""People are the same people wherever their rows are, and only what they hold in memory differs."""

import polars as pl
import pytest

from hushrec.data.blocks import RATINGS_PER_BLOCK
from hushrec.data.domain import Domain
from hushrec.data.feedback import Interactions, Ratings
from hushrec.data.load import load
from hushrec.data.people import People, PublicFacts

KINDS = {"ratings": ({"scale": (1, 5, 1)}, Ratings), "interactions": ({}, Interactions)}


@pytest.fixture(params=list(KINDS))
def rows(request):
    declared, kind = KINDS[request.param]
    table = pl.DataFrame({"user_id": ["x", "x", "y"], "item_id": ["10", "20", "10"], "rating": [1, 2, 3]})
    loaded = load(table.with_columns(personal_epsilon=1.0), Domain(["10", "20"], max_users=9, **declared))
    assert isinstance(loaded, kind)
    return loaded


@pytest.fixture(params=["memory", "files", pytest.param("spark", marks=pytest.mark.spark)])
def people(request, rows, tmp_path):
    if request.param == "memory":
        return rows
    if request.param == "files":
        return load(rows.to_polars(), rows.domain, where=tmp_path / "blocks")
    from hushrec.data.spark.spark_feedback import SparkFeedback

    return SparkFeedback.of(request.getfixturevalue("spark"), rows)


def test_they_are_people_with_the_same_rows(rows, people):
    assert {name for name in vars(People) if not name.startswith("_")} <= {*dir(people)}
    assert (people.n_users, people.n_entries, people.has_personal_epsilon) == (2, 3, True)
    assert people.domain == rows.domain
    people.verify()
    assert len(people.digest()) == 64
    blocks = [block.to_polars() for block in people.blocks()]
    assert pl.concat(blocks).sort("user_id", "item_id").equals(rows.to_polars())
    assert sum(block.n_entries for block in people.capped(1).blocks()) == 2


def test_what_memory_holds_depends_on_where_they_are(rows, tmp_path):
    assert rows.rows_held(gathered=False) == rows.rows_held(gathered=True) == (3, 2)
    files = load(rows.to_polars(), rows.domain, where=tmp_path / "blocks")
    assert files.rows_held(gathered=False) == (RATINGS_PER_BLOCK, 2)
    assert files.rows_held(gathered=True) == (3, 2)
    assert (rows.sums_only, files.sums_only) == (False, False)


def test_a_table_is_no_people_and_facts_begin_plain(rows):
    assert not hasattr(rows.to_polars(), "facts")
    assert PublicFacts(rows.domain) == (rows.domain, False, False)
