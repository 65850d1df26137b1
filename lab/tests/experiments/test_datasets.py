import pytest

from hushrec.errors import ConfigError
from lab.experiments import datasets


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setattr(datasets, "user_cache_dir", lambda _: str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_a_folder_counts_before_the_cache_and_a_table_before_the_publishers_file(tmp_path, cache):
    folder = tmp_path / "sets"
    kept = touch(cache / "ml-1m" / "ratings.dat")
    assert datasets.find("ml-1m") == datasets.find("ml-1m", folder) == kept
    published = touch(folder / "ml-1m" / "ratings.dat")
    assert datasets.find("ml-1m", folder) == published
    ours = touch(folder / "ml-1m.parquet")
    assert datasets.find("ml-1m", folder) == ours
    assert datasets.find("ml-1m") == kept


def test_what_is_absent_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match=r"is not on this machine; run python -m lab data get ml-100k, or"):
        datasets.find("ml-100k")
    wanted = r"filmtrust is not in .*; give --data FOLDER with filmtrust\.parquet or filmtrust/ratings\.txt"
    with pytest.raises(ConfigError, match=wanted):
        datasets.find("filmtrust", tmp_path)
