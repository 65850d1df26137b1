"""Files of JSON objects, one a line: each cell is what JSON says it is, and no message holds one."""

import gzip
import json
from dataclasses import replace

import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from support.refusals import refused, rows

ASKING = Domain(["10"], scale=(1, 5, 1), max_users=99, personal_epsilon={"strict": 0.5})
ROW = {"user": "a", "item": "10", "rating": 3}


def lines(*records):
    text = (record if isinstance(record, str) else json.dumps(record) for record in records)
    return "\n".join(text).encode() + b"\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.jsonl"


def became(path, name, cells, domain=ASKING):
    """What each cell of a column became, by the number of its record, and what was lost."""
    rest = {"user_id": "k", "item_id": '"10"', "rating": "3"}
    rows = [rest | {"user_id": str(k), name: cell} for k, cell in enumerate(cells)]
    members = [", ".join(f'"{key}": {cell}' for key, cell in row.items()) for row in rows]
    path.write_bytes(lines(*("{" + row + "}" for row in members)))
    people = load(path, domain)
    return {row["user_id"]: row.get(name) for row in people.table().to_pylist()}, replace(
        people.dropped, records=0
    )


def test_ids_are_text_or_whole_numbers_as_they_are_written(path):
    whole = ['"7"', "7", '"007"', '" 7 "', "9007199254740993", "-7", '"1e3"', '"7.0"', "9" * 30, '"e\\u0301"']
    found, dropped = became(path, "user_id", [*whole, '"\\u00e9"'])
    assert {*found} == {"7", "007", " 7 ", "9007199254740993", "-7", "1e3", "7.0", "9" * 30, "é"}
    assert dropped == Dropped(duplicate=2)
    other = ["7.0", "7e0", "true", "[7]", '{"x": 7}', "NaN"]
    for name in ("user_id", "item_id"):
        assert became(path, name, other) == ({}, Dropped(other_type=6))
        assert became(path, name, ["null", '""', '"a\\u0000b"']) == ({}, Dropped(**{name: 3}))


NEW_YEAR = ["1704067200", "1704067200.9", '"2024-01-01"', '"2024-01-01T01:00+01:00"', '"1704067200"']
NO_NUMBERS = ["true", "null", "[3]", '{"x": 3}', '"3,5"', '"1_0"', "NaN", "Infinity", "1e400", '"nan"', '""']
NO_TIMES = ["true", "null", "[1]", '"soon"', "-5"]
CELLS = {
    "rating": {"3": 3, "3.4": 3, '"3"': 3, '" 3e0 "': 3, "9": 5, "-1e300": 1, '"2.5"': 3},
    "personal_epsilon": {"1": 1, "0.25": 0.25, '"2"': 2, '"strict"': 0.5, '" strict "': 0.5},
    "timestamp": dict.fromkeys(NEW_YEAR, 1704067200) | dict.fromkeys(NO_TIMES, 0),
}
LOST = {
    "rating": (NO_NUMBERS, {"clamped": 2, "rounded": 2}),
    "personal_epsilon": (["true", "null", "[1]", '"x"', "-1", "1e999"], {}),
    "timestamp": ([], {"timestamp": len(NO_TIMES)}),
}


@pytest.mark.parametrize("name", CELLS)
def test_numbers_and_times_are_numbers_or_text_that_holds_them(path, name):
    kept, (none, changed) = CELLS[name], LOST[name]
    found, dropped = became(path, name, [*kept, *none])
    assert found == {str(k): value for k, value in enumerate(kept.values())}
    assert dropped == Dropped(**{name: len(none)} | changed)


def test_a_rating_that_interactions_do_not_use_is_seen(path):
    given = Domain(["10"], max_users=9)
    assert became(path, "rating", ["1", '"1"', "true", "null", "1.0", '""'], given)[1] == Dropped()
    assert became(path, "rating", ["2", "false", "[1]", '"up"'], given)[1] == Dropped(unused=4)


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


NO_OBJECTS = [
    *("SECRET", '{"user":"SECRET"', '["SECRET"]', '"SECRET"', json.dumps(ROW) * 2 + '"SECRET"'),
    json.dumps(ROW) + " " + json.dumps({"user": "SECRET"}),
    '{"user":"SECRET\\ud800","item":"10","rating":3}',
    '{"user":"SECRET","user":"x","item":"10","rating":3}',
    json.dumps({"user": "unicode line 99: SECRET"})[:-1],
    json.dumps(ROW) + "\r" + json.dumps({"user": "SECRET"}),
]
LONG = '{"user":"' + "SECRET" * 6_000_000 + '","item":"10","rating":3}'


@pytest.mark.parametrize("bad", [*NO_OBJECTS, pytest.param(LONG, id="long")])
def test_what_is_no_object_is_refused_with_its_row(path, bad):
    path.write_bytes(lines(ROW, bad, ROW))
    said = refused(path)
    assert ("over 1048576 bytes" if bad is LONG else "this line is not one JSON object") in said
    assert said.startswith(f"{path}, row " if "\r" in bad else f"{path}, row 2: ")


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
