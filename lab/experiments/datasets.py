"""Public data sets by name: which file holds one, and what everybody knows about it.

Privacy: what is known of a data set is public, its ratings are private.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from platformdirs import user_cache_dir

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.errors import ConfigError
from lab.experiments.download import SETS, get


@dataclass(frozen=True, slots=True)
class Named:
    """A public data set.

    Attributes:
        files: where it may lie in a folder of data sets, in this order: as one table of ``user, item,
            rating``, or as its publisher writes it.
        frame: rating scale, an upper bound on the number of users, and the first and last item id, unless
            ids are not a range.
    """

    files: tuple[str, ...]
    frame: Mapping[str, Any]


def _movielens(name: str, file: str, last: int) -> Named:
    known = SETS[name]
    frame = {"items": (1, last), "scale": known.scale, "max_users": known.max_users}
    return Named((f"{name}.parquet", f"{name}/{file}"), frame)


NAMED = {
    "ml-100k": _movielens("ml-100k", "u.data", 1682),
    "ml-1m": _movielens("ml-1m", "ratings.dat", 3952),
    "ml-10m": _movielens("ml-10m", "ratings.dat", 65133),
    "filmtrust": Named(
        ("filmtrust.parquet", "filmtrust/ratings.txt"),
        {"items": (1, 2071), "scale": (0.5, 4, 0.5), "max_users": 2000},
    ),
    "anime": Named(
        ("anime-5k-users.parquet", "anime/ratings.csv"),
        {"items": (1, 7390), "scale": (1, 10, 1), "max_users": 5000},
    ),
    "ml-latest-small": Named(
        ("ml-latest-small.parquet", "ml-latest-small/ratings.csv"),
        {"scale": (0.5, 5, 0.5), "max_users": 1000},
    ),
    "ciao": Named(("ciao.parquet", "ciao/ratings.csv"), {"scale": (1, 5, 1), "max_users": 10_000}),
    "netflix-sample": Named(
        ("netflix-sample/netflix-100k-rows.parquet", "netflix-sample/ratings.csv"),
        {"scale": (1, 5, 1), "max_users": 50_000},
    ),
}


def find(name: str, folder: Path | None = None) -> Path:
    """The file of a data set: in the folder, or else where ``python -m lab data get`` keeps it.

    Args:
        name: one of ``NAMED``.
        folder: of data sets.

    Raises:
        ConfigError: It is in neither place.
    """
    return _find(name, folder, NAMED[name].files)


def catalogue(name: str, folder: Path | None = None) -> Path:
    """The publisher's list of the items of a data set, with their titles and genres; found as its ratings.

    Raises:
        ConfigError: It is in neither place.
    """
    return _find(name, folder, (SETS[name].catalogue,))


def _find(name: str, folder: Path | None, files: Sequence[str]) -> Path:
    places = ([folder] if folder else []) + [Path(user_cache_dir("hushrec")) / "data"]
    for place in places:
        for file in files:
            if (path := place / file).is_file():
                return path
    where = f"in {folder}" if folder else "on this machine"
    fetch = f"run python -m lab data get {name}, or " if name in SETS else ""
    raise ConfigError(
        f"the data set {name} is not {where}; {fetch}give --data FOLDER with {' or '.join(files)} in it"
    )


def table(name: str, folder: Path | None = None) -> pl.DataFrame:
    """The ratings of a data set as ``user, item, rating``, ids as text. Privacy: private."""
    path, frame = find(name, folder), dict(NAMED[name].frame)
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


def fetch(name: str, folder: Path | None = None) -> Path:
    """The file of a data set; from the web, if it is not on this machine and can be fetched.

    Raises:
        ConfigError: It is not here, and cannot be fetched.
        DownloadError: Fetching failed.
    """
    try:
        return find(name, folder)
    except ConfigError:
        if name not in SETS:
            raise
        return get(name).ratings
