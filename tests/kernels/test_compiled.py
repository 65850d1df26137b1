"""Loops run wherever numba could keep them, and where it could not."""

import numba
import pytest
from numba.core import caching

from hushrec.kernels.compiled import compiled


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder in which loops that are decorated from now on are kept."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def twice(x):
    return x + x


def test_a_loop_is_kept_and_found_again(folder):
    assert compiled(nogil=True)(twice)(21) == 42
    assert [*folder.rglob("*.nbc")]
    again = compiled(nogil=True)(twice)
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1


def test_without_a_folder_it_is_compiled_in_every_process(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(twice)
    loop = compiled()(twice)
    assert loop(21) == 42
    assert loop.stats.cache_path is None


@pytest.mark.parametrize("kept_before", [False, True])
def test_a_folder_that_goes_away_stops_no_loop(folder, kept_before):
    """As a disk that fills up between the charge and the first call."""
    if kept_before:
        compiled()(twice)(21)
    loop, fragile = compiled()(twice), numba.njit(cache=True)(twice)
    (place,) = folder.iterdir()
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    place.touch()
    with pytest.raises(OSError, match="Not a directory"):
        fragile(21)
    assert loop(21) == 42
