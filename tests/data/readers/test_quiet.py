"""What polars says as it fails reaches no terminal, and what others write meanwhile does."""

import os
import subprocess
import sys
import threading

import polars as pl
import pytest

from hushrec.data.readers.quiet import quiet
from hushrec.errors import DataError

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
