"""The memory of this machine, as far as this process may use it."""

import psutil
import pytest

from hushrec.data.machine import machine


def test_the_machine_decides_without_control_groups(tmp_path):
    whole, free = machine()
    assert 0 < free <= whole <= psutil.virtual_memory().total
    whole, free = machine(tmp_path, tmp_path / "nothing")
    assert whole == psutil.virtual_memory().total
    assert free > 0


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_has_less_than_the_machine(tmp_path, version):
    """Its own limit or that of one above it; files in its cache can be given up."""
    own, root = tmp_path / "cgroup", tmp_path / "fs"
    own.write_text("0::/job/one\n")
    limit, used, cached, unlimited = "memory.max", "memory.current", "inactive_file", "max"
    if version == 1:
        own.write_text("4:memory:/job/one\n1:cpu:/job\n0::/\n")
        limit, used, cached = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        root, unlimited = root / "memory", "9223372036854771712"
    for group, bound in (("job", "5000000"), ("job/one", unlimited)):
        (root / group).mkdir(parents=True)
        (root / group / limit).write_text(bound + "\n")
        (root / group / used).write_text("1000000\n")
        (root / group / "memory.stat").write_text(f"cache 7\n{cached} 200000\n")
    assert machine(tmp_path / "fs", own) == (5_000_000, 4_200_000)
