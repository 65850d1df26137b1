"""What an Arrow file claims is added up before it is read: rightly, and whatever it claims."""

import subprocess
import sys

import polars as pl
import pytest

from hushrec.data.readers.containers.arrow import ipc_size

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


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
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
