"""Data sets are found where they lie, and fetched only as they were published."""

import hashlib
import io
import zipfile

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import ConfigError
from lab.experiments import datasets
from lab.experiments.datasets import Archive, get

MEMBERS = {
    "toy/../../ratings.dat": b"1::10::5::978300760\n2::20::3::978300761\n",
    "toy/movies.dat": b"10::Mis\xe9rables, Les::Drama\n20::Heat::Action\n",
    "../evil": b"x",
}
FILE = io.BytesIO()
with zipfile.ZipFile(FILE, "w") as archive:
    for name, content in MEMBERS.items():
        archive.writestr(name, content)
PACKED = FILE.getvalue()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Registers a set under the name toy, of which a server has these bytes."""

    def served(content=PACKED):
        known = f"sha256:{hashlib.sha256(PACKED).hexdigest()}", "toy/../../ratings.dat", "toy/movies.dat"
        monkeypatch.setitem(datasets.FETCHED, "toy", Archive(("https://here/toy.zip",), *known))
        monkeypatch.setattr(datasets, "urlopen", lambda url, timeout: io.BytesIO(content))
        return tmp_path / "home"

    return served


def test_fetched_files_load_and_lie_under_their_last_names(served):
    """Members that climb out are not looked at."""
    home = served()
    ratings, catalogue = get("toy", home)
    domain = Domain.from_catalogue(catalogue, scale=(1, 5, 1), max_users=100)
    rows = pl.DataFrame(load(ratings, domain).table()).rows()
    assert rows == [("1", "10", 5.0, 978300760), ("2", "20", 3.0, 978300761)]
    found = {path.relative_to(home.parent).as_posix() for path in home.parent.rglob("*") if path.is_file()}
    assert found == {"home/toy/ratings.dat", "home/toy/movies.dat"}


def test_a_planted_archive_is_refused(served, tmp_path):
    home = served(PACKED[:-1] + b"x")
    (tmp_path / "toy.zip").write_bytes(PACKED[:-1] + b"x")
    for source in (None, tmp_path / "toy.zip"):
        with pytest.raises(ConfigError, match="not the published archive: its sha256 is"):
            get("toy", home, source=source)
    assert not list(home.iterdir())


@pytest.fixture
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


def test_what_is_absent_is_refused_with_what_to_do(tmp_path, cache):
    with pytest.raises(ConfigError, match=r"is not on this machine; run python -m lab data get ml-100k, or"):
        datasets.find("ml-100k")
    wanted = r"filmtrust is not in .*; give --data FOLDER with filmtrust\.parquet or filmtrust/ratings\.txt"
    with pytest.raises(ConfigError, match=wanted):
        datasets.find("filmtrust", tmp_path)
