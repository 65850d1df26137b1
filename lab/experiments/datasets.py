"""Public data sets by name: what everybody knows about one, which file holds it, and where it can be fetched.

The publisher's server is tried first, then a mirror if there is one. An archive is accepted only if its
checksum is the published one: the SHA-256 that several independent projects pin, or the publisher's own MD5
where no SHA-256 is known. TLS certificates are always verified.

Privacy: what is known of a data set is public, its ratings are private.
"""

import hashlib
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import polars as pl
from platformdirs import user_cache_dir

from hushrec import files
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import ConfigError

_GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
_MIRROR = "https://huggingface.co/datasets/Recommenders/MovieLens/resolve/main/"
_TIMEOUT = 30  # seconds without a byte


@dataclass(frozen=True, slots=True)
class Archive:
    """Where a data set is fetched.

    Attributes:
        urls: tried in this order.
        digest: ``sha256:…`` or ``md5:…`` of the archive.
        ratings: the member with the ratings.
        catalogue: the member with the publisher's list of items, with their titles and genres.
    """

    urls: tuple[str, ...]
    digest: str
    ratings: str
    catalogue: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """A public data set.

    Attributes:
        files: where it may lie in a folder of data sets, in this order: as one table of ``user, item,
            rating``, or as its publisher writes it.
        frame: rating scale, an upper bound on the number of users, and the first and last item id, unless
            ids are not a range.
        archive: where it is fetched, if it can be.
    """

    files: tuple[str, ...]
    frame: Mapping[str, Any]
    archive: Archive | None = None


def _movielens(
    name: str, digest: str, members: tuple[str, str], *, mirrored: bool = False, **frame: Any
) -> DataSet:
    urls = (f"{_GROUPLENS}{name}.zip",) + ((f"{_MIRROR}{name}.zip",) if mirrored else ())
    archive = Archive(urls, digest, *members)
    return DataSet((f"{name}.parquet", f"{name}/{_base(members[0])}"), frame, archive)


def _base(path: str) -> str:
    return PurePosixPath(path).name


def _of_csv(name: str, digest: str, max_users: int, *, mirrored: bool = False) -> DataSet:
    members = f"{name}/ratings.csv", f"{name}/movies.csv"
    return _movielens(name, digest, members, mirrored=mirrored, scale=(0.5, 5, 0.5), max_users=max_users)


SETS = {
    "ml-100k": _movielens(
        "ml-100k",
        "sha256:50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        ("ml-100k/u.data", "ml-100k/u.item"),
        mirrored=True,
        items=(1, 1682),
        scale=(1, 5, 1),
        max_users=1_000,
    ),
    "ml-1m": _movielens(
        "ml-1m",
        "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        ("ml-1m/ratings.dat", "ml-1m/movies.dat"),
        items=(1, 3952),
        scale=(1, 5, 1),
        max_users=10_000,
    ),
    "ml-10m": _movielens(
        "ml-10m",
        "sha256:813c411ccb6122564edfe752e7f80c4dcc5aa25fa94c93622f6877a7ba252862",
        ("ml-10M100K/ratings.dat", "ml-10M100K/movies.dat"),
        items=(1, 65133),
        scale=(0.5, 5, 0.5),
        max_users=100_000,
    ),
    "ml-20m": _of_csv(
        "ml-20m",
        "sha256:96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
        200_000,
        mirrored=True,
    ),
    "ml-25m": _of_csv(
        "ml-25m", "sha256:8b21cfb7eb1706b4ec0aac894368d90acf26ebdfb6aced3ebd4ad5bd1eb9c6aa", 200_000
    ),
    "ml-32m": _of_csv("ml-32m", "md5:d472be332d4daa821edc399621853b57", 500_000),
    "ml-latest-small": _of_csv(
        "ml-latest-small", "sha256:696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436", 1_000
    ),
    "filmtrust": DataSet(
        ("filmtrust.parquet", "filmtrust/ratings.txt"),
        {"items": (1, 2071), "scale": (0.5, 4, 0.5), "max_users": 2000},
    ),
    "anime": DataSet(
        ("anime-5k-users.parquet", "anime/ratings.csv"),
        {"items": (1, 7390), "scale": (1, 10, 1), "max_users": 5000},
    ),
    "ciao": DataSet(("ciao.parquet", "ciao/ratings.csv"), {"scale": (1, 5, 1), "max_users": 10_000}),
    "netflix-sample": DataSet(
        ("netflix-sample/netflix-100k-rows.parquet", "netflix-sample/ratings.csv"),
        {"scale": (1, 5, 1), "max_users": 50_000},
    ),
}
FETCHED = {name: known.archive for name, known in SETS.items() if known.archive}
"""Those that can be fetched."""


def find(name: str, folder: Path | None = None) -> Path:
    """The file of a data set: in the folder, or else where ``python -m lab data get`` keeps it.

    Args:
        name: one of ``SETS``.
        folder: of data sets.
    """
    return _find(name, folder, SETS[name].files)


def catalogue(name: str, folder: Path | None = None) -> Path:
    """The publisher's list of the items of a data set that can be fetched; found as its ratings."""
    member = FETCHED[name].catalogue
    return _find(name, folder, tuple({f"{name}/{_base(member)}": None, member: None}))


def _find(name: str, folder: Path | None, wanted: tuple[str, ...]) -> Path:
    for place in ([folder] if folder else []) + [_cache()]:
        for file in wanted:
            if (path := place / file).is_file():
                return path
    where = f"in {folder}" if folder else "on this machine"
    fetch = f"run python -m lab data get {name}, or " if name in FETCHED else ""
    raise ConfigError(
        f"the data set {name} is not {where}; {fetch}give --data FOLDER with {' or '.join(wanted)} in it"
    )


def _cache() -> Path:
    return Path(user_cache_dir("hushrec")) / "data"


def table(name: str, folder: Path | None = None) -> pl.DataFrame:
    """The ratings of a data set as ``user, item, rating``, ids as text."""
    path, frame = find(name, folder), dict(SETS[name].frame)
    if path.suffix == ".parquet":
        found = pl.read_parquet(path)
    elif "items" not in frame:
        found = pl.read_csv(path, infer_schema=False, columns=[0, 1, 2])
        found.columns = ["user", "item", "rating"]
    else:
        first, last = frame.pop("items")
        domain = Domain([str(item) for item in range(first, last + 1)], max_per_user=last, **frame)
        found = pl.DataFrame(load(path, domain).table()).rename({"user_id": "user", "item_id": "item"})
    return found.select(pl.col("user", "item").cast(pl.String), pl.col("rating").cast(pl.Float64))


def get(name: str, directory: Path | None = None, source: Path | None = None) -> tuple[Path, Path]:
    """Ratings and catalogue of a data set: those in the directory, else from the web or a local archive.

    Args:
        name: one of ``FETCHED``.
        directory: where data sets are stored; the user's cache directory by default.
        source: an archive that you fetched by other means; it must match the known checksum too.
    """
    if name not in FETCHED:
        raise ConfigError(f"data set {name!r} is unknown; those that can be fetched are {', '.join(FETCHED)}")
    known, folder = FETCHED[name], (directory or _cache()) / name
    if not folder.exists():
        with files.refusing(folder, "written", ConfigError, "choose another directory"):
            folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as work:
            archive = source or _download(name, known, Path(work) / "archive.zip")
            _verify(archive, known.digest)
            with files.whole_folder(folder) as finished, zipfile.ZipFile(archive) as opened:
                for member in (known.ratings, known.catalogue):
                    (finished / _base(member)).write_bytes(opened.read(member))
    return folder / _base(known.ratings), folder / _base(known.catalogue)


def _download(name: str, known: Archive, archive: Path) -> Path:
    """The archive from the first source that has the right one."""
    failures = []
    for url in known.urls:
        try:
            with urlopen(url, timeout=_TIMEOUT) as answer, archive.open("wb") as file:
                shutil.copyfileobj(answer, file)
            _verify(archive, known.digest)
            return archive
        except (OSError, HTTPException, ConfigError) as error:
            failures.append(f"{url}: {error}")
    raise ConfigError(
        f"{name} could not be fetched ({'; '.join(failures)}); fetch the archive by other means and run: "
        f"python -m lab data get {name} --from {_base(known.urls[0])}"
    )


def _verify(archive: Path, digest: str) -> None:
    algorithm, _, expected = digest.partition(":")
    fix = "give the archive that was published"
    with files.refusing(archive, "read", ConfigError, fix), archive.open("rb") as file:
        found = hashlib.file_digest(file, algorithm).hexdigest()
    if found != expected:
        raise ConfigError(f"not the published archive: its {algorithm} is {found}, it should be {expected}")


def fetch(name: str, folder: Path | None = None) -> Path:
    """The file of a data set; from the web, if it is not on this machine and can be fetched."""
    try:
        return find(name, folder)
    except ConfigError:
        if name not in FETCHED:
            raise
        return get(name)[0]
