"""Whether this machine has enough memory for a fit; checked before the charge."""

from pathlib import Path

import psutil

from hushrec.data.feedback import Feedback
from hushrec.data.packed.blocks import RATINGS_PER_BLOCK, Blocks
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import MemoryExceeded
from hushrec.statistics.footprint import Footprint, in_bytes

_ROOT = Path("/sys/fs/cgroup")
_FILES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""Limit and usage files of a control group, version 2 and version 1; /proc/self/cgroup names the group."""


def require_memory(model: str, footprint: Footprint, ratings: Feedback | Blocks | SparkFeedback) -> None:
    """Refuse a fit that needs more memory than this machine has, before it costs anything.

    Args:
        footprint: what the fit needs.
        ratings: private; of ratings in block files one block is held, unless the fit gathers all of them, and
            of ratings in Spark none.

    Privacy: public, except for the refusal itself, which tells as much as running out of memory would.
    """
    n_users = ratings.n_users
    if isinstance(ratings, Blocks):
        n_ratings = ratings.n_entries if footprint.gathered else RATINGS_PER_BLOCK
    elif isinstance(ratings, SparkFeedback):
        n_ratings = n_users = 0
    else:
        n_ratings = len(ratings.items)
    whole, free = machine()
    if footprint.held(n_ratings, n_users) <= free:
        return
    lower = f"a smaller {footprint.lowered_by}" if footprint.lowered_by else "a smaller catalogue or rank"
    raise MemoryExceeded(
        f"{model} needs {footprint.room}; this machine has {in_bytes(whole)}, of which too little is free. "
        f"Nothing was charged. Choose {lower}, another model (hushrec plan shows what each needs), "
        "or a machine with more memory"
    )


def machine(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> tuple[int, int]:
    """Bytes of memory that this process may use at most, and that are still free for it.

    The smaller of the machine's and the process's control group's.

    Args:
        root: where control groups are mounted.
        own: the file that names the process's groups.

    Privacy: public; free memory depends on the ratings in memory, so no message may show it.
    """
    memory = psutil.virtual_memory()
    whole, free = memory.total, memory.available
    for group in _groups(root, own):
        for names in _FILES.values():
            try:
                limit, used = (int((group / name).read_text()) for name in names)
                cached = _cached(group)
            except (OSError, ValueError):  # not there, or "max"
                continue
            whole, free = min(whole, limit), min(free, limit - used + cached)
    return whole, max(free, 0)


def _groups(root: Path, own: Path) -> list[Path]:
    """The folders of this process's groups and of their parents, which also limit it."""
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not Linux
        return []
    found = []
    for line in lines:
        _, kind, name = line.split(":", 2)
        if kind in _FILES:
            place = root / kind / name.lstrip("/")
            found += [folder for folder in (place, *place.parents) if folder.is_relative_to(root / kind)]
    return found


def _cached(group: Path) -> int:
    """The part of a group's usage that the kernel frees on demand: cached files."""
    lines = (group / "memory.stat").read_text().splitlines()
    stated = dict(line.split() for line in lines)
    return int(stated.get("total_inactive_file", stated.get("inactive_file", "0")))
