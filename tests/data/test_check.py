"""A source is checked as it is loaded: faults are named with their fix, for the curator alone."""

import json

import polars as pl
import pytest

import hushrec as hr
from hushrec.data.dropped import Dropped
from hushrec.errors import DataError, RecordsDropped
from hushrec.privacy.ledger.ledger import Ledger
from support.pipes import piped

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
DOMAIN = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)


def table(bad=0, records=100):
    return pl.DataFrame(
        {
            "user_id": [f"SECRET-{k % 20}" for k in range(records)],
            "item_id": [str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 1.0 + k % 5 for k in range(records)],
        }
    )


def with_faults():
    strange = table().head(2).with_columns(item_id=pl.lit("9"))
    return pl.concat([table(bad=11), table().head(3), strange])


def test_it_tells_what_loading_saw():
    source = with_faults()
    found = hr.check(source, DOMAIN)
    assert found.dropped == hr.load(source, DOMAIN).dropped
    assert found.dropped == Dropped(item_id=2, duplicate=3, clamped=11, records=105)
    assert (found.n_users, found.n_entries, found.n_items) == (20, 100, 5)
    assert str(found).splitlines()[:11] == [
        "Confidential, for the curator only: do not publish, do not log",
        "records  105",
        "users    20 left; the domain declares at most 100",
        "items    5 of the 5 of the catalogue",
        "kept     100 ratings, one for each user and item",
        "columns  user_id as user_id, item_id as item_id, rating as rating",
        "unused   no other column",
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
def test_it_says_whether_a_fit_goes_on_and_a_fit_agrees(tmp_path, bad, item, refused):
    source = table(bad) if item is None else table(bad).with_columns(item_id=pl.lit(item))
    found = hr.check(source, DOMAIN)
    assert [*found.refused] == refused
    assert ("is refused before its charge" in str(found)) == bool(refused)
    ledger = Ledger.create(tmp_path / "ledger.db", BUDGET)
    if refused:
        with pytest.raises(RecordsDropped):
            hr.fit(hr.load(source, DOMAIN), hr.GlobalEffects(), BUDGET, ledger=ledger)
    else:
        hr.fit(hr.load(source, DOMAIN), hr.GlobalEffects(), BUDGET, ledger=ledger)


def test_more_than_twice_the_declared_users_are_refused():
    for most, refused in ((20, []), (19, []), (10, []), (9, ["users"])):
        found = hr.check(table(), hr.Domain(range(5), scale=(1, 5, 1), max_users=most))
        assert [*found.refused] == refused
        assert ("--accept users" in str(found)) == bool(refused)
    both = hr.check(table(bad=11), hr.Domain(range(5), scale=(1, 5, 1), max_users=9))
    assert both.refused == ("dropped", "users")
    assert str(both).count("A fit is refused before its charge") == 2


def test_counts_add_up_although_only_likes_are_used():
    likes = hr.Domain(range(5), scale=(1, 5, 1), likes=4, max_users=100)
    source = pl.concat([table(), *(with_faults().tail(5),)])
    found = hr.check(source, likes)
    below = int((hr.load(source, DOMAIN).values < 3).sum())
    assert found.n_unliked == below > 0
    assert f"unliked  {below} ratings below 4, which are not used" in str(found)
    assert found.facts()["unliked"] == below
    dropped = found.dropped
    assert found.n_entries + below + dropped.duplicate + dropped.item_id == dropped.records
    assert "unliked" not in hr.check(source, hr.Domain(range(5), max_users=100)).facts()


def test_what_is_loaded_already_is_counted_alike(tmp_path):
    source = table(bad=11)
    whole = hr.check(source, DOMAIN)
    assert whole.hints
    of_source = {"columns": {}, "unused": [], "hints": []}
    on_disk = hr.load(source, DOMAIN, where=tmp_path / "people")
    for found in (hr.load(source, DOMAIN), on_disk, tmp_path / "people"):
        checked = hr.check(found, DOMAIN)
        assert checked.facts() == whole.facts() | of_source


def test_its_facts_are_one_object_for_json():
    facts = json.loads(json.dumps(hr.check(table(bad=11), DOMAIN).facts(), allow_nan=False))
    assert facts["confidential"].startswith("Confidential")
    assert (facts["records"], facts["users"], facts["items"], facts["ratings"]) == (100, 20, 5, 100)
    (loss,) = facts["dropped"]
    assert (loss["reason"], loss["records"], loss["fraction"]) == ("clamped", 11, 0.11)
    assert facts["refused"] == ["dropped"]


def test_nothing_reaches_a_stream_and_no_record_at_all_is_accepted_or_refused(capfd, tmp_path):
    hr.check(table(bad=50), DOMAIN)
    empty = hr.check(table().clear(), DOMAIN)
    assert capfd.readouterr() == ("", "")
    assert empty.refused == ("empty",)
    assert "--accept dropped" in str(empty)
    assert "None were dropped or changed" in str(empty)
    (tmp_path / "r.csv").write_text("SECRET;SECRET;5\n")
    with pytest.raises(DataError, match="divided by semicolons") as error:
        hr.check(tmp_path / "r.csv", DOMAIN)
    assert "SECRET" not in str(error.value)


# -- what the counts do not say ----------------------------------------------------------------------------

RECORDS = 400
ITEMS = [str(k) for k in range(100, 140)]


def records(**changed):
    """Records of 50 users, without fault but for the changed columns."""
    made = {
        "user_id": [f"SECRET{k % 50}" for k in range(RECORDS)],
        "item_id": [ITEMS[k // 50 + 8 * (k % 5)] for k in range(RECORDS)],
        "rating": [str(1 + k % 5) for k in range(RECORDS)],
        "timestamp": ["1700000000"] * RECORDS,
    }
    return pl.DataFrame(made | changed)


def domain(items=ITEMS, **declared):
    return hr.Domain(items, **{"scale": (1, 5, 1), "max_users": 60} | declared)


GIVEN, COUNTED = domain(scale=None), domain(scale=None, counts=9)


def hints(source, declared=None, **options):
    found = hr.check(source, declared or domain(), hr.Reading(**options))
    assert "SECRET" not in str(found)
    return found.hints


def everywhere(made, folder):
    """The same records in whatever holds them."""
    made.write_parquet(folder / "r.parquet")
    made.write_csv(folder / "r.csv")
    made.write_ndjson(folder / "r.jsonl")
    yield from (folder / name for name in ("r.parquet", "r.csv", "r.jsonl"))
    yield from (made, made.lazy(), made.to_arrow(), made.to_arrow().to_reader(7), made.to_pandas())
    with piped(folder / "pipe.csv", [made.write_csv().encode()]) as pipe:
        yield pipe
    pipe.unlink()


def test_what_is_right_has_no_hint():
    off = ["77", *(str(1 + k % 5) for k in range(RECORDS - 1))]
    for source in (records(), records().clear(), records(rating=off), records(clicked=[1, 0] * 200)):
        assert hints(source) == ()
    assert hints(records(), domain(likes=4)) == hints(records().drop("rating"), GIVEN) == ()


def test_people_who_are_written_differently():
    mixed = records(user_id=[f"SECRET{k % 50}" if k % 8 else f"secret{k % 50} " for k in range(RECORDS)])
    (hint,) = hints(mixed)
    assert "50 user ids differ from another only by blanks or case" in hint


@pytest.mark.parametrize(
    ("rating", "hint"),
    [
        (
            lambda k: 2 * (1 + k % 5),
            "60.0 % of the ratings are not on the scale 1 to 5 by 1; the scale 2 to 10 by 2",
        ),
        (lambda k: (1 + k % 5) / 2, "; the scale 0.5 to 2.5 by 0.5 holds them all"),
        (lambda k: 1 + k % 5 / 2, "the scale 1 to 3 by 0.5 holds them all"),
        (lambda k: 0.1 + k % 7 / 9, "no usual scale holds them all"),
        (lambda k: 1.7e9 + k * 7919, "no usual scale holds them all"),
    ],
)
def test_ratings_that_are_not_on_the_scale(rating, hint):
    (told,) = hints(records(rating=[str(rating(k)) for k in range(RECORDS)]))
    assert hint in told
    assert "only if it is known publicly" in told


def test_columns_are_named_as_they_are_read_or_not_whatever_holds_them(tmp_path):
    source = records(Zeitpunkt=["2024-01-31"] * RECORDS, clicked=["SECRET"] * RECORDS).drop("timestamp")
    for made in everywhere(source, tmp_path):
        found = hr.check(made, domain())
        assert found.columns == {name: name for name in ("user_id", "item_id", "rating")}
        assert {*found.unused} == {"Zeitpunkt", "clicked"}
        assert "SECRET" not in str(found)
    assert "columns  user_id as user_id, item_id as item_id" in str(found)
    given = hr.check(source, GIVEN)
    assert {*given.unused} == {"rating", "Zeitpunkt", "clicked"}
    (hint,) = given.hints
    assert "every record counts as an item that the user gave or liked" in hint
    (tmp_path / "u.data").write_text("SECRET\t100\t5\t9\n")
    assert hr.check(tmp_path / "u.data", domain()).columns["rating"] == "column 2"


def test_a_name_of_a_column_cannot_act_on_a_terminal():
    told = str(hr.check(records(**{"at \x1b[31m\n" + "x" * 99: ["x"] * RECORDS}), domain()))
    assert "\x1b" not in told
    assert "x" * 80 not in told


@pytest.mark.parametrize("cells", ["1 -1", "5 2", "up down", (True, False)])
def test_ratings_that_interactions_do_not_use_are_refused(tmp_path, cells):
    cells = cells.split() if isinstance(cells, str) else cells
    source = records(rating=[*cells] * (RECORDS // 2))
    other = RECORDS // 2 if cells[0] in ("1", True) else RECORDS
    for declared in (GIVEN, COUNTED):
        for made in everywhere(source, tmp_path):
            found = hr.check(made, declared)
            assert (found.refused, found.dropped.unused) == (("rating",), other)
            assert "accept it: --accept rating, accept='rating'" in str(found)


def test_a_rating_of_one_or_none_says_no_more_than_its_record():
    for cells in (["1", " 1.0", "", "nan"], [1.0, None] * 2):
        same = hr.check(records(rating=cells * (RECORDS // 4)), GIVEN)
        assert (same.refused, same.dropped.unused) == ((), 0)
    assert hr.check(records(), domain(likes=4)).refused == ()
