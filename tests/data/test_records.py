"""What becomes of records, whatever holds them: every kind of source gives what a dictionary gives."""

import csv
import gzip
import json
import math
import unicodedata
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load

NAMES = ("user_id", "item_id", "rating", "timestamp")
SCALE = Domain(["1", "2", "é"], scale=(1, 5, 0.5), max_users=100)
LIKES = Domain(["1", "2", "é"], scale=(1, 5, 0.5), likes=4, max_users=100)
ROSTER = Domain(["1", "2", "é"], scale=(1, 5, 0.5), max_users=100, users=["a", "é", "zz"])
USERS = [
    "a",
    "A",
    " a",
    "é",
    "e\N{COMBINING ACUTE ACCENT}",
    "zz",
    "007",
    "7",
    "x" * 256,
    "x" * 257,
    "",
    "NA",
    "a'b",
]
VALUES = [
    "1",
    "5",
    " 4.5 ",
    "3.3",
    "9",
    "-1",
    "1e1",
    "nan",
    "inf",
    "x",
    "",
    "4,5",
    "1_0",
    "+2",
    "+-2",
    "NULL",
]
TIMES = [
    "0",
    "17",
    "17.9",
    "1e9",
    "2001-02-03",
    "2001-02-03T04:05:06Z",
    "2001-02-03 04:05+01:30",
    "soon",
    "",
    "-5",
    "1e15",
]
records = st.lists(
    st.tuples(
        st.sampled_from(USERS),
        st.sampled_from(["1", "2", "é", "e\N{COMBINING ACUTE ACCENT}", "3", ""]),
        st.sampled_from(VALUES),
        st.sampled_from(TIMES),
    ),
    max_size=12,
)


def number(text):
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def moment(text):
    if not math.isnan(number(text)):
        return number(text), 0 <= number(text) <= 2**40
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return 0, False
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp(), True


def expected(given, domain):
    """Return what becomes of the records, by a dictionary: (user, item) → (time, steps); and what is lost."""
    rows, lost = {}, Counter(records=len(given))
    for user, item, value, time in given:
        user, item = unicodedata.normalize("NFC", user), unicodedata.normalize("NFC", item)
        lo, hi, step = domain.rating_scale
        if not 1 <= len(user.encode()) <= 256 or (domain.users and user not in domain.users):
            lost["user_id"] += 1
        elif item not in domain.items:
            lost["item_id"] += 1
        elif not math.isfinite(number(value)):
            lost["rating"] += 1
        else:
            steps = min(max(math.floor((number(value) - lo) / step + 0.5), 0), round((hi - lo) / step))
            lost["clamped"] += not lo <= number(value) <= hi
            lost["rounded"] += lo <= number(value) <= hi and lo + step * steps != number(value)
            lost["timestamp"] += not moment(time)[1]
            lost["duplicate"] += (user, item) in rows
            entry = int(min(max(moment(time)[0], 0), 2**40)), steps
            rows[user, item] = max(entry, rows.get((user, item), (-1, -1)))
    least = 0 if domain.likes is None else (domain.likes - domain.rating_scale.lo) / domain.rating_scale.step
    return {key: entry for key, entry in rows.items() if entry[1] >= least}, +lost


def found(people):
    users, index = people.users.to_pylist(), people.user_index()
    keys = [(users[u], people.domain.items[i]) for u, i in zip(index, people.items, strict=True)]
    nothing = np.zeros(len(keys), int)
    times, values = (nothing if part is None else part for part in (people.timestamps, people.values))
    counts = Counter({name: getattr(people.dropped, name) for name in people.dropped.__slots__})
    return dict(zip(keys, zip(times.tolist(), values.tolist(), strict=True), strict=True)), +counts


def columns(given):
    return {name: [record[place] for record in given] for place, name in enumerate(NAMES)}


def text(separator, opened=open):
    def written(given, folder):
        path = (
            folder / f"ratings{'.csv' if separator == ',' else '.tsv'}{'.gz' if opened is gzip.open else ''}"
        )
        with opened(path, "wt", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([NAMES, *given])
        return path

    return written


def double_colons(given, folder):
    path = folder / "ratings.dat"
    path.write_text("".join("::".join(record) + "\n" for record in given), encoding="utf-8")
    return path


def json_lines(given, folder):
    path = folder / "ratings.jsonl"
    lines = [json.dumps(dict(zip(NAMES, record, strict=True))) + "\n" for record in given]
    path.write_text("".join(lines) or json.dumps(dict.fromkeys(NAMES)) + "\n")
    return path


def parquet(given, folder):
    pl.DataFrame(columns(given), schema=dict.fromkeys(NAMES, pl.String)).write_parquet(
        folder / "ratings.parquet"
    )
    return folder / "ratings.parquet"


def arrow(given, folder):
    return pa.table(columns(given), schema=pa.schema([(name, pa.string()) for name in NAMES])).to_reader(3)


SOURCES = {
    "csv": text(","),
    "tsv, gzipped": text("\t", gzip.open),
    "::": double_colons,
    "json lines": json_lines,
    "parquet": parquet,
    "polars": lambda given, _: pl.DataFrame(columns(given), schema=dict.fromkeys(NAMES, pl.String)),
    "a lazy frame": lambda given, _: pl.LazyFrame(columns(given), schema=dict.fromkeys(NAMES, pl.String)),
    "pandas": lambda given, _: pd.DataFrame(columns(given), dtype=object),
    "an Arrow stream": arrow,
}


@pytest.mark.parametrize("source", SOURCES)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(given=records, domain=st.sampled_from([SCALE, LIKES, ROSTER]), disk=st.booleans())
def test_every_kind_of_source_gives_what_a_dictionary_gives(tmp_path_factory, source, given, domain, disk):
    made = SOURCES[source](given, tmp_path_factory.mktemp("source"))
    with load(made, domain, where="disk" if disk else "memory") as people:
        rows, lost = found(people)
    if source == "json lines" and not given:  # a line without any cell stands for the keys
        lost = Counter()
    want, want_lost = expected(given, domain)
    if domain.likes is not None:
        rows, want = ({key: time for key, (time, _) in each.items()} for each in (rows, want))
    assert rows == want
    assert lost == want_lost


ASKING = Domain(["1", "2"], counts=3, max_users=100, personal_epsilon={"strict": 0.5})
asked = st.lists(
    st.tuples(
        st.sampled_from(["a", "a", "b", ""]),
        st.sampled_from(["1", "1", "2", "3"]),
        st.sampled_from(["1", "2", "2", "1.4", "9", "0", "x", ""]),
        st.sampled_from(["strict", "2", "1.5", "1", "0", "-1", "inf", "often"]),
    ),
    max_size=20,
)


def counted(given):
    """Return what becomes of counts and requested ε: user → ε, (user, item) → count; and what is lost."""
    epsilons, counts, lost = {}, Counter(), Counter(records=len(given))
    for user, item, count, epsilon in given:
        requested = ASKING.personal_epsilon.get(epsilon, number(epsilon))
        valid = requested >= 0 and math.isfinite(requested)
        if not user:
            lost["user_id"] += 1
            continue
        epsilons[user] = min(epsilons.get(user, math.inf), requested if valid else 0)
        if not valid:
            lost["personal_epsilon"] += 1
        elif item not in ASKING.items:
            lost["item_id"] += 1
        elif not number(count) >= 0.5:
            lost["rating"] += 1
        else:
            value = min(math.floor(number(count) + 0.5), 3)
            lost["clamped"] += number(count) > 3
            lost["rounded"] += number(count) <= 3 and number(count) != value
            counts[user, item] += value
    lost["clamped"] += sum(count > 3 for count in counts.values())
    return epsilons, {key: min(count, 3) for key, count in counts.items()}, +lost


@settings(max_examples=60, deadline=None, derandomize=True)
@given(given=asked)
def test_counts_add_up_and_the_smallest_epsilon_of_all_records_holds(given):
    names = ("user_id", "item_id", "count", "personal_epsilon")
    columns = {name: pa.array([record[at] for record in given], pa.string()) for at, name in enumerate(names)}
    people = load(pa.table(columns), ASKING)
    rows, lost = found(people)
    epsilons, counts, want_lost = counted(given)
    assert {key: count for key, (_, count) in rows.items()} == counts
    asked_for = dict(zip(people.users.to_pylist(), people.personal_epsilon.tolist(), strict=True))
    assert asked_for == {user: epsilons[user] for user, _ in counts}
    assert lost == want_lost
