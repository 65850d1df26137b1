"""What becomes of records, whatever holds them: every kind of source gives what a dictionary gives."""

import csv
import gzip
import json
import math
import unicodedata
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading

CLASSES = {"strict": 0.5, "caf\u00e9": 8.0}
FACTS = {"max_users": 100, "personal_epsilon": CLASSES}
SCALE = {"scale": (1, 5, 0.5)}
KINDS = {
    "ratings": SCALE,
    "likes": SCALE | {"likes": 4},
    "interactions": {},
    "counts": {"counts": 3},
}
COLUMNS = ["user_id", "item_id", "rating", "timestamp", "personal_epsilon"]
USERS = ["a", "A", " a", "\u00e9", "e\u0301", "zz", "007", "7", "NA", "a'b", "x" * 256]
NO_USERS = ["x" * 257, "\u00e9" * 129, ""]
ROSTER = ["a", "\u00e9", "zz", "007"]
VALUES = ["1", "4", "5", " 4.5 ", "3.3", "3.8", "9", "1e1", "+2", "0.7"]
NO_VALUES = ["-1", "0", "nan", "inf", "x", "", "4,5", "1_0", "+-2", "NULL", "true"]
TIMES = ["0", "17", "17.9", "1e9", "2001-02-03", "2001-02-03T04:05:06Z", "2001-02-03 04:05+01:30"]
NO_TIMES = ["soon", "", "-5", "1e15"]
EPSILONS = ["strict", " cafe\u0301\t", "2", " 1.5\t", "1", "0", "0.1"]
NO_EPSILONS = ["", "nan", "inf", "-1", "Strict", "often", "1e400"]
MOMENTS = st.datetimes(
    datetime(1970, 1, 3),
    datetime(2100, 1, 1),
    timezones=st.sampled_from([*map(ZoneInfo, ("UTC", "Asia/Kolkata", "America/St_Johns"))]),
)


def mostly(good, odd):
    return st.sampled_from([*good * (1 + 3 * len(odd) // len(good)), *odd])


record = st.tuples(
    mostly(["a"] * len(USERS) + USERS, NO_USERS),
    mostly(["1", "1", "2", "\u00e9", "e\u0301"], ["3", ""]),
    mostly(VALUES, NO_VALUES),
    st.sampled_from(TIMES) | st.sampled_from(NO_TIMES) | MOMENTS.map(str),
    mostly(EPSILONS, NO_EPSILONS),
)
records = st.sampled_from([12] * 7 + [0]).flatmap(lambda n: st.lists(record, min_size=n, max_size=2 * n))
ABSENT = [[], [], [], ["timestamp"], ["personal_epsilon"], ["timestamp", "personal_epsilon"]]


@st.composite
def worlds(draw):
    """Draw a roster or none, the optional columns that there are, and records."""
    roster, absent = draw(st.sampled_from([None, None, ROSTER])), draw(st.sampled_from(ABSENT))
    there = [place for place, name in enumerate(COLUMNS) if name not in absent]
    given = [tuple(record[place] for place in there) for record in draw(records)]
    return roster, [COLUMNS[place] for place in there], given


# -- the model --------------------------------------------------------------------------------------------


def number(text):
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def moment(text):
    """Return the Unix seconds of a time, and whether they are what it says."""
    if not math.isnan(number(text)):
        return number(text), 0 <= number(text) <= 2**40
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return 0, False
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp(), True


def expected(domain, columns, given):
    """Return users with their ε, (user, item) with time and value, and what is lost."""
    epsilons, rows, lost = {}, {}, Counter(records=len(given))
    lo, hi, step = domain.rating_scale or (1, domain.counts or 1, 1)
    for record in given:
        cells = dict(zip(columns, record, strict=True))
        user, item, epsilon = (
            unicodedata.normalize("NFC", cells.get(name, "0"))
            for name in ("user_id", "item_id", "personal_epsilon")
        )
        epsilon = CLASSES.get(epsilon.strip(), number(epsilon))
        valid = 0 <= epsilon < math.inf
        said = cells.get("count", cells.get("rating"))
        value = number(said) if domain.rating_scale or domain.counts else 1
        if not 1 <= len(user.encode()) <= 256 or (domain.users and user not in domain.users):
            lost["user_id"] += 1
            continue
        epsilons[user] = min(epsilons.get(user, math.inf), epsilon if valid else 0)
        if not valid:
            lost["personal_epsilon"] += 1
        elif item not in domain.items:
            lost["item_id"] += 1
        elif not math.isfinite(value) or (domain.counts and value < 0.5):
            lost["rating"] += 1
        else:
            steps = min(max(math.floor((value - lo) / step + 0.5), 0), round((hi - lo) / step))
            time, known = moment(cells.get("timestamp", "0"))
            lost["clamped"] += not lo <= value <= hi
            lost["rounded"] += lo <= value <= hi and lo + step * steps != value
            lost["timestamp"] += not known
            if not domain.rating_scale and not domain.counts:
                lost["unused"] += said.lower() not in ("", "true", "nan") and number(said) != 1
            rows.setdefault((user, item), []).append((int(min(max(time, 0), 2**40)), steps))
    if domain.counts:
        sums = {pair: (max(every)[0], sum(steps + 1 for _, steps in every)) for pair, every in rows.items()}
        lost["clamped"] += sum(count > domain.counts for _, count in sums.values())
        kept = {pair: (time, min(count, domain.counts)) for pair, (time, count) in sums.items()}
    else:
        lost["duplicate"] = sum(len(every) - 1 for every in rows.values())
        kept = {pair: max(every) for pair, every in rows.items()}
        if domain.likes or not domain.rating_scale:
            kept = {
                pair: (time, 0)
                for pair, (time, steps) in kept.items()
                if lo + step * steps >= (domain.likes or 1)
            }
    return {user: epsilons[user] for user, _ in kept}, kept, +lost


def found(people):
    users, index = people.users.to_pylist(), people.user_index()
    pairs = [(users[u], people.domain.items[i]) for u, i in zip(index, people.items, strict=True)]
    nothing = [0] * len(pairs)
    times, values = (
        nothing if part is None else part.tolist() for part in (people.timestamps, people.values)
    )
    epsilons = [0.0] * len(users) if people.personal_epsilon is None else people.personal_epsilon.tolist()
    lost = Counter({name: getattr(people.dropped, name) for name in people.dropped.__slots__})
    rows = dict(zip(pairs, zip(times, values, strict=True), strict=True))
    return dict(zip(users, epsilons, strict=True)), rows, +lost


# -- sources ----------------------------------------------------------------------------------------------


def cells(columns, given):
    return {name: [record[place] for record in given] for place, name in enumerate(columns)}


def frame(columns, given):
    return pl.DataFrame(cells(columns, given), schema=dict.fromkeys(columns, pl.String))


def text(columns, given, path, separator=",", opened=open):
    with opened(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows([columns, *given])
    return path


def double_colons(columns, given, path):
    path.write_text("".join("::".join(record) + "\n" for record in given), encoding="utf-8")
    return path


def json_lines(columns, given, path):
    path.write_text("".join(json.dumps(dict(zip(columns, record, strict=True))) + "\n" for record in given))
    return path


def parquet(columns, given, path):
    frame(columns, given).write_parquet(path)
    return path


def stream(columns, given, _):
    return pa.table(
        cells(columns, given), schema=pa.schema([(name, pa.string()) for name in columns])
    ).to_reader(3)


def several(columns, given, path):
    half = len(given) // 2
    return [frame(columns, given[half:]), text(columns, given[:half], path)]


SOURCES = {
    "r.csv": text,
    "r.tsv.gz": lambda *made: text(*made, "\t", gzip.open),
    "r.dat": double_colons,
    "r.jsonl": json_lines,
    "r.parquet": parquet,
    "polars": lambda *made: frame(*made[:2]),
    "a lazy frame": lambda *made: frame(*made[:2]).lazy(),
    "pandas, missing cells": lambda *made: pd.DataFrame(cells(*made[:2]), dtype=object).replace("", None),
    "an Arrow stream": stream,
    "a list of a table and r.csv": several,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", SOURCES)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
    phases=[Phase.generate],  # to shrink a fault takes minutes of loading
)
@given(world=worlds(), disk=st.booleans(), batch=st.sampled_from([3, 1 << 17]))
def test_every_kind_of_source_gives_what_a_dictionary_gives(
    tmp_path_factory, source, kind, world, disk, batch
):
    roster, columns, given = world
    columns = ["count" if name == "rating" and kind == "counts" else name for name in columns]
    domain = Domain(["1", "2", "\u00e9"], users=roster, **KINDS[kind], **FACTS)
    positions = source == "r.dat"
    if source == "r.jsonl" and not given:
        given = [("",) * len(columns)]  # since the keys are those of the records
    places = {name: place for place, name in enumerate(columns) if name != "rating" or domain.rating_scale}
    made = SOURCES[source](columns, given, tmp_path_factory.mktemp("source") / source.split()[-1])
    want = expected(domain, columns, given)
    if positions:
        del want[2]["unused"]  # where columns are given by position, no other is looked at
    reading, where = Reading(columns=places if positions else {}), "disk" if disk else "memory"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.clean._BATCH", batch)
        people = load(made, domain, reading, where=where)
    with people:
        assert found(people) == want
        assert people.has_personal_epsilon == ("personal_epsilon" in columns)
        assert (people.timestamps is not None) == ("timestamp" in columns)
        assert people.digest() == people.gathered().digest()
        blocks = replace(people, _per_block=3).blocks()
        assert [row for block in blocks for row in block.table().to_pylist()] == people.table().to_pylist()
