"""The folder of a series: private, whole after every write, and refused when it is not the latest."""

import stat

import numpy as np
import pytest

from hushrec.curator.series.series_plan import SeriesFolder, require_part
from hushrec.errors import CheckpointError, LedgerStale
from hushrec.privacy.accounting.events import Gaussian
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.ledger.history import Charge
from hushrec.sums.series import Arrivals
from support.series import given

EVENT = Gaussian("counts", 1.0, 2.0, 0.5, 3)


def noisy(*values):
    return {"counts": Noisy("counts", np.array(values, dtype=float), 2.0, 0.5, EVENT)}


def test_what_is_kept_comes_back(tmp_path):
    with SeriesFolder(tmp_path / "year") as folder:
        assert (folder.terms(), folder.part) == ({}, -1)
        assert len(folder.arrivals().table) == 0
        folder.start({"releases": 52, "series": "0a" * 16})
        memory, _ = Arrivals().joined(given({1: [0, 1]}), 0, 3.0)
        folder.remember(0, memory)
    with SeriesFolder(tmp_path / "year") as folder:
        assert (folder.terms()["releases"], folder.part) == (52, 0)
        assert folder.arrivals().table.equals(memory.table)
        mark = folder.mark
        for _ in range(2):  # the second time after a fit that was killed before its charge
            folder.remember(1, memory)
            assert (folder.part, folder.arrivals().before) == (1, mark)
        assert folder.arrivals().table.equals(memory.table)
    assert sorted(path.name for path in (tmp_path / "year").glob("memory*")) == ["memory-0001.parquet"]


def test_only_its_owner_reads_it(tmp_path):
    with SeriesFolder(tmp_path / "year") as folder:
        folder.remember(0, Arrivals())
        for path in (tmp_path / "year", tmp_path / "year" / "memory-0000.parquet"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        with pytest.raises(CheckpointError, match="another process is using this series"):
            SeriesFolder(tmp_path / "year")


def test_measurements_follow_the_catalogue(tmp_path):
    with SeriesFolder(tmp_path / "year") as folder:
        folder.keep(0, noisy(1, 2, 3), ("a", "b", "c"))
        folder.keep(2, noisy(4, 5, 6), ("c", "new", "a"))
        found = folder.measured(EVENT, ("c", "new", "a"))
        assert {part: one.values.tolist() for part, one in found.items()} == {0: [3, 0, 1], 2: [4, 5, 6]}
        assert found[0].sigma == EVENT.deviation


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "ratings.csv").touch()
    with pytest.raises(CheckpointError, match=r"contains other files; choose an empty one for the series$"):
        SeriesFolder(tmp_path)


def charges(made, mark):
    """So many releases of a series, the last of which was measured with a memory of this mark."""
    return [Charge(number, number, "", "", "", memory=mark) for number in range(made)]


@pytest.fixture
def folder(tmp_path):
    with SeriesFolder(tmp_path / "year") as folder:
        folder.start({"series": "0a" * 16})
        yield folder


@pytest.mark.parametrize(("part", "made"), [(-1, 0), (0, 0), (0, 1), (4, 4), (4, 5)])
def test_the_latest_folder_goes_on(folder, part, made):
    marks = [folder.mark]
    for number in range(part + 1):
        folder.remember(number, Arrivals())
        folder.keep(number - 1, noisy(1), ("a",))  # of the one before: the last was perhaps not charged
        marks.append(folder.mark)
    require_part(folder, charges(made, marks[made]))


def test_a_memory_that_does_not_follow_from_the_last_one_stops_the_series(folder):
    """A fit remembers before its charge, and what no charge names yet could be anything."""
    first, _ = Arrivals().joined(given({1: [0, 1], 2: [3]}), 0, 3.0)
    folder.remember(0, first)
    mark, kept = folder.mark, first.to_bytes()
    require_part(folder, charges(1, mark))
    folder.remember(1, first)
    require_part(folder, charges(1, mark))
    folder._folder.write("memory-0001.parquet", kept)  # the older one under the newer name
    with pytest.raises(CheckpointError, match="release 1 of this series was measured with another copy"):
        require_part(folder, charges(1, mark))


@pytest.mark.parametrize(
    ("part", "measured", "made"), [(1, 1, 1), (1, 0, 0), (3, 3, 1), (0, 0, 0), (2, 3, 3)]
)
def test_a_ledger_that_forgot_what_the_folder_measured_does_not_go_on(folder, part, measured, made):
    marks = [folder.mark]
    for number in range(part + 1):
        folder.remember(number, Arrivals())
        marks.append(folder.mark)
    folder.keep(measured, noisy(1), ("a",))
    told = f"the ledger knows {made} releases .* but release {measured + 1} was measured already"
    with pytest.raises(LedgerStale, match=f"{told}.* Put the ledger's latest copy back"):
        require_part(folder, charges(made, marks[made]))


def test_the_mark_of_a_memory_tells_it_from_any_other(folder, tmp_path):
    first, _ = Arrivals().joined(given({1: [0, 1]}), 0, 3.0)
    second, _ = Arrivals().joined(given({1: [0, 2]}), 0, 3.0)
    assert folder.mark == ""
    folder.remember(0, first)
    mark = folder.mark
    folder.remember(0, second)
    assert folder.mark != mark
    with pytest.raises(CheckpointError, match="release 1 of this series was measured with another copy"):
        require_part(folder, charges(1, mark))
    with SeriesFolder(tmp_path / "other") as other:  # the same people in another series
        other.start({"series": "0b" * 16})
        other.remember(0, first)
        assert other.mark != mark


@pytest.mark.parametrize(("part", "made"), [(-1, 1), (3, 5), (5, 4), (3, 2)])
def test_a_folder_that_is_lost_or_older_or_of_another_series_does_not(folder, part, made):
    if part >= 0:
        folder.remember(part, Arrivals())
    with pytest.raises(CheckpointError, match=f"the ledger knows {made} releases"):
        require_part(folder, charges(made, folder.mark))
