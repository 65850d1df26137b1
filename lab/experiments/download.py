"""Public data sets: downloaded once, verified, and unpacked into files that ``load`` reads.

The publisher's server is tried first, then a mirror if there is one. An archive is accepted only if its
checksum matches the known one: the SHA-256 that several independent projects pin for the published archive,
or the publisher's own MD5 where no SHA-256 is known. TLS certificates are always verified.
"""

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.request import urlopen

from platformdirs import user_cache_dir

from hushrec import files
from hushrec.errors import HushrecError

_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_MIRROR = "https://huggingface.co/datasets/Recommenders/MovieLens/resolve/main/"
_CHUNK = 1 << 20
_MAX_ARCHIVE = 1 << 30
_MAX_MEMBER = 4 << 30
_TIMEOUT = 30  # seconds without a byte

__all__ = ["SETS", "DataSet", "DownloadError", "Fetched", "get"]


class DownloadError(HushrecError, OSError):
    """A data set could not be fetched, or its SHA-256 differs from the published one."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Public facts about a data set.

    Attributes:
        urls: where to download the archive, tried in this order.
        digest: ``sha256:…`` or ``md5:…`` of the archive.
        ratings: the archive member with the ratings.
        catalogue: the archive member with the publisher's list of items.
        scale: the rating scale.
        max_users: the published number of users, rounded up.

    Privacy: public.
    """

    urls: tuple[str, ...]
    digest: str
    ratings: str
    catalogue: str
    scale: tuple[float, float, float]
    max_users: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """A data set on this machine.

    Attributes:
        name: name of the data set.
        ratings: the file that ``load`` reads.
        catalogue: the publisher's list of items.

    Privacy: public.
    """

    name: str
    ratings: Path
    catalogue: Path


def _movielens(name: str, digest: str, max_users: int, *, mirrored: bool = False) -> DataSet:
    """A data set in CSV, with half stars."""
    urls = (f"{_GROUPLENS}{name}.zip",) + ((f"{_MIRROR}{name}.zip",) if mirrored else ())
    return DataSet(urls, digest, f"{name}/ratings.csv", f"{name}/movies.csv", (0.5, 5, 0.5), max_users)


SETS = {
    "ml-100k": DataSet(
        (f"{_GROUPLENS}ml-100k.zip", f"{_MIRROR}ml-100k.zip"),
        "sha256:50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        "ml-100k/u.data",
        "ml-100k/u.item",
        (1, 5, 1),
        1_000,
    ),
    "ml-1m": DataSet(
        (f"{_GROUPLENS}ml-1m.zip", f"{_MIRROR}ml-1m.zip"),
        "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        "ml-1m/ratings.dat",
        "ml-1m/movies.dat",
        (1, 5, 1),
        10_000,
    ),
    "ml-10m": DataSet(
        (f"{_GROUPLENS}ml-10m.zip", f"{_MIRROR}ml-10m.zip"),
        "sha256:813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
        "ml-10M100K/ratings.dat",
        "ml-10M100K/movies.dat",
        (0.5, 5, 0.5),
        100_000,
    ),
    "ml-20m": _movielens(
        "ml-20m",
        "sha256:96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
        200_000,
        mirrored=True,
    ),
    "ml-25m": _movielens(
        "ml-25m", "sha256:8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa", 200_000
    ),
    "ml-32m": _movielens("ml-32m", "md5:d472be332d4daa821edc399621853b57", 500_000),
    "ml-latest-small": _movielens(
        "ml-latest-small", "sha256:696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436", 1_000
    ),
}


def get(name: str, directory: str | Path | None = None, source: str | Path | None = None) -> Fetched:
    """Files of a data set: from the directory if present, else from the web or from a local archive.

    Args:
        name: one of ``SETS``.
        directory: where data sets are stored; the user's cache directory by default.
        source: an archive that you fetched by other means; it must match the known checksum too.

    Returns:
        the paths of the files.

    Raises:
        DownloadError: the name is unknown, the download failed, or the archive is not the published one.

    Privacy: public.
    """
    if name not in SETS:
        raise DownloadError(f"data set {name!r} is unknown; the known ones are {', '.join(SETS)}")
    known = SETS[name]
    home = Path(directory) if directory is not None else Path(user_cache_dir("hushrec")) / "data"
    folder = home / name
    if not folder.exists():
        with files.refusing(home, "written", DownloadError, "choose another directory"):
            home.mkdir(parents=True, exist_ok=True)
        with files.draft(folder) as work:  # a folder with the set's name is always complete
            archive = Path(source) if source is not None else _fetched(name, known, work)
            _verify(archive, known.digest)
            _unpack(archive, known, work / name)
            if not folder.exists():
                files.publish(work / name, folder)
    return Fetched(name, folder / _file(known.ratings), folder / _file(known.catalogue))


def _fetched(name: str, known: DataSet, work: Path) -> Path:
    """The archive from the first source that has the right one."""
    failures = []
    for url in known.urls:
        archive = work / "archive.zip"
        try:
            with urlopen(url, timeout=_TIMEOUT) as answer, archive.open("wb") as file:
                _copy(answer, file, _MAX_ARCHIVE)
            _verify(archive, known.digest)
            return archive
        except (OSError, HTTPException) as error:
            failures.append(f"{url}: {error}")
    raise DownloadError(
        f"{name} could not be fetched ({'; '.join(failures)}); fetch the archive by other means and run: "
        f"python -m lab data get {name} --from {_file(known.urls[0])}"
    )


def _verify(archive: Path, digest: str) -> None:
    algorithm, _, expected = digest.partition(":")
    fix = "give the archive that was published"
    with files.refusing(archive, "read", DownloadError, fix), archive.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected:
        raise DownloadError(f"not the published archive: its {algorithm} is {found}, it should be {expected}")


def _unpack(archive: Path, known: DataSet, folder: Path) -> None:
    """Write the wanted members under their base names, so that paths in the archive have no effect."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in (known.ratings, known.catalogue):
                with opened.open(member) as packed, (folder / _file(member)).open("wb") as file:
                    _copy(packed, file, _MAX_MEMBER)
    except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, RuntimeError) as error:
        raise DownloadError(f"{archive} is not a zip archive of this data set: {error}") from None


def _copy(source: IO[bytes], target: IO[bytes], limit: int) -> None:
    size = 0
    while chunk := source.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise DownloadError(f"over {limit} bytes, which is more than the data set has")
        target.write(chunk)


def _file(path: str) -> str:
    return PurePosixPath(path).name
