"""Files of ratings, spoilt, and what may come of reading them."""

import gzip
import io
import json
import tempfile
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import polars as pl
from mutations import SECRET, TEXTS, reworded, spoilt

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99, personal_epsilon={"strict": 0.5})
ROWS = [(f"{SECRET}{n % 7}", ["10", "20", "30"][n % 3], str(1 + n % 5), str(10**9 + n)) for n in range(60)]


NAMES = ("userId", "movieId", "rating", "timestamp")


def lines(separator, head=""):
    return head + "".join(separator.join(row) + "\n" for row in ROWS)


QUOTED = "user,item,rating,timestamp\n" + "".join(f'"{u}, ""x""",{i},{r},{t}\n' for u, i, r, t in ROWS)
TEXT = {
    "r.csv": lines(",", "userId,movieId,rating,timestamp\n"),
    "q.csv": QUOTED,
    "r.tsv": lines("\t", "user\titem\trating\tepsilon\n"),
    "u.data": lines("\t"),
    "r.dat": lines("::"),
    "r.txt": lines(" "),
    "r.jsonl": "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS),
}
SEPARATORS = [",", "\t", "::", " ", ":", "\n", '"']


def binaries():
    frame = pl.DataFrame(ROWS, schema=["user", "item", "rating", "timestamp"], orient="row")
    frame = pl.concat([frame] * 4)
    numbers = frame.with_columns(pl.col("rating").cast(pl.Float64), pl.col("timestamp").cast(pl.Int64))
    kinds = [
        frame,
        numbers,
        numbers.with_columns(pl.col("user", "item").cast(pl.Categorical)),
        numbers.with_columns(pl.col("user").cast(pl.Enum(sorted(set(frame["user"]))))),
        numbers.with_columns(pl.when(pl.col("rating") > 2).then(pl.col("rating")), epsilon=pl.lit("strict")),
        numbers.with_columns(pl.from_epoch("timestamp"), note=pl.lit(SECRET)),
    ]
    for number, kind in enumerate(kinds):
        for compression in ("uncompressed", "snappy", "zstd"):
            buffer = io.BytesIO()
            kind.write_parquet(
                buffer, compression=compression, row_group_size=100, statistics=number % 2 == 0
            )
            yield f"{number}.parquet", buffer.getvalue()


BINARY = list(binaries())


def odd_column(random):
    """A column of a type or with values that no ratings have."""
    cells = [
        [date(1, 1, 1), date(9999, 12, 31), None],
        [datetime(1, 1, 1), datetime(9999, 12, 31), None],
        [timedelta(days=10**8), timedelta(0), None],
        [Decimal("1.5"), Decimal("9" * 30), None],
        [SECRET.encode(), b"\xff\x00", None],
        [[SECRET], [], None],
        [{"a": SECRET}, {"a": None}, None],
        [True, False, None],
        [float("nan"), float("inf"), -1e308],
        [2**63, 2**64 - 1, 0],
        [-(2**63), 2**63 - 1, None],
        [None, None, None],
        random.choices(TEXTS, k=3),
    ]
    column = pl.Series(random.choice(cells))
    kinds = [
        pl.Int8,
        pl.Int128,
        pl.Float32,
        pl.String,
        pl.Categorical,
        pl.Date,
        pl.Datetime("ns"),
        pl.Datetime("ms", "UTC"),
        pl.Time,
    ]
    kinds += [pl.Binary, pl.Enum([SECRET, "\x1b[2J"]), pl.Duration("us"), pl.Decimal(38, 3)]
    if random.random() < 0.5:
        try:
            column = column.cast(random.choice(kinds), strict=False)
        except BaseException:  # not what is tested here
            return column
    return column


def odd_table(random):
    columns = {name: pl.Series([SECRET, "10", "1"]) for name in ("user", "item", "rating")}
    if random.random() < 0.5:
        columns[random.choice(["timestamp", "epsilon", *TEXTS])] = pl.Series(["1", "2", "3"])
    for name in random.sample(sorted(columns), random.randrange(1, 3)):
        columns[name] = odd_column(random)
    if random.random() < 0.1:
        columns.pop(random.choice(sorted(columns)))
    return pl.DataFrame(columns)


def refooted(data, random):
    """A Parquet file whose footer alone is spoilt, and as long as it says."""
    size = int.from_bytes(data[-8:-4], "little")
    new = spoilt(data[-8 - size : -8], random, ends=1)
    return data[: -8 - size] + new + len(new).to_bytes(4, "little") + b"PAR1"


def made(random):
    """Name and bytes of a file."""
    kind = random.random()
    if kind < 0.3:
        name, text = random.choice(list(TEXT.items()))
        data = reworded(text, random, SEPARATORS).encode(errors="surrogatepass")
        data = spoilt(data, random) if random.random() < 0.2 else data
        if name != "u.data" and random.random() < 0.2:
            packed = gzip.compress(data, mtime=0)
            return name + ".gz", spoilt(packed, random) if random.random() < 0.5 else packed
        return name, data
    if kind < 0.4:
        table, buffer = odd_table(random), io.BytesIO()
        try:
            table.write_parquet(buffer)
        except BaseException:  # polars cannot write it
            return "t.csv", random.randbytes(random.randrange(2000))
        return "t.parquet", buffer.getvalue()
    if kind < 0.41:
        names = [*TEXT, "r.csv.gz", "r.parquet"]
        return random.choice(names), random.randbytes(random.randrange(5000))
    name, data = random.choice(BINARY)
    if name.endswith("parquet") and random.random() < 0.4:
        return name, refooted(data, random)
    return name, spoilt(data, random)


def used(path, random):
    """Read it; what is printed of what comes out."""
    columns = {}
    if path.suffix in (".csv", ".tsv") and random.random() < 0.1:
        columns = random.choice(
            [{"user_id": 0, "item_id": 1, "rating": 2}, {"user_id": "note"}, {"epsilon": "rating"}]
        )
    ratings = load(path, DOMAIN, Reading(columns=columns), where=random.choice(["memory", "disk"]))
    assert ratings.n_entries == len(ratings.items) == len(ratings.values)
    assert ratings.items.max(initial=0) < 3
    assert ratings.values.max(initial=0) < 5
    return repr(ratings)


# What a reader takes once, when it is first used, is no file's.
with tempfile.TemporaryDirectory() as _folder:
    for _name, _text in TEXT.items():
        Path(_folder, _name).write_text(_text)
        load(Path(_folder, _name), DOMAIN)
