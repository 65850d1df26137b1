"""Files of JSON objects, one a line: each cell is what JSON says it is, and no message holds one."""

import gzip
import json
from dataclasses import replace

import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from support.refusals import DOMAIN, refused, rows

ROW = {"user": "a", "item": "10", "rating": 3}


def lines(*records):
    text = (record if isinstance(record, str) else json.dumps(record) for record in records)
    return "\n".join(text).encode() + b"\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.jsonl"


def of(path, name, cells, domain=DOMAIN):
    """Who is left of records with these cells, one person each, and what happened to the others."""
    cells = [cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]
    users = [f'"{k}"' if name != "user_id" else cell for k, cell in enumerate(cells)]
    rest = {"item_id": '"10"', "rating": "3"}
    records = []
    for user, cell in zip(users, cells, strict=True):
        record = {"user_id": user, **rest, name: cell}
        records.append("{" + ", ".join(f'"{key}": {value}' for key, value in record.items()) + "}")
    path.write_bytes(lines(*records))
    people = load(path, domain)
    return people.table().to_pylist(), replace(people.dropped, records=0)


def test_ids_are_text_or_whole_numbers_as_they_are_written(path):
    whole = ['"7"', "7", '"007"', '" 7 "', "9007199254740993", "-7", '"1e3"', '"7.0"', "9" * 30, '"\\u00e9"']
    found, dropped = of(path, "user_id", [*whole, '"e\\u0301"'])
    assert sorted({row["user_id"] for row in found}) == sorted({"7", "007", " 7 ", "9007199254740993"} |
        {"-7", "1e3", "7.0", "9" * 30, "é"})  # fmt: skip
    assert dropped == Dropped(duplicate=2)
    other = ["7.0", "7e0", "true", "[7]", '{"x": 7}', "NaN"]
    assert of(path, "user_id", other) == ([], Dropped(other_type=6))
    assert of(path, "item_id", ["10.0", "false", "[]"]) == ([], Dropped(other_type=3))
    assert of(path, "user_id", ["null", '""', '"a\\u0000b"']) == ([], Dropped(user_id=3))


def test_ratings_are_numbers_or_text_that_holds_numbers(path):
    found, dropped = of(path, "rating", ["3", "3.4", '"3"', '" 3e0 "', "9", "-1e300", '"2.5"'])
    assert [row["rating"] for row in found] == [3, 3, 3, 3, 5, 1, 3]
    assert dropped == Dropped(clamped=2, rounded=2)
    nothing = ["true", "null", "[3]", '{"x": 3}', '"3,5"', '"1_0"', "NaN", "Infinity", "1e400", '"nan"', '""']
    assert of(path, "rating", nothing) == ([], Dropped(rating=len(nothing)))


def test_times_are_seconds_or_iso_text(path):
    times = ["1704067200", "1704067200.9", '"2024-01-01"', '"2024-01-01T01:00+01:00"', '"1704067200"']
    found, dropped = of(path, "timestamp", times)
    assert ({row["timestamp"] for row in found}, dropped) == ({1704067200}, Dropped())
    found, dropped = of(path, "timestamp", ["true", "null", "[1]", '"soon"', "-5"])
    assert ({row["timestamp"] for row in found}, dropped) == ({0}, Dropped(timestamp=5))


def test_requested_epsilons_are_numbers_or_classes(path):
    domain = Domain(["10"], scale=(1, 5, 1), max_users=9, personal_epsilon={"strict": 0.5})
    found, dropped = of(path, "personal_epsilon", ["1", "0.25", '"2"', '"strict"', '" strict "'], domain)
    assert [row["personal_epsilon"] for row in found] == [1, 0.25, 2, 0.5, 0.5]
    found, dropped = of(path, "personal_epsilon", ["true", "null", "[1]", '"x"', "-1", "1e999"], domain)
    assert (found, dropped) == ([], Dropped(personal_epsilon=6))


def test_a_rating_that_interactions_do_not_use_is_seen(path):
    given = Domain(["10"], max_users=9)
    assert of(path, "rating", ["1", '"1"', "true", "null", "1.0", '""'], given)[1] == Dropped()
    assert of(path, "rating", ["2", "false", "[1]", '"up"'], given)[1] == Dropped(unused=4)


@pytest.mark.parametrize("name", ["r.jsonl", "r.ndjson.gz", "r[1]'*.jsonl"])
def test_lines_may_end_anyhow_and_keys_may_differ(tmp_path, name):
    pack = gzip.compress if name.endswith("gz") else bytes
    records = [ROW, {"item": 20, "rating": 4, "user": 7, 'no"te': {"x": [1]}}, {"what": 1, "user": "z"}]
    content = lines(*records).replace(b"\n", b"\r\n\n  \n", 1)
    for start in (b"", b"\xef\xbb\xbf", b"\n"):
        (tmp_path / name).write_bytes(pack(start + content))
        assert rows(tmp_path / name) == [("7", "20", 4.0), ("a", "10", 3.0)]
        assert rows(tmp_path / name, columns={"item_id": "what"}) == []


def test_any_key_is_a_name(path):
    for key in ('we"i.rd', "a b", "O'x", "é", "user.id", "$", "a\nb", "*", "null"):
        path.write_bytes(lines({"item": "10", "rating": 3, key: "x"}))
        assert rows(path, columns={"user_id": key}) == [("x", "10", 3.0)]
    path.write_bytes(lines({**ROW, "Rating": 1, "RATING": 2}))
    assert rows(path) == [("a", "10", 3.0)]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("SECRET", "row 2: this line is not one JSON object"),
        ('{"user":"SECRET"', "row 2: this line is not one JSON object"),
        ('["SECRET"]', "row 2: this line is not one JSON object"),
        ('"SECRET"', "row 2: this line is not one JSON object"),
        (json.dumps(ROW) * 2 + '"SECRET"', "row 2: this line is not one JSON object"),
        (json.dumps(ROW) + " " + json.dumps({"user": "SECRET"}), "row 2: this line is not one JSON object"),
        ('{"user":"SECRET\\ud800","item":"10","rating":3}', "row 2: this line is not one JSON object"),
        ('{"user":"SECRET","user":"x","item":"10","rating":3}', "row 2: this line is not one JSON object"),
        ('{"user":"' + "SECRET" * 6_000_000 + '","item":"10","rating":3}', "over 1048576 bytes"),
        (json.dumps({"user": "unicode line 99: SECRET"})[:-1], "row 2: this line is not one JSON object"),
        (json.dumps(ROW) + "\r" + json.dumps({"user": "SECRET"}), "this line is not one JSON object"),
    ],
)
def test_what_is_no_object_is_refused_with_its_row(path, bad, message):
    path.write_bytes(lines(ROW, bad, ROW))
    said = refused(path)
    assert message in said
    assert said.startswith(str(path))


def test_a_file_without_records_is_valid(path, tmp_path):
    (tmp_path / "more.jsonl").write_bytes(lines(ROW))
    for content in (b"", b"\n\n"):
        path.write_bytes(content)
        assert rows(path) == []
        assert rows([path, tmp_path / "more.jsonl"]) == [("a", "10", 3.0)]


def test_other_faults_are_explained(path):
    path.write_bytes(lines(ROW) + b'{"user":"SECRET\xff","item":"10","rating":3}\n')
    assert "row 2: not UTF-8" in refused(path)
    path.write_bytes(b"{}\n")
    assert "no column for user_id" in refused(path)
    path.write_bytes(lines({"user": "SECRET", "item": "10"}))
    assert "no column for rating; it has item, user; say which is which" in refused(path)
    path.write_bytes(lines({"who": "SECRET", "what": "10"}))
    assert "no column has a usual name, and the names are not shown" in refused(path)
    path.write_bytes(lines({**ROW, "userId": "SECRET"}))
    assert "more than one column for user_id" in refused(path)
    path.write_bytes(lines(ROW))
    assert "give names in columns=, not positions" in refused(path, columns={"user_id": 0})
    path.write_bytes(gzip.compress(lines(ROW)))
    assert "row 1: not UTF-8" in refused(path)
    path.rename(path.with_suffix(".jsonl.gz"))
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(lines(ROW))[:-9])
    assert "damaged or cut short" in refused(path.with_suffix(".jsonl.gz"))
