import hashlib
import io
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import ConfigError
from lab.experiments import datasets, download
from lab.experiments.download import SETS, DataSet, DownloadError, get

MEMBERS = {
    "toy/ratings.dat": b"1::10::5::978300760\n2::20::3::978300761\n",
    "toy/movies.dat": b"10::Mis\xe9rables, Les::Drama\n20::Heat::Action\n",
    "toy/README": b"terms",
}


FILE = io.BytesIO()
with zipfile.ZipFile(FILE, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, content in MEMBERS.items():
        archive.writestr(name, content)
ARCHIVE = FILE.getvalue()


@pytest.fixture
def toy(monkeypatch):
    """Registers a set at these addresses under the name «toy»."""
    digest = f"sha256:{hashlib.sha256(ARCHIVE).hexdigest()}"
    known = digest, "toy/ratings.dat", "toy/movies.dat", (1, 5, 1), 100
    return lambda urls: monkeypatch.setitem(SETS, "toy", DataSet(tuple(urls), *known))


@pytest.fixture
def server(tmp_path):
    """Serves a folder on this machine; gives the folder and its address."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
    thread.start()
    yield folder, f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def left_over(home):
    return [path.name for path in home.iterdir() if path.name != "toy"]


def test_fetched_files_load(tmp_path, server, toy):
    folder, address = server
    (folder / "toy.zip").write_bytes(ARCHIVE)
    toy([f"{address}/toy.zip"])
    fetched = get("toy", tmp_path / "home")
    domain = Domain.from_catalogue(fetched.catalogue, scale=(1, 5, 1), max_users=100)
    assert pl.DataFrame(load(fetched.ratings, domain).table()).rows() == [
        ("1", "10", 5.0, 978300760),
        ("2", "20", 3.0, 978300761),
    ]
    assert left_over(tmp_path / "home") == []


def test_a_planted_archive_is_refused(tmp_path, server, toy):
    folder, address = server
    (folder / "toy.zip").write_bytes(ARCHIVE[:-1] + b"x")
    toy([f"{address}/toy.zip"])
    with pytest.raises(DownloadError, match="not the published archive: its sha256 is"):
        get("toy", tmp_path / "home")
    with pytest.raises(DownloadError, match="not the published archive"):
        get("toy", tmp_path / "home", source=folder / "toy.zip")
    assert left_over(tmp_path / "home") == []
    assert not (tmp_path / "home" / "toy").exists()


def test_what_is_too_large_is_refused(tmp_path, server, toy, monkeypatch):
    folder, address = server
    (folder / "toy.zip").write_bytes(ARCHIVE)
    toy([f"{address}/toy.zip"])
    monkeypatch.setattr(download, "_MAX_MEMBER", 20)
    with pytest.raises(DownloadError, match="over 20 bytes"):
        get("toy", tmp_path / "home")
    monkeypatch.setattr(download, "_MAX_ARCHIVE", 50)
    with pytest.raises(DownloadError, match="over 50 bytes"):
        get("toy", tmp_path / "home")
    assert not (tmp_path / "home" / "toy").exists()


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
    assert datasets.find("ml-1m") == kept


def test_what_is_absent_is_refused_with_what_to_do(tmp_path, cache):
    with pytest.raises(ConfigError, match=r"is not on this machine; run python -m lab data get ml-100k, or"):
        datasets.find("ml-100k")
    wanted = r"filmtrust is not in .*; give --data FOLDER with filmtrust\.parquet or filmtrust/ratings\.txt"
    with pytest.raises(ConfigError, match=wanted):
        datasets.find("filmtrust", tmp_path)
