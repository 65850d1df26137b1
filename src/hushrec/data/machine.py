"""The memory of this machine that this process may use."""

from pathlib import Path

import psutil

_ROOT = Path("/sys/fs/cgroup")
_FILES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""Limit and usage files of a control group, version 2 and version 1; /proc/self/cgroup names the group."""


def machine(root: Path = _ROOT, cgroup_list: Path = Path("/proc/self/cgroup")) -> tuple[int, int]:
    """Return the bytes of memory that this process may use at most, and those that are still free for it.

    Each is the smaller of the machine's and of its control groups'.

    Args:
        root: where control groups are mounted.
        cgroup_list: the file that names the process's groups.

    Privacy: public; free memory depends on the ratings in memory, so no message may show it.
    """
    memory = psutil.virtual_memory()
    whole, free = memory.total, memory.available
    for group in _groups(root, cgroup_list):
        for names in _FILES.values():
            try:
                limit, used = (int((group / name).read_text()) for name in names)
                cached = _cached(group)
            except (OSError, ValueError):  # not there, or "max"
                continue
            whole, free = min(whole, limit), min(free, limit - used + cached)
    return whole, max(free, 0)


def _groups(root: Path, cgroup_list: Path) -> list[Path]:
    """Return the folders of this process's groups and of their parents, which also limit it."""
    try:
        lines = cgroup_list.read_text().splitlines()
    except OSError:  # not Linux
        return []
    groups = []
    for line in lines:
        _, kind, name = line.split(":", 2)
        if kind in _FILES:
            place = root / kind / name.lstrip("/")
            groups += [folder for folder in (place, *place.parents) if folder.is_relative_to(root / kind)]
    return groups


def _cached(group: Path) -> int:
    """Return the bytes of a group's usage that the kernel frees on demand: cached files."""
    lines = (group / "memory.stat").read_text().splitlines()
    statistics = dict(line.split() for line in lines)
    return int(statistics.get("total_inactive_file", statistics.get("inactive_file", "0")))
