import json
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


def test_the_list_is_one_object(lab):
    facts = json.loads(lab("data list --json").out)
    assert [*facts] == [*SETS]
    for name, known in SETS.items():
        assert facts[name] == {
            "scale": list(known.scale),
            "max_users": known.max_users,
            "urls": list(known.urls),
        }


def test_offline_is_an_error_with_its_fix(lab, offline):
    error = lab("data get ml-1m --to sets", code=2).err
    assert "Network is unreachable" in error
    assert "python -m lab data get ml-1m --from ml-1m.zip" in error


def test_what_is_not_the_published_archive_is_refused(tmp_path, refused, offline):
    (tmp_path / "train.csv").write_text("user_id,item_id,rating\n")
    assert "not the published archive" in refused("data get ml-1m --from train.csv --to sets")
    assert "data set 'nosuch' is unknown" in refused("data get nosuch --to sets")


def test_a_set_that_is_there_needs_no_network(tmp_path, lab, offline):
    (tmp_path / "sets" / "ml-1m").mkdir(parents=True)
    shown = lab("data get ml-1m --to sets").out
    assert "Next: hushrec domain --items sets/ml-1m/movies.dat --scale 1 5 1 --max-users 10000" in shown
