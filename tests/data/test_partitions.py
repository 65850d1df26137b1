"""Records set aside by person: all come back, once, and each person's from one part."""

import numpy as np
import polars as pl
import pytest

from hushrec.data import pack
from hushrec.data.cleaning import Batch
from hushrec.data.pack import Partitions
from hushrec.errors import DataError


def batch(seed, *, timed=True, personal_epsilon=True, n=300):
    """Records of people in any order, one of whom has none and one an id beyond ASCII."""
    rng = np.random.default_rng(seed)
    names = [f"caf\u00e9 {seed}", *(f"user {u}" for u in rng.permutation(50))]
    return Batch(
        pl.Series(names, dtype=pl.String),
        rng.integers(0, len(names) - 1, n).astype(np.int32),
        rng.integers(0, 2**31, n, dtype=np.int32),
        rng.integers(0, 256, n).astype(np.uint8),
        rng.integers(0, 2**40, n) if timed else None,
        rng.random(len(names)) if personal_epsilon else None,
    )


def records(batches):
    found = []
    for names, users, items, steps, times, _ in batches:
        stamps = [None] * len(items) if times is None else times.tolist()
        people = [names[int(user)] for user in users]
        found += zip(people, items.tolist(), steps.tolist(), stamps, strict=True)
    return found


def wishes(batches):
    found = []
    for names, *_, asked in batches:
        found += zip(names, [None] * len(names) if asked is None else asked, strict=True)
    return sorted(found)


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("parts", [1, 7, 150])
def test_what_is_set_aside_comes_back(tmp_path, timed, asks, parts):
    given = [batch(seed, timed=timed, personal_epsilon=asks) for seed in range(3)]
    with Partitions(tmp_path, parts) as spool:
        for each in given:
            spool.add(each)
        assert list(tmp_path.iterdir()) == [], "files without a name"
        taken = [spool.take(part) for part in range(parts)]
    assert [sum(len(each.items) for each in part) for part in taken] == spool.sizes
    together = [each for part in taken for each in part]
    assert sorted(records(together)) == sorted(records(given))
    assert wishes(together) == wishes(given)
    people = [{name for each in part for name in each.names} for part in taken]
    assert sum(map(len, people)) == len(set().union(*people)), "nobody is in two parts"
    assert parts == 1 or sum(map(bool, people)) > min(parts, 20) / 2
    for each, whole in zip(together[0], given[0], strict=True):
        assert (each is None) is (whole is None)
        assert each is None or each.dtype == whole.dtype


def test_records_stay_in_their_order(tmp_path):
    """Within a part, as they were added."""
    first, second = batch(0), batch(1)
    with Partitions(tmp_path, 1) as spool:
        spool.add(first)
        spool.add(second)
        assert records(spool.take(0)) == records([first, second])


def test_parts_share_few_files(tmp_path, monkeypatch):
    made, real = [], pack.tempfile.TemporaryFile
    monkeypatch.setattr(pack.tempfile, "TemporaryFile", lambda **named: made.append(named) or real(**named))
    with Partitions(tmp_path, 512) as spool:
        assert (len(spool.sizes), made) == (512, [{"dir": tmp_path}] * 64)


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    with pytest.raises(DataError, match=r"nowhere cannot be written to: No such file.*; choose another one"):
        Partitions(tmp_path / "nowhere", 3)
