import pytest

from hushrec.data.readers.sources import recognise
from hushrec.errors import ConfigError
from lab.experiments import datasets
from lab.experiments.download import SETS


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


def test_only_what_is_absent_is_fetched(tmp_path, monkeypatch):
    asked = []

    class Got:
        ratings = tmp_path / "got"

    monkeypatch.setattr(datasets, "get", lambda name: asked.append(name) or Got)
    here = touch(tmp_path / "ml-100k" / "u.data")
    assert (datasets.fetch("ml-100k", tmp_path), asked) == (here, [])
    assert (datasets.fetch("ml-1m", tmp_path), asked) == (Got.ratings, ["ml-1m"])
    with pytest.raises(ConfigError, match="anime is not in"):
        datasets.fetch("anime", tmp_path)
    assert asked == ["ml-1m"]


@pytest.mark.parametrize("name", datasets.NAMED)
def test_files_are_what_load_reads_and_where_they_are_fetched_to(name, tmp_path):
    known = datasets.NAMED[name]
    assert all(recognise(tmp_path / file) for file in known.files)
    if name in SETS:
        assert f"{name}/{SETS[name].ratings.rpartition('/')[2]}" in known.files


def test_a_table_of_a_set_whose_ids_are_no_range_has_the_first_three_columns(tmp_path):
    path = touch(tmp_path / "ml-latest-small" / "ratings.csv")
    path.write_text("userId,movieId,rating,timestamp\r\n1,193609,4.5,7\r\n", encoding="utf-8")
    assert datasets.table("ml-latest-small", tmp_path).rows() == [("1", "193609", 4.5)]


def test_the_publishers_list_of_items_is_looked_for_beside_the_ratings(tmp_path):
    listed = touch(tmp_path / "ml-1m" / "movies.dat")
    assert datasets.catalogue("ml-1m", tmp_path) == listed
    with pytest.raises(ConfigError, match=r"give --data FOLDER with ml-100k/u\.item in it"):
        datasets.catalogue("ml-100k", tmp_path)
