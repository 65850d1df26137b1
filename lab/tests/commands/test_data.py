from urllib.error import URLError

import pytest

from lab.experiments.download import SETS


@pytest.fixture
def offline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def unreachable(url, timeout):
        raise URLError("Network is unreachable")

    monkeypatch.setattr("lab.experiments.download.urlopen", unreachable)


def test_list_names_every_set(lab):
    shown = lab("data list").out
    assert all(name in shown for name in SETS)


def test_what_is_not_the_published_archive_is_refused(tmp_path, refused, offline):
    (tmp_path / "train.csv").write_text("user_id,item_id,rating\n")
    assert "not the published archive" in refused("data get ml-1m --from train.csv --to sets")
    assert "data set 'nosuch' is unknown" in refused("data get nosuch --to sets")
