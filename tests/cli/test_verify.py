"""An exported history is verified, and a release against it."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.documents.words import Clause

TOTAL = "--epsilon 4 --delta 1e-6 --unit user --adjacency add-remove --max-releases 2"


@pytest.fixture
def exported(here, hushrec, budget):
    """The history of two releases."""
    hushrec(f"ledger create own.db {TOTAL}")
    for name in ("one", "two"):
        hushrec(f"fit train.csv --domain domain.json {budget} --ledger own.db -o {name}.safetensors")
    hushrec("ledger export own.db -o history.json")
    return json.loads(Path("history.json").read_text("utf-8"))


def written(told):
    Path("changed.json").write_text(json.dumps(told), "utf-8")
    return "changed.json"


def chained(told):
    """The same history with hashes that follow from its records, as a forger would write it."""
    last = bytes(32)
    for place, record in enumerate(told["records"]):
        last = hashlib.sha256(last + place.to_bytes(8, "big") + record["record"].encode()).digest()
        record |= {"seq": place, "hash": last.hex()}
    return told | {"last_seq": len(told["records"]) - 1, "last_head": last.hex()}


def test_a_history_and_its_releases_are_as_they_were_recorded(exported, hushrec):
    assert "all as they were hashed" in hushrec("ledger verify history.json").out
    for number, name in enumerate(("one", "two"), 1):
        said = hushrec(f"ledger verify history.json {name}.safetensors").out
        assert f"{name}.safetensors: release {number} of at most 2 in this history, byte for byte" in said


@pytest.mark.parametrize("at", [0, 1, -1])
def test_an_altered_digit_is_found(exported, refused, at):
    record = exported["records"][at]
    digit = next(place for place, sign in enumerate(record["record"]) if sign.isdigit())
    other = "7" if record["record"][digit] != "7" else "8"
    record["record"] = record["record"][:digit] + other + record["record"][digit + 1 :]
    place = at % len(exported["records"])
    assert f"record {place} was altered" in refused(f"ledger verify {written(exported)}")


def test_a_record_that_is_dropped_or_moved_is_found(exported, refused):
    records = exported["records"]
    dropped = {**exported, "records": records[:2] + records[3:]}
    assert "record 2 was altered, or is not in its place" in refused(f"ledger verify {written(dropped)}")
    short = {**exported, "records": records[:-1]}
    assert "another last record" in refused(f"ledger verify {written(short)}")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"ledger": 1, "last_seq": 0, "last_head": "", "records": [{"record": "\\ud800"}]}'],
)
def test_what_is_no_history_is_refused(here, refused, text):
    Path("other.json").write_text(text, "utf-8")
    assert "is not a history" in refused("ledger verify other.json")
    assert "cannot be read" in refused("ledger verify missing.json")


def test_a_foreign_release_is_refused(exported, hushrec, refused, budget):
    Path("other").mkdir()
    hushrec(
        f"fit train.csv --domain domain.json {budget} --ledger other/own.db --new-ledger "
        "-o other/one.safetensors"
    )
    said = refused("ledger verify history.json other/one.safetensors")
    assert "was charged to another ledger" in said
    assert "not a hushrec release" in refused("ledger verify history.json domain.json")


def test_a_release_whose_statement_was_changed_is_refused(exported, refused):
    """A file that is sound by itself, with another promise, is not what the ledger stored."""
    one = hr.Release.open("one.safetensors")
    better = replace(one.statement, assumes=(*one.statement.assumes, Clause("assumes.stars_alone")))
    replace(one, statement=better).save(Path("better.safetensors"))
    hr.Release.open("better.safetensors")
    assert "differs from what history.json records" in refused(
        "ledger verify history.json better.safetensors"
    )


def test_a_history_made_again_does_not_hold_the_release(exported, hushrec, refused):
    """Somebody who computes all hashes anew passes the check of the hashes; a published release tells."""
    opened = exported["records"][0]
    opened["record"] = opened["record"].replace('"max_releases":2', '"max_releases":9')
    path = written(chained(exported))
    hushrec(f"ledger verify {path}")
    assert "is not the one in changed.json" in refused(f"ledger verify {path} one.safetensors")


def test_a_history_that_ends_too_early_is_refused(exported, refused):
    cited = hr.Release.open("two.safetensors").statement.ledger["seq"]
    for kept, why in ((cited, f"ends before record {cited}"), (cited + 1, "was stored")):
        path = written(chained({**exported, "records": exported["records"][:kept]}))
        assert why in refused(f"ledger verify {path} two.safetensors")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_data_set_is_verified_too(here, hushrec, suffix):
    hushrec(
        f"randomize train.csv --domain domain.json --method randomized-response --ledger data.db "
        f"--new-ledger --accept weak -o data.{suffix} --epsilon 20 --delta 1e-6 --unit user "
        "--adjacency replace"
    )
    hushrec("ledger export data.db -o history.json")
    said = hushrec(f"ledger verify history.json data.{suffix}").out
    assert f"data.{suffix}: release 1 of at most 1 in this history" in said


# -- a ledger in place of its history ---------------------------------------------------------------------


def test_a_ledger_knows_its_releases_and_one_from_a_backup_does_not(here, hushrec, refused, budget):
    hushrec(f"ledger create own.db {TOTAL}")
    Path("releases").mkdir()
    fit = f"fit train.csv --domain domain.json {budget} --model global-effects --ledger"
    hushrec(f"{fit} own.db -o releases/one.safetensors")
    Path("backup").mkdir()
    Path("backup/own.db").write_bytes(Path("own.db").read_bytes())
    hushrec(f"{fit} own.db -o releases/two.safetensors")
    assert "knows all 2 releases of it" in hushrec("ledger verify own.db releases").out
    one, two = (f"releases/{name}.safetensors" for name in ("one", "two"))
    assert "knows all 2 releases of it" in hushrec(f"ledger verify own.db {one} {two}").out
    assert "knows all 1 releases of it" in hushrec(f"ledger verify backup/own.db {one}").out
    assert "a backup was restored" in refused("ledger verify backup/own.db releases")
    assert "no release of this ledger" in refused("ledger verify own.db backup")
    assert "name the releases" in refused("ledger verify own.db backup")
    assert "add the release file: hushrec ledger verify own.db week-01.safetensors" in refused(
        "ledger verify own.db"
    )


def test_an_address_is_never_repeated(here, refused):
    for address in ("postgres:/ann:hunter2@host/db", "host=127.0.0.1 password=hunter2"):
        said = refused(f"ledger verify '{address}' domain.json")
        assert "looks like a database's address" in said
        assert "hunter2" not in said


def test_several_releases_are_each_looked_for(exported, hushrec):
    said = hushrec("ledger verify history.json one.safetensors two.safetensors").out
    assert said.count("byte for byte as it was recorded") == 2
