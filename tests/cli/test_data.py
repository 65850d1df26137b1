from urllib.error import URLError

import pytest

from hushrec.data.download import SETS


@pytest.fixture
def offline(monkeypatch):
    def unreachable(url, timeout):
        raise URLError("Network is unreachable")

    monkeypatch.setattr("hushrec.data.download.urlopen", unreachable)


def test_list_names_every_set(hushrec):
    shown = hushrec("data list").out
    assert all(name in shown for name in SETS)


def test_offline_is_an_error_with_its_fix(here, hushrec, offline):
    error = hushrec("data get ml-1m --to sets", code=2).err
    assert "Network is unreachable" in error
    assert "hushrec data get ml-1m --from ml-1m.zip" in error


def test_what_is_not_the_published_archive_is_refused(here, refused):
    assert "not the published archive" in refused("data get ml-1m --from train.csv --to sets")
    assert "no data set 'nosuch' is known" in refused("data get nosuch --to sets")


def test_a_set_that_is_there_needs_no_network(here, hushrec, offline):
    (here / "sets" / "ml-1m").mkdir(parents=True)
    shown = hushrec("data get ml-1m --to sets").out
    assert "Next: hushrec domain --items sets/ml-1m/movies.dat --scale 1 5 1 --max-users 10000" in shown
