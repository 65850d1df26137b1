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
from lab.experiments import download
from lab.experiments.download import SETS, DataSet, DownloadError, get

MEMBERS = {
    "toy/ratings.dat": b"1::10::5::978300760\n2::20::3::978300761\n",
    "toy/movies.dat": b"10::Mis\xe9rables, Les::Drama\n20::Heat::Action\n",
    "toy/README": b"terms",
}


def packed(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


ARCHIVE = packed(MEMBERS)


def known(urls=(), archive=ARCHIVE, algorithm="sha256"):
    digest = f"{algorithm}:{hashlib.new(algorithm, archive).hexdigest()}"
    return DataSet(tuple(urls), digest, "toy/ratings.dat", "toy/movies.dat", (1, 5, 1), 100)


@pytest.fixture
def toy(monkeypatch):
    """Registers a set of the given description under the name «toy»."""
    return lambda *args, **kwargs: monkeypatch.setitem(SETS, "toy", known(*args, **kwargs))


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


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_planted_archive_is_refused(tmp_path, server, toy, algorithm):
    folder, address = server
    (folder / "toy.zip").write_bytes(ARCHIVE[:-1] + b"x")
    toy([f"{address}/toy.zip"], algorithm=algorithm)
    with pytest.raises(DownloadError, match=f"not the published archive: its {algorithm} is"):
        get("toy", tmp_path / "home")
    with pytest.raises(DownloadError, match="not the published archive"):
        get("toy", tmp_path / "home", source=folder / "toy.zip")
    assert left_over(tmp_path / "home") == []
    assert not (tmp_path / "home" / "toy").exists()


def test_a_server_with_a_bad_certificate_is_not_trusted(tmp_path, server, toy):
    """Plain text where TLS is due: refused, never retried without TLS."""
    folder, address = server
    (folder / "toy.zip").write_bytes(ARCHIVE)
    toy([f"{address.replace('http:', 'https:')}/toy.zip"])
    with pytest.raises(DownloadError, match="SSL"):
        get("toy", tmp_path / "home")


def test_paths_in_the_archive_do_not_matter(tmp_path, toy, monkeypatch):
    """Members that climb out are not looked at; those that are wanted land under their last names."""
    evil = packed({**MEMBERS, "../evil": b"x", "/etc/evil": b"x", "toy/../../ratings.dat": b"x"})
    (tmp_path / "toy.zip").write_bytes(evil)
    description = known(archive=evil)
    monkeypatch.setitem(
        SETS, "toy", DataSet((), description.digest, "toy/../../ratings.dat", "toy/movies.dat", (1, 5, 1), 9)
    )
    fetched = get("toy", tmp_path / "home", source=tmp_path / "toy.zip")
    assert fetched.ratings == tmp_path / "home" / "toy" / "ratings.dat"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "movies.dat",
        "ratings.dat",
        "toy.zip",
    ]


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
