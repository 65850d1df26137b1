"""The same table of ratings in every database that is read, with cells of all kinds."""

import sqlite3
from pathlib import Path

import polars as pl

QUERY = "SELECT user_id, item_id, rating, timestamp FROM ratings"
SECRET = "SECRET"
"""How every text begins that no message may hold."""
ODD = [
    (f"{SECRET} a", "10", "4", 5),
    (f"{SECRET} a", "10", "5", 9),
    ("007", "20", "3.4", 7),
    ("7", "20", "-2", 7),
    ("9007199254740993", "30", "1e0", 1 << 39),
    ("9007199254740992", "30", "99", 1),
    ("naïve", "10", "2", 3),
    ("nai\u0308ve", "20", "2", 4),
    ("", "10", "2", 4),
    ("x" * 257, "10", "2", 4),
    (" spaced ", "10", "2", None),
    ('quo"ted, \n', "20", "2", 4),
    ("NULL", "30", "inf", 4),
    ("NA", "30", "nan", -5),
    ("NA", "20", f"{SECRET} rating", 4),
    ("NA", "10", None, 4),
    (None, "10", "3", 4),
    ("NA", None, "3", 4),
    ("NA", "elsewhere", "3", 4),
]
"""Ratings that a cleaner keeps, changes or drops; ratings are text, so that any value may stand there."""


def frame(rows: list[tuple] = ODD) -> pl.DataFrame:
    """The rows as a table of text, with the timestamp as an integer."""
    texts = dict.fromkeys(("user_id", "item_id", "rating"), pl.String)
    return pl.DataFrame(rows, schema=texts | {"timestamp": pl.Int64}, orient="row")


def sqlite(path: Path, rows: list[tuple] = ODD) -> Path:
    """A file of SQLite with the table ``ratings``."""
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE TABLE ratings (user_id TEXT, item_id TEXT, rating TEXT, timestamp INTEGER)")
        database.executemany("INSERT INTO ratings VALUES (?, ?, ?, ?)", rows)
    database.close()
    return path


def duckdb(path: Path, rows: list[tuple] = ODD) -> Path:
    """A file of DuckDB with the table ``ratings``."""
    import duckdb as library

    with library.connect(str(path)) as database:
        database.execute("CREATE TABLE ratings (user_id TEXT, item_id TEXT, rating TEXT, timestamp BIGINT)")
        database.register("given", frame(rows).to_arrow())
        database.execute("INSERT INTO ratings SELECT * FROM given")
    return path


def postgresql(server, rows: list[tuple] = ODD) -> str:
    """A new database of a server with the table ``ratings``: its address, with the password."""
    import psycopg

    address = server.url(server.database())
    with psycopg.connect(address) as database:
        database.execute("CREATE TABLE ratings (user_id text, item_id text, rating text, timestamp bigint)")
        with database.cursor().copy("COPY ratings FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
    return address
