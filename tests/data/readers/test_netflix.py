"""The Netflix Prize's files: movies, their ratings and dates, in one file or many."""

import gzip

import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading
from hushrec.errors import DataError

DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 0.5), max_users=99)


def rows(path, **options):
    return load(path, DOMAIN, Reading(**options)).to_polars().rows()


NETFLIX = b"10:\n1,3,1970-01-02\n20:\n30:\n2,4,1970-01-03\n1,5,bad\n"


NETFLIX_ROWS = [("1", "10", 3.0, 86400), ("1", "30", 5.0, 0), ("2", "30", 4.0, 172800)]


@pytest.mark.parametrize("name", ["combined_data_1.txt", "mv_0000010.txt", "combined_data_1.txt.gz"])
def test_netflix_file(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(NETFLIX) if name.endswith(".gz") else NETFLIX)
    assert rows(tmp_path / name) == NETFLIX_ROWS


def test_netflix_folder_of_movies(tmp_path):
    (tmp_path / "mv_0000010.txt").write_bytes(b"10:\r\n1,3,1970-01-02\r\n")
    (tmp_path / "mv_0000020.txt").write_bytes(b"20:\n")
    (tmp_path / "mv_0000030.txt").write_bytes(b"30:\n2,4,1970-01-03\n1,5,bad\n")
    assert rows(tmp_path) == NETFLIX_ROWS


def test_netflix_movies_reach_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.text.BLOCK", 7)
    (tmp_path / "combined_data_1.txt").write_bytes(NETFLIX)
    assert rows(tmp_path / "combined_data_1.txt") == NETFLIX_ROWS


def test_a_probe_has_no_ratings(tmp_path):
    (tmp_path / "probe.txt").write_bytes(b"1:\n30878\n")
    with pytest.raises(DataError, match="pairs without ratings"):
        rows(tmp_path / "probe.txt")
