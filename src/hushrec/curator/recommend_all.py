"""Lists for every user of a table, made by its holder. It measures nothing and charges nothing.

Lists of users whose rows a Spark cluster keeps are made where the rows are. Executors get the release, which
is public, and the domain. No ledger and no grant is near.

Privacy: private. Each list is a function of its user's own rows, and no guarantee covers it.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hushrec import files
from hushrec.arrays import Bools
from hushrec.data import tables as stored
from hushrec.data.anywhere import AnyPeople
from hushrec.data.declarations import ids_of
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.data.spark.people import SparkPeople, blocks_in
from hushrec.data.spark.session import contained
from hushrec.errors import DataError
from hushrec.models.du_leighton_patel.released_data import SUFFIXES
from hushrec.progress import Progress, fraction, telling
from hushrec.release.artefact import Release
from hushrec.release.own_items import like_weights, weigh
from hushrec.release.top_n import Ranked, Ranking, Rows

_SCHEMA = pa.schema(
    [("user_id", pa.string()), ("item_id", pa.string()), ("score", pa.float64()), ("rank", pa.int64())]
)


def recommend_all(
    release: Release,
    data: AnyPeople,
    n: int = 10,
    *,
    allowed: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> Iterator[pa.Table]:
    """The ``n`` best items for every user who gave something, block of users by block of users.

    Each user's list is what ``Client.recommend`` gives for the same rows and times: no one gets an item that
    they gave, and listed users fold in their own rows too.

    Args:
        release: any release.
        data: what each user gave, in memory or in a folder, under the catalogue and scale of the
            release. For a release of likes, ratings on that scale are accepted too: no rated item is listed
            then, and those of the middle count half. Likes alone do not tell these items.
        n: length of each list, 1 or more; shorter for users with fewer items left.
        allowed: ids of the only items that may be listed; the whole catalogue by default. Ids that are not in
            the catalogue are ignored.
        progress: called with the part of the lists that is done, in hundredths of the users; see
            ``hushrec.progress``.

    Yields:
        tables ``user_id, item_id, score, rank``, in the order of the users, best item first, with
        the scores of ``Recommendation``.

    Raises:
        ConfigError: ``n`` is below 1.
        DataError: The data are not of the release's catalogue, scale or kind, a block is damaged, or
            ``allowed`` is not a list of ids.
        ReleaseError: The release's numbers are unusable.

    Privacy: private: no guarantee covers the lists. Show each user their own list, and publish none.
    """
    listing = Listing(release, data.domain, n, allowed)
    n_listed = 0
    with telling(progress), fraction("recommending") as listed:
        for table, n_users in _on_all_cores(listing.table, _parts(data, listing.n_users)):
            yield table
            n_listed += n_users
            listed.reach(n_listed, data.n_users)


class Listing:
    """Turns a block of users into their lists; several threads may use it at once.

    Args:
        release, n, allowed: as in ``recommend_all``.
        domain: that of the blocks.

    Attributes:
        n_users: how many users at most a block should have.

    Privacy: post-processing of a release.
    """

    def __init__(self, release: Release, domain: Domain, n: int, allowed: Iterable[str] | None) -> None:
        self._release, self._rated = release, _takes_ratings(release, domain)
        listable = None if allowed is None else _listable(release, allowed)
        self._ranking = Ranking(release, n, allowed=listable)
        self._items = pa.array(release.items, pa.string())
        self.n_users = self._ranking.n_users

    def table(self, block: People) -> pa.Table:
        """Lists of all users of a block, as ``recommend_all`` yields them. Privacy: private."""
        rows, release = Rows(block.indptr, block.items, block.numbers()), self._release
        if release.feedback == "ratings":
            return _table(block.users, self._items, self._ranking.of(rows))
        weights = np.ones(len(rows.items))
        if self._rated and release.scale is not None and release.likes is not None:
            weights = like_weights(rows.values, release.scale, release.likes)
        used = weigh(rows, weights, block.timestamps)
        return _table(block.users, self._items, self._ranking.of(used, seen=rows))


def _parts(data: AnyPeople, size: int) -> Iterator[People]:
    """All users in order, at most ``size`` at once."""
    for block in data.blocks():
        for start in range(0, block.n_users, size):
            yield block.slice(start, min(start + size, block.n_users))


def _on_all_cores(
    make: Callable[[People], pa.Table], parts: Iterator[People]
) -> Iterator[tuple[pa.Table, int]]:
    """Yield the result and number of users of each part, in their order; a few are made ahead."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pool, pending = ThreadPoolExecutor(threads), deque[tuple[Future[pa.Table], int]]()
    try:
        for part in parts:
            pending.append((pool.submit(make, part), part.n_users))
            # Two parts for each thread keep all busy; more would only hold more lists in memory.
            if len(pending) > 2 * threads:
                table, n_users = pending.popleft()
                yield table.result(), n_users
        for table, n_users in pending:
            yield table.result(), n_users
    finally:
        pool.shutdown(cancel_futures=True)


def _takes_ratings(release: Release, domain: Domain) -> bool:
    """Whether rows are ratings and the release is of likes."""
    scale = None if domain.rating_scale is None else tuple(domain.rating_scale)
    alike = release.items == domain.items and release.scale == scale and release.counts == domain.counts
    if not alike or domain.likes not in (release.likes, None):
        raise DataError(
            "the release and the table have different catalogues, scales or kinds of feedback; load the "
            "table with the domain that the release was fitted with"
        )
    return release.likes is not None and domain.likes is None


def _listable(release: Release, allowed: Iterable[str]) -> Bools:
    try:
        names = set(ids_of(allowed))
    except ValueError as error:
        raise DataError(f"allowed: {error}") from None
    return np.array([item in names for item in release.items], dtype=np.bool_)


def _table(users: Any, items: Any, ranked: Ranked) -> pa.Table:
    user, place = np.nonzero(ranked.items >= 0)
    listed = items.take(pa.array(ranked.items[user, place]))
    columns = users.take(pa.array(user)).cast(pa.string()), listed, ranked.scores[user, place], place + 1
    return pa.table([*map(pa.array, columns)], _SCHEMA)


def write_lists(tables: Iterable[pa.Table], path: str | Path) -> None:
    """Write tables of ``recommend_all`` to one file, table by table; the file appears once it is complete.

    Args:
        tables: read once, in order.
        path: a new file, ending in ``.parquet`` or ``.csv``. Only its owner may read it (0600).

    Privacy: private, as the tables.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise DataError(f"name it {path.name}.parquet or {path.name}.csv: lists have one of these formats")
    if path.exists():
        raise DataError(f"{path} exists; choose another file")
    with (
        files.refusing(path, "written", DataError, "choose another file"),
        files.whole(path, mode=0o600, new=True) as file,
    ):
        stored.write(tables, _SCHEMA, file, path.suffix)


_SPARK_SCHEMA = "user_id string, item_id string, score double, rank long"


def recommend_on_spark(
    release: Release, data: SparkPeople, n: int = 10, *, allowed: Iterable[str] | None = None
) -> Any:
    """The ``n`` best items for every user who gave something, as a DataFrame of Spark.

    The lists are those of ``recommend_all``, bit for bit on the same kind of processor. Each user's list is
    made in one task, with one thread, and its rows stay together, best item first. Nothing runs until the
    DataFrame is written or shown, with Spark's own writers. Executors fetch the release once.

    Args:
        release: any release.
        data: what each user gave, under the catalogue and scale of the release.
        n, allowed: as in ``recommend_all``.

    Returns:
        a ``pyspark.sql.DataFrame`` with the columns ``user_id, item_id, score, rank``.

    Raises:
        ConfigError, DataError, ReleaseError: as in ``recommend_all``, before anything runs; or the data
            were not loaded with ``where="spark"``.

    Privacy: private: no guarantee covers the lists. Show each user their own list, and publish none.
    """
    if not getattr(data, "sums_only", False):
        raise DataError(
            "recommend_on_spark takes what hushrec.load keeps in Spark; load the table first, with "
            "where='spark', or make the lists of what is in memory or in files with recommend_all"
        )
    ids = allowed if allowed is None or isinstance(allowed, str) else [*allowed]
    facts = release.to_bytes(), data.domain, n, ids
    _make_listing(*facts)  # raises here what would fail on every executor
    sent = data.frame.sparkSession.sparkContext.broadcast(facts)
    return data.frame.mapInArrow(partial(_lists, sent, data.domain, data.max_per_user), _SPARK_SCHEMA)


def write_folder(lists: Any, folder: str) -> None:
    """Write lists as a folder of Parquet files.

    Args:
        lists: what ``recommend_on_spark`` returns.
        folder: a new folder. A path is on this machine, which all executors must reach; it appears once it is
            complete, and only its owner may open it. A URI, such as ``hdfs:…`` or ``s3a:…``, is written as
            Spark does: it is complete once it holds ``_SUCCESS``, and its permissions are the file system's.

    Privacy: private, as the lists.
    """
    if ":" in folder.partition("/")[0]:
        contained(lambda: _write(lists.write, folder))
        return
    place = Path(folder).absolute()
    if place.exists():
        raise DataError(f"{folder} exists; choose another folder")
    with (
        files.refusing(folder, "written", DataError, "choose another folder"),
        files.whole_folder(place, new=True) as temporary,
    ):
        contained(lambda: lists.write.mode("append").parquet(temporary.as_uri()))


def _write(writer: Any, folder: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        writer.parquet(folder)
    except AnalysisException:  # nothing else can be wrong with the plan
        raise DataError(f"{folder} exists; choose another folder") from None


def _make_listing(release: bytes, domain: Domain, n: int, allowed: list[str] | str | None) -> Listing:
    return Listing(Release.from_bytes(release), domain, n, allowed)


@lru_cache(maxsize=1)  # of a Python worker, which serves many tasks
def _listing(sent: Any) -> Listing:
    return _make_listing(*sent.value)


def _lists(sent: Any, domain: Domain, max_per_user: int | None, batches: Iterator[Any]) -> Iterator[Any]:
    """Arrow batches of lists, from Arrow batches of packed rows; runs on an executor."""
    listing = _listing(sent)
    for batch in batches:
        for _, block in blocks_in(batch, domain):
            people = block if max_per_user is None else block.capped(max_per_user)
            for start in range(0, people.n_users, listing.n_users):
                part = people.slice(start, min(start + listing.n_users, people.n_users))
                yield from listing.table(part).to_batches()
