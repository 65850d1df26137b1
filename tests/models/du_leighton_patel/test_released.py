"""Released data sets: what is written is what is read, and nothing else is read as one."""

import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.sentences import Assumes, Author, Groups, Unprotected
from hushrec.errors import ReleaseError
from hushrec.models.du_leighton_patel import released_data
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from support.released_data import FORMS, ITEMS, SCALE, SETTINGS, data, same, statement


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_people", [0, 1, 2, 120])
def test_what_is_saved_is_what_is_opened(tmp_path, form, n_people):
    if n_people == 0:
        frame = Domain(ITEMS, scale=SCALE, max_users=1, max_per_user=len(ITEMS))
        nobody = People(frame, [], np.zeros(1), np.zeros(0), np.zeros(0))
        made = ReleasedData("RandomizedResponse", SETTINGS, nobody, 0, statement())
    else:
        made = data(n_people)
    path = made.save(tmp_path / f"released.{form}")
    assert same(ReleasedData.open(path), made)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"released.{form}",
        f"released.{form}.statement.json",
    ]


def test_bytes_are_the_same_for_the_same_data_and_for_no_other():
    made = data()
    stored = made.to_bytes()
    assert stored == data().to_bytes() == ReleasedData.from_bytes(stored).to_bytes()
    assert same(ReleasedData.from_bytes(stored), made)
    others = [data(seed=1), data(method="Other"), data(settings={}), data(statement=statement(3.0))]
    assert len({stored, *(other.to_bytes() for other in others)}) == 5


# -- what is none -----------------------------------------------------------------------------------------


def rewritten(path, change):
    """The file after ``change(table)``, with the facts that it had."""
    facts = (path.parent / f"{path.name}.statement.json").read_text()
    if path.suffix == ".csv":
        text = dict.fromkeys(("user_id", "item_id", "rating"), pa.string())
        lines = csv.ParseOptions(newlines_in_values=True)
        table = csv.read_csv(path, parse_options=lines, convert_options=csv.ConvertOptions(column_types=text))
        csv.write_csv(change(table), path)
    else:
        table = change(parquet.read_table(path))
        parquet.write_table(table.replace_schema_metadata({"hushrec": facts}), path)


def column(name, change):
    return lambda table: table.set_column(table.column_names.index(name), name, change(table[name]))


def filled(name, value):
    return column(name, lambda cells: pa.array([value] * len(cells)))


def backwards(cells):
    return cells.take(pa.array(range(len(cells))[::-1]))


FAULTS = {
    "a row less": lambda table: table.slice(0, len(table) - 1),
    "a row more": lambda table: pa.concat_tables([table, table.slice(len(table) - 1)]),
    "another rating": column("rating", backwards),
    "a rating off the scale": filled("rating", 5.5),
    "a rating between steps": filled("rating", 1.2500001),
    "another person": filled("user_id", "secret-person"),
    "rows in another order": backwards,
    "no column": lambda table: table.drop_columns("rating"),
    "a column more": lambda table: table.append_column("secret", table["item_id"]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fault", FAULTS)
def test_altered_rows_are_refused_and_no_cell_is_told(tmp_path, form, fault):
    path = data().save(tmp_path / f"released.{form}")
    rewritten(path, lambda table: table)
    ReleasedData.open(path)
    rewritten(path, FAULTS[fault])
    with pytest.raises(ReleaseError, match=r"altered|cut short") as refusal:
        ReleasedData.open(path)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_ids_that_are_no_text_are_refused(tmp_path):
    """A crafted file of Parquet may say that bytes are text."""
    path = data().save(tmp_path / "released.parquet")
    for name in ("user_id", "item_id"):
        rewritten(path, column(name, lambda ids: pa.array([b"\xff secret"] * len(ids)).view(pa.string())))
        with pytest.raises(ReleaseError, match=r"altered|damaged") as refusal:
            ReleasedData.open(path)
        assert "secret" not in str(refusal.value)


def edited(*way, value):
    def change(facts):
        *before, last = way
        place = facts
        for name in before:
            place = place[name]
        place[last] = value

    return change


EDITS = {
    "a smaller ε": edited("statement", "epsilon", value=1.0),
    "another setting": edited("settings", "exponent", value=2.0),
    "more people": edited("n_people", value=121),
    "another scale": edited("scale", 1, value=5.5),
    "another digest": edited("sha256", value="0" * 64),
    "one more fact": edited("verified", value=True),
    "items twice": edited("items", 0, value="007"),
    "a scale of infinity": edited("scale", 1, value=1e999),
    "a statement without grounds": edited("statement", "measurements", value=[]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("edit", EDITS)
def test_altered_facts_are_refused(tmp_path, form, edit):
    path = data().save(tmp_path / f"released.{form}")
    note = tmp_path / f"{path.name}.statement.json"
    facts = json.loads(note.read_text())
    EDITS[edit](facts)
    note.write_text(json.dumps(facts))
    rewritten(path, lambda table: table)
    with pytest.raises(ReleaseError):
        ReleasedData.open(path)


def test_ratings_that_are_no_released_ones_are_refused():
    world = hr.synthetic.netflix_like(20, 6, 60, 1)
    good = data()
    with pytest.raises(ReleaseError, match="anonymous_ids"):
        data(n_people=20, ratings=world)
    with pytest.raises(ReleaseError, match="anonymous_ids"):
        data(n_people=118, ratings=good.ratings)
    with pytest.raises(ReleaseError, match="anonymous_ids"):
        data(n_people=1200, ratings=good.ratings)  # as many digits as the number of people has
    answered = good.ratings.with_personal_epsilon(np.ones(good.ratings.n_users))
    with pytest.raises(ReleaseError, match="per-user ε"):
        data(ratings=answered)
    with pytest.raises(ReleaseError, match="JSON values"):
        data(settings={"exponent": float("inf")})
    wide = Domain(ITEMS, scale=SCALE, max_users=9999, max_per_user=3)
    kept = data(ratings=replace(good.ratings, domain=wide))
    assert kept.ratings.domain == good.ratings.domain
    assert kept.to_bytes() == good.to_bytes()


# -- the ledger's copy ------------------------------------------------------------------------------------


def test_a_ledger_keeps_small_data_whole_and_of_large_ones_the_digest(tmp_path, monkeypatch):
    made = data()
    assert made.for_ledger() == made.to_bytes()
    monkeypatch.setattr(released_data, "LARGEST_STORED", made.ratings.n_entries - 1)
    kept = made.for_ledger()
    made.save(tmp_path / "released.csv")
    assert kept == (tmp_path / "released.csv.statement.json").read_bytes()
    with pytest.raises(ReleaseError, match="only the facts of a data set this large: open the file"):
        ReleasedData.from_bytes(kept)


# -- reports ----------------------------------------------------------------------------------------------


def test_reports_are_collected_whatever_their_order(tmp_path):
    parts = [
        data(n, seed=n, statement=statement(epsilon, ledger=ledger(n)))
        for n, epsilon in ((3, 1.0), (120, 2.0), (5, 1.5))
    ]
    together = ReleasedData.collect(iter(parts))
    assert together.to_bytes() == ReleasedData.collect(parts[::-1]).to_bytes()
    parts.sort(key=lambda part: part._facts()["sha256"])
    assert together.n_people == 128
    rows = together.ratings
    assert rows.n_entries == sum(part.ratings.n_entries for part in parts)
    start = 0
    for part in parts:
        numbers = rows.users.cast(pa.int64()).to_numpy() - start
        mine = (numbers >= 1) & (numbers <= part.n_people)
        assert numbers[mine].tolist() == part.ratings.users.cast(pa.int64()).to_pylist()
        kept = rows.select(mine[rows.user_index()])
        assert kept.items.tolist() == part.ratings.items.tolist()
        assert kept.values.tolist() == part.ratings.values.tolist()
        start += part.n_people
    assert together.statement.epsilon == 2.0
    assert together.statement.private
    assert together.statement.local == statement(2.0).local
    assert together.statement.assumes == (Assumes.rows(),)
    assert same(ReleasedData.open(together.save(tmp_path / "all.parquet")), together)


def test_what_one_report_lacks_all_lack():
    seeded, kept = Unprotected.seeded(), Unprotected.not_kept()
    groups, author = Groups.exact(), Author.foreign(names="mine.Method")
    parts = [
        data(3, statement=statement(caveats=caveats, ledger=ledger(n)))
        for n, caveats in enumerate([(), (author,), (groups, author), (seeded,), (kept,)])
    ]
    assert ReleasedData.collect(parts[:1]).statement.private
    assert ReleasedData.collect(parts[:2]).statement.caveats == (author,)
    # Each is said once, the graver first; where nothing is promised, one reason is enough.
    assert ReleasedData.collect(parts[:3]).statement.caveats == (groups, author)
    assert ReleasedData.collect(parts[:4]).statement.caveats == (seeded,)
    (gravest,) = ReleasedData.collect(parts).statement.caveats
    assert gravest in (seeded, kept)
    assert ReleasedData.collect(parts).statement.ledger == {}


def test_what_all_assume_is_said_once_and_no_device_says_who_it_is():
    """In a report the list of people is one user: their number says nothing of all of them."""
    rows, cap = Assumes.rows(), Assumes.cap(given="ratings", max_per_user=7)
    roster = Assumes.roster(given="ratings", n_users=1)
    more = Assumes.cap(given="ratings", max_per_user=9)
    parts = [
        data(1, seed=n, density=0.9, statement=statement(assumes=assumes, ledger=ledger(n)))
        for n, assumes in enumerate([(roster, rows, cap), (roster, rows, cap), (roster, rows, more)])
    ]
    together = ReleasedData.collect(parts).statement.assumes
    assert sorted(map(hash, together)) == sorted(map(hash, (rows, cap, more, Assumes.once())))
    assert together[-1] == Assumes.once()


def ledger(number, slot=0):
    """What a report says of its ledger."""
    sort = {"file": "ledger.db", "seq": 3, "head": "ab" * 32, "release_index": slot, "max_releases": 4}
    return {"id": f"{number:02x}" * 16, **sort}


def test_what_was_collected_is_not_collected_again():
    one, two, three = (data(3, seed=n, statement=statement(ledger=ledger(n))) for n in range(3))
    once = ReleasedData.collect([one, two])
    assert ReleasedData.collect([once]).n_people == 6
    for again in ([once, one], [once, three], [once, once]):
        with pytest.raises(ReleaseError, match="collected before"):
            ReleasedData.collect(again)


def test_whoever_reports_twice_is_noticed():
    twice = [data(3, seed=n, statement=statement(ledger=ledger(7, slot=n))) for n in range(2)]
    seeded = data(3, statement=statement(caveats=(Unprotected.seeded(),)))
    for reports in (twice, [seeded, seeded]):
        with pytest.raises(ReleaseError, match="one report per ledger"):
            ReleasedData.collect(reports)


def test_a_delta_that_is_too_large_for_all_is_refused():
    parts = [data(20, seed=n, statement=statement(delta=0.003, ledger=ledger(n))) for n in range(2)]
    assert ReleasedData.collect(parts[:1]).n_people == 20
    with pytest.raises(ReleaseError, match="too large for 40 people"):
        ReleasedData.collect(parts)


def test_reports_that_do_not_belong_together_are_refused():
    one = data(3)
    frame = Domain(ITEMS[::-1], scale=SCALE, max_users=3, max_per_user=len(ITEMS))
    finer = Domain(ITEMS, scale=(0.5, 5.0, 0.25), max_users=3, max_per_user=len(ITEMS))
    for other in (
        data(3, method="Other"),
        data(3, settings=SETTINGS | {"exponent": 0.0965}),
        data(3, ratings=replace(one.ratings, domain=frame)),
        data(3, ratings=replace(one.ratings, domain=finer)),
        data(3, statement=statement(delta=1e-6)),
    ):
        with pytest.raises(ReleaseError, match="reports differ"):
            ReleasedData.collect([one, other])
    with pytest.raises(ReleaseError, match="no report"):
        ReleasedData.collect([])


# -- files of released data sets: written whole or not at all, and read by anybody's tools ----------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("limit", ["_LARGEST", "_RATIO"])
def test_what_unpacks_to_too_much_is_not_read_to_its_end(tmp_path, form, limit, monkeypatch):
    path = data().save(tmp_path / f"released.{form}")
    monkeypatch.setattr(released_data, "_FREE", 0)
    monkeypatch.setattr(released_data, "_ROWS", 50)
    monkeypatch.setattr(released_data, "_BLOCK", 500)
    assert same(ReleasedData.open(path), data())
    monkeypatch.setattr(released_data, limit, 1000 if limit == "_LARGEST" else 0.2)
    read = []
    with pytest.raises(ValueError, match="unpacks to more"):
        read.extend(part.num_rows for part in released_data._parts(path))
    assert sum(read) < data().ratings.n_entries / 2
    with pytest.raises(ReleaseError, match="altered or cut short"):
        ReleasedData.open(path)


def test_the_statement_is_there_before_the_data(tmp_path, monkeypatch):
    """A ledger must know of every data set that lies beside it."""
    order, rename = [], os.replace

    def spy(part, target):
        order.append(target.name)
        rename(part, target)

    monkeypatch.setattr(os, "replace", spy)
    data().save(tmp_path / "released.parquet")
    assert order == ["released.parquet.statement.json", "released.parquet"]


def test_damage_anywhere_is_noticed(tmp_path):
    """Every 97th byte of the file, set to another value, and every 997th length."""
    path = data().save(tmp_path / "released.parquet")
    good = path.read_bytes()
    noticed = 0
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :])
        try:
            assert same(ReleasedData.open(path), data())  # a byte that no reader reads
        except ReleaseError:
            noticed += 1
    assert noticed > 10
    for length in range(0, len(good), 997):
        path.write_bytes(good[:length])
        with pytest.raises(ReleaseError):
            ReleasedData.open(path)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ReleaseError, match=r"released\.parquet cannot be read: No such file"):
        ReleasedData.open(tmp_path / "released.parquet")
    path = data().save(tmp_path / "released.csv")
    (tmp_path / "released.csv.statement.json").unlink()
    with pytest.raises(ReleaseError, match=r"statement\.json cannot be read: No such.*; it describes rel"):
        ReleasedData.open(path)


def test_an_id_that_no_csv_keeps_is_refused_there(tmp_path):
    frame = Domain(("a\r\nb", "c"), scale=SCALE, max_users=1, max_per_user=2)
    rows = People(frame, ["1"], np.array([0, 1]), np.array([0]), np.array([3]))
    made = data(1, ratings=rows)
    with pytest.raises(ReleaseError, match=r"name it x\.parquet"):
        made.save(tmp_path / "x.csv")
    assert same(ReleasedData.open(made.save(tmp_path / "x.parquet")), made)
