"""The memory of this machine, as far as this process may use it."""

import psutil
import pytest

from hushrec.data.machine import machine


def test_the_machine_is_known():
    whole, free = machine()
    assert 0 < free <= whole <= psutil.virtual_memory().total


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_has_less_than_the_machine(tmp_path, version):
    """Its own limit or that of one above it; files in its cache can be given up."""
    own = tmp_path / "cgroup"
    own.write_text("4:memory:/job/one\n1:cpu:/job\n0::/\n" if version == 1 else "0::/job/one\n")
    root = tmp_path / "fs" / "memory" if version == 1 else tmp_path / "fs"
    limit, used = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if version == 1
        else ("memory.max", "memory.current")
    )
    cached = "total_inactive_file" if version == 1 else "inactive_file"
    for group, bound in (("job", "5000000"), ("job/one", "9223372036854771712" if version == 1 else "max")):
        folder = root / group
        folder.mkdir(parents=True)
        (folder / limit).write_text(bound + "\n")
        (folder / used).write_text("1000000\n")
        (folder / "memory.stat").write_text(f"cache 7\n{cached} 200000\n")
    assert machine(tmp_path / "fs", own) == (5_000_000, 4_200_000)


def test_without_control_groups_the_machine_decides(tmp_path):
    whole, free = machine(tmp_path, tmp_path / "nothing")
    assert whole == psutil.virtual_memory().total
    assert free > 0
