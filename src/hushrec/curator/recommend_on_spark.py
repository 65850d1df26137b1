"""Lists for every user whose rows a Spark cluster keeps, made where the rows are. It measures nothing.

Executors get the release, which is public, and the domain. No ledger and no grant is near.

Privacy: private. Each list is a function of its user's own rows, and no guarantee covers it.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from hushrec import files
from hushrec.curator.recommend_all import Listing
from hushrec.data.domain import Domain
from hushrec.data.spark.packed_rows import feedback_in
from hushrec.data.spark.session import contained
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import DataError
from hushrec.release.artefact import Release

__all__ = ["recommend_on_spark", "write_folder"]

_SCHEMA = "user_id string, item_id string, score double, rank long"


def recommend_on_spark(
    release: Release, data: SparkFeedback, n: int = 10, *, allowed: Iterable[str] | None = None
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
    _made(*facts)  # raises here what would fail on every executor
    sent = data.frame.sparkSession.sparkContext.broadcast(facts)
    return data.frame.mapInArrow(partial(_lists, sent, data.domain, data.max_per_user), _SCHEMA)


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


def _made(release: bytes, domain: Domain, n: int, allowed: list[str] | str | None) -> Listing:
    return Listing(Release.from_bytes(release), domain, n, allowed)


@lru_cache(maxsize=1)  # of a Python worker, which serves many tasks
def _listing(sent: Any) -> Listing:
    return _made(*sent.value)


def _lists(sent: Any, domain: Domain, max_per_user: int | None, batches: Iterator[Any]) -> Iterator[Any]:
    """Arrow batches of lists, from Arrow batches of packed rows; runs on an executor."""
    import pyarrow as pa

    text = pa.string()
    schema = pa.schema([("user_id", text), ("item_id", text), ("score", pa.float64()), ("rank", pa.int64())])
    listing = _listing(sent)
    for batch in batches:
        for _, block in feedback_in(batch, domain):
            people = block if max_per_user is None else block.capped(max_per_user)
            for start in range(0, people.n_users, listing.n_users):
                part = people.slice(start, min(start + listing.n_users, people.n_users))
                yield from listing.table(part).to_arrow().cast(schema).to_batches()
