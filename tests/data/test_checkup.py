"""A source is checked as it is loaded, and nothing of it leaves but for the curator."""

import json

import polars as pl
import pytest

import hushrec as hr
from hushrec.data.pack import load_blocks
from hushrec.errors import DataError, RecordsDropped
from hushrec.privacy.ledger.ledger import Ledger

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture
def domain():
    return hr.Domain(range(5), scale=(1, 5, 1), max_users=100)


def table(bad=0, records=100):
    return pl.DataFrame(
        {
            "user_id": [f"SECRET-{k % 20}" for k in range(records)],
            "item_id": [str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 1.0 + k % 5 for k in range(records)],
        }
    )


def test_it_tells_what_loading_saw(domain):
    source = pl.concat([table(bad=11), table().head(3), table().head(2).with_columns(item_id=pl.lit("9"))])
    found = hr.check(source, domain)
    loaded = hr.load(source, domain)
    assert found.dropped == loaded.dropped
    assert found.dropped == type(found.dropped)(item_id=2, duplicate=3, clamped=11, records=105)
    assert (found.n_users, found.n_entries, found.n_items) == (20, 100, 5)
    assert str(found).splitlines()[:9] == [
        "Confidential, for the curator only: do not publish, do not log",
        "records  105",
        "users    20 left; the domain declares at most 100",
        "items    5 of the 5 of the catalogue",
        "kept     100 ratings, one for each user and item",
        "",
        "Dropped or changed:",
        "  · 2 (1.9 %) dropped: the item is not in the catalogue",
        "  · 3 (2.9 %) merged: the user gave the item again; the last by timestamp counts, else the largest",
    ]
    assert repr(found) == "Check(confidential)"


@pytest.mark.parametrize(
    ("bad", "item", "refused"),
    [(10, None, []), (11, None, ["dropped"]), (0, "9", ["nobody"])],
)
def test_it_says_whether_a_fit_goes_on_and_a_fit_agrees(domain, tmp_path, bad, item, refused):
    source = table(bad) if item is None else table(bad).with_columns(item_id=pl.lit(item))
    found = hr.check(source, domain)
    assert [*found.refused] == refused
    assert ("is refused before its charge" in str(found)) == bool(refused)
    ledger = Ledger.create(tmp_path / "ledger.db", BUDGET)
    if refused:
        with pytest.raises(RecordsDropped):
            hr.fit(hr.load(source, domain), hr.GlobalEffects(), BUDGET, ledger=ledger)
    else:
        hr.fit(hr.load(source, domain), hr.GlobalEffects(), BUDGET, ledger=ledger)


def test_more_than_twice_the_declared_users_are_refused_and_more_than_declared_are_a_hint():
    for most, refused in ((20, []), (19, []), (10, []), (9, ["users"])):
        found = hr.check(table(), hr.Domain(range(5), scale=(1, 5, 1), max_users=most))
        assert [*found.refused] == refused
        assert ("--accept users" in str(found)) == bool(refused)
        assert any("the domain declares at most" in hint for hint in found.hints) == (most < 20)
    both = hr.check(table(bad=11), hr.Domain(range(5), scale=(1, 5, 1), max_users=9))
    assert both.refused == ("dropped", "users")
    assert str(both).count("A fit is refused before its charge") == 2


def test_counts_add_up_although_only_likes_are_used():
    likes = hr.Domain(range(5), scale=(1, 5, 1), likes=4, max_users=100)
    source = pl.concat([table(), table().head(3), table().head(2).with_columns(item_id=pl.lit("9"))])
    found = hr.check(source, likes)
    below = int((hr.load(source, hr.Domain(range(5), scale=(1, 5, 1), max_users=100)).steps < 3).sum())
    assert found.n_unliked == below > 0
    assert f"unliked  {below} ratings below 4, which are not used" in str(found)
    assert found.facts()["unliked"] == below
    dropped = found.dropped
    assert found.n_entries + below + dropped.duplicate + dropped.item_id == dropped.records
    assert "unliked" not in hr.check(source, hr.Domain(range(5), max_users=100)).facts()


def test_what_is_loaded_or_packed_already_is_counted_alike(domain, tmp_path):
    source = table(bad=11)
    whole = hr.check(source, domain)
    loaded = hr.check(hr.load(source, domain), domain)
    packed = hr.check(load_blocks(source, domain, tmp_path / "packed", ratings_per_block=20), domain)
    assert whole.hints
    for found in (loaded, packed):
        assert not found.hints
        assert found.facts() | {"hints": []} == whole.facts() | {"hints": []}


def test_its_facts_are_one_object_for_json(domain):
    facts = json.loads(json.dumps(hr.check(table(bad=11), domain).facts(), allow_nan=False))
    assert facts["confidential"].startswith("Confidential")
    assert (facts["records"], facts["users"], facts["items"], facts["ratings"]) == (100, 20, 5, 100)
    (loss,) = facts["dropped"]
    assert (loss["reason"], loss["records"], loss["fraction"]) == ("clamped", 11, 0.11)
    assert facts["refused"] == ["dropped"]


def test_an_empty_source_is_refused_unless_that_is_accepted(domain):
    found = hr.check(table().clear(), domain)
    assert found.refused == ("empty",)
    assert "--accept dropped" in str(found)
    assert "None were dropped or changed" in str(found)


def test_a_structure_that_cannot_be_read_is_an_error(domain, tmp_path):
    (tmp_path / "r.csv").write_text("SECRET;SECRET;5\n")
    with pytest.raises(DataError, match="divided by semicolons") as error:
        hr.check(tmp_path / "r.csv", domain)
    assert "SECRET" not in str(error.value)


def test_nothing_reaches_a_stream(domain, capfd):
    hr.check(table(bad=50), domain)
    assert capfd.readouterr() == ("", "")
