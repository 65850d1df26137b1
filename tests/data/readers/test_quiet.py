"""Files that were made to do harm: no cell reaches a message or the terminal, and nothing takes forever."""

import os
import struct
import subprocess
import sys
import threading
import time
import tracemalloc

import pandas as pd
import polars as pl
import pytest

from hushrec.data.catalogue import read_ids
from hushrec.data.cleaning import Intake
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.arrow import ipc_size
from hushrec.data.readers.binary import parquet_size
from hushrec.data.readers.quiet import quiet
from hushrec.errors import DataError, DomainError

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99)


def refused(source):
    with pytest.raises(DataError) as caught:
        load(source, DOMAIN)
    assert caught.value.__context__ is None
    assert "SECRET" not in str(caught.value)
    return str(caught.value)


# -- cells in messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "column"),
    [
        ("rating", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))),
        ("timestamp", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))),
        ("rating", pl.Series([["SECRET"]], dtype=pl.List(pl.Enum(["SECRET"])))),
        ("user_id", pl.Series([{"SECRET": 1}])),
        ("item_id", pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"])).reshape((1, 1))),
    ],
)
def test_the_type_of_a_column_does_not_tell_its_values(role, column, tmp_path):
    table = pl.DataFrame({"user_id": ["a"], "item_id": ["10"], "rating": [1]}).with_columns(
        column.alias(role)
    )
    said = refused(table)
    assert f"column {role} is of type " in said
    assert str(column.dtype.base_type()) in said


def test_a_catalogue_that_was_taken_from_ratings_is_not_read_out(tmp_path):
    (tmp_path / "ids.csv").write_text('id,title\n1,x\nSECRET,"y\n"SECRET",z,SECRET\n')
    pl.DataFrame({"id": pl.Series(["SECRET"], dtype=pl.Enum(["SECRET"]))}).write_parquet(
        tmp_path / "ids.parquet"
    )
    for name in ("ids.csv", "ids.parquet"):
        with pytest.raises(DomainError) as caught:
            read_ids(tmp_path / name)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("failure", [pl.exceptions.PanicException, pl.exceptions.ComputeError])
def test_what_polars_says_while_ratings_are_cleaned_is_not_passed_on(failure, monkeypatch):
    def gives_up(*_):
        raise failure("SECRET")

    monkeypatch.setattr(Intake, "_cleaned", gives_up)
    assert "polars cannot work" in refused(pl.DataFrame({"user_id": ["a"], "item_id": ["10"], "rating": [1]}))


def test_what_other_libraries_say_is_not_passed_on():
    class Cell(int):
        def __str__(self):
            raise ValueError("SECRET")

    table = pd.DataFrame({"user_id": pd.Series([Cell(1)], dtype=object), "item_id": ["10"], "rating": [1]})
    assert "column user_id cannot be read" in refused(table)


# -- the terminal -----------------------------------------------------------------------------------------

FLIPS = """
import random, sys
from pathlib import Path
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError

path, random = Path(sys.argv[1]), random.Random(0)
content = path.read_bytes()
for _ in range(250):
    flipped = bytearray(content)
    for _ in range(random.randint(1, 3)):
        flipped[random.randrange(len(flipped))] ^= random.randint(1, 255)
    path.write_bytes(flipped)
    try:
        load(path, Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99))
    except DataError:
        pass
print("done")
"""


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_panics_do_not_reach_the_terminal(tmp_path, kind):
    table = pl.DataFrame({"user": ["SECRET"] * 400, "item": ["10", "20"] * 200, "rating": [1, 2, 3, 4] * 100})
    path = tmp_path / f"r.{kind}"
    table.write_parquet(path, row_group_size=150) if kind == "parquet" else table.write_ipc(path)
    environment = {**os.environ, "RUST_BACKTRACE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FLIPS, str(path)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_what_others_write_meanwhile_is_passed_on(capfd):
    with quiet():
        os.write(2, b"a log line\n")
        with quiet():
            os.write(2, b"and another\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "a log line\nand another\n"


def test_what_is_written_where_reading_fails_is_dropped(capfd):
    def fails():
        with quiet():
            os.write(2, b"thread panicked at SECRET\n")
            raise DataError("damaged")

    with quiet(), pytest.raises(DataError):
        fails()
    assert capfd.readouterr().err == ""
    with quiet():
        os.write(2, b"later\n")
    os.write(2, b"and after\n")
    assert capfd.readouterr().err == "later\nand after\n"


def test_blocks_of_several_threads_share_one_silence(capfd):
    def work():
        for _ in range(50):
            with quiet():
                os.write(2, b"x")

    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert capfd.readouterr().err == "x" * 400
    assert not before or len(os.listdir("/proc/self/fd")) == before


def test_a_process_without_standard_error_reads_all_the_same(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\na,10,1\n")
    code = (
        "import os, sys; os.close(2)\n"
        "from hushrec.data.domain import Domain\nfrom hushrec.data.load import load\n"
        "print(load(sys.argv[1], Domain(['10'], scale=(1, 5, 1), max_users=9)).n_ratings)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r.csv")], capture_output=True, text=True
    )
    assert done.stdout == "1\n"


# -- Parquet's footer -------------------------------------------------------------------------------------


def footer(path, data):
    path.write_bytes(b"PAR1" + data + struct.pack("<I", len(data)) + b"PAR1")
    return path


FOOTERS = {
    "a number without end": b"\x36" + b"\xff" * 1_000_000,
    "numbers of eleven bytes": (b"\x16" + b"\xff" * 10 + b"\x01") * 75_000,
    "empty records": b"\x19\xfc" + b"\x80\x80\x40" + b"\x00" * 1_050_000,
    "lists in lists": b"\x19" + b"\x19" * 1_000_000,
    "records in records": b"\x1c" * 1_000_000,
    "bytes": b"\x19\xf3" + b"\x80\x80\x40" + b"\x00" * 1_050_000,
}


@pytest.mark.parametrize("kind", FOOTERS)
def test_a_footer_takes_time_and_memory_as_its_size(tmp_path, kind):
    path = footer(tmp_path / "r.parquet", FOOTERS[kind])
    start = time.perf_counter()
    assert "no Parquet file" in refused(path)
    assert time.perf_counter() - start < 12
    if kind == "empty records":  # a dictionary each would be 64 times the footer
        path = footer(tmp_path / "r.parquet", b"\x19\xfc" + b"\xa0\x8d\x06" + b"\x00" * 100_000)
        tracemalloc.start()
        refused(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * path.stat().st_size
        tracemalloc.stop()


def test_footers_with_other_fields_in_between_are_understood(tmp_path):
    pl.DataFrame({"a": range(7)}).write_parquet(
        tmp_path / "r.parquet", row_group_size=3, metadata={"k": "v" * 10_000}, statistics="full"
    )
    assert parquet_size(tmp_path / "r.parquet")[0] == 7


def test_a_first_line_that_may_be_somebodys_rating_is_not_shown(tmp_path):
    (tmp_path / "r.csv").write_text("SECRET,Alien,NA\nSECRET,Heat,5\n")
    assert "none is shown" in refused(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_text("userId;movieId;stars\nSECRET;Heat;5\n")
    assert "it has userId;movieId;stars" in refused(tmp_path / "r.csv")


# -- Arrow's buffers --------------------------------------------------------------------------------------

CLAIM = """
import struct, sys
from pathlib import Path
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import DataError

path = Path(sys.argv[1])
content, found = path.read_bytes(), 0
domain = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99)
for at in range(8, len(content) - 8, 8):
    for claim in (2**60, 2**40, 2**62 + 7):
        path.write_bytes(content[:at] + struct.pack("<q", claim) + content[at + 8 :])
        try:
            load(path, domain)
        except DataError:
            found += 1
print(found > len(content) // 32)
"""


@pytest.mark.parametrize("compression", ["uncompressed", pytest.param("lz4", marks=pytest.mark.full), "zstd"])
def test_no_claim_of_an_arrow_file_ends_the_process(tmp_path, compression):
    path = tmp_path / "r.arrow"
    table = pl.DataFrame({"user": ["SECRET"] * 30, "item": ["10", "20"] * 15, "rating": [1, 2, 3] * 10})
    table.with_columns(pl.col("item").cast(pl.Categorical)).write_ipc(path, compression=compression)
    done = subprocess.run(
        [sys.executable, "-c", CLAIM, str(path)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_the_size_of_an_arrow_file_is_what_it_unpacks_to(tmp_path, compression, n):
    import pyarrow.feather as feather

    long = [f"a text of more than twelve bytes, number {i}" for i in range(n)]
    table = pl.DataFrame({"a": range(n), "b": long, "c": [None] * n}, schema_overrides={"c": pl.Int8})
    table = table.with_columns(pl.col("b").cast(pl.Categorical).alias("d"))
    table.write_ipc(tmp_path / "polars.arrow", compression=compression)
    feather.write_feather(
        table.to_arrow(), tmp_path / "pyarrow.arrow", compression=compression, chunksize=300
    )
    for name in ("polars.arrow", "pyarrow.arrow"):
        rows, unpacked = ipc_size(tmp_path / name)
        assert rows == n
        assert n * 52 <= unpacked <= 4 * table.estimated_size() + 4096
