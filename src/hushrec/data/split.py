"""Splits of ratings or interactions into a training part and a test part.

Every split returns pairs ``(train, test)``; only ``held_out_people`` has a third part between them. It is the
same for the same rows and seed, whatever the order of the records in their file. A user who has nothing in a
part is left out of that part. ``load_split`` divides by time, and therefore records: rows are of all times.

Privacy: a split does not spend any budget, but no guarantee covers an error measured on a test part: it is a
function of the test users' data.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (which ratings are held out, no release noise)

from hushrec.arrays import Bools
from hushrec.data.assemble import in_memory
from hushrec.data.clean import Cleaner
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import cleaned, loaded_folder
from hushrec.data.people import People
from hushrec.data.readers.duck import within_room
from hushrec.data.readers.sources import parts_of
from hushrec.data.reading import PLAIN, Reading
from hushrec.data.spark.records import is_frame
from hushrec.errors import DataError
from hushrec.text import is_number, whole


def holdout(feedback: People, fraction: float, seed: int) -> tuple[People, People]:
    """Hold out a random fraction of all ratings, or interactions, as the test part.

    Args:
        fraction: size of the test part, between 0 and 1, rounded to a whole number of them.

    Privacy: private.
    """
    _require_fraction(fraction)
    mask = np.arange(len(feedback.items)) < round(fraction * len(feedback.items))
    _rng(seed).shuffle(mask)
    return _parted(feedback, mask)


def kfold(feedback: People, k: int, seed: int) -> Iterator[tuple[People, People]]:
    """Yield k pairs with disjoint test parts that together hold everything and differ in size by at most one.

    Args:
        k: number of folds, 2 to 255.

    Yields:
        ``(train, test)``.

    Privacy: private.
    """
    if not is_number(k) or not 2 <= k <= 255 or k % 1:
        raise DataError(f"k = {k} is out of range; give 2 to 255 folds")
    folds = (np.arange(len(feedback.items)) % k).astype(np.uint8)
    _rng(seed).shuffle(folds)
    return (_parted(feedback, folds == fold) for fold in range(int(k)))


def held_out_people(
    feedback: People, people: int, seed: int, *, fraction: float = 0.2, least: int = 5
) -> tuple[People, People, People]:
    """Hold out whole users: strong generalisation (Marlin 2004; Liang et al. 2018, §4.1).

    A model is fitted to the other users. Each user who is held out folds in a random part of their items,
    and the rest is to be predicted. For validation users, hold people out of ``train`` once more.

    Args:
        people: number of users who are held out, chosen among those with at least ``least`` items. Users with
            fewer are in the training part like everyone else: a fit never leaves anyone out.
        seed: seed of the choice of users, and of their items.
        fraction: part of a held-out user's items that is to be predicted, rounded to a whole number from 1 to
            all but one.
        least: 2 or more.

    Returns:
        ``(train, fold_in, test)``: all of the other users; then the two parts of those who are held out.

    Privacy: private.
    """
    numbers = all(map(is_number, (people, fraction, least)))
    if not (numbers and people >= 1 and 0 < fraction < 1 and least >= 2 and not people % 1):
        raise DataError(
            "hold out at least one person, and a fraction between 0 and 1 of at least 2 items of each: "
            "change people, fraction or least"
        )
    rng = _rng(seed)
    eligible = np.flatnonzero(feedback.counts >= least)
    if len(eligible) < people:
        raise DataError(f"fewer than {people} people have {least} items or more; lower people or least")
    held_out_users = np.zeros(feedback.n_users, dtype=np.bool_)
    held_out_users[rng.choice(eligible, int(people), replace=False)] = True
    held_out = held_out_users[feedback.user_index()]
    sought = np.clip(np.rint(fraction * feedback.counts), 1, feedback.counts - 1)[held_out_users]
    users = feedback.user_index()[held_out]
    shuffled = np.lexsort((rng.random(len(users)), users))  # user by user, in a random order inside
    starts = np.concatenate([[0], np.cumsum(feedback.counts[held_out_users])[:-1]])
    places = np.arange(len(users)) - np.repeat(starts, feedback.counts[held_out_users])
    test = np.zeros(len(users), dtype=np.bool_)
    test[shuffled] = places < np.repeat(sought, feedback.counts[held_out_users])
    return feedback.select(~held_out), *_parted(feedback.select(held_out), test)


def load_split(source: Any, domain: Domain, split: str, reading: Reading = PLAIN) -> tuple[People, People]:
    """Load records as two parts: what each person did before a cut, and what from the cut on.

    Each part is what ``load`` makes of its records alone. So repeats, changed ratings, counts and times of
    after the cut leave no trace in the training part. A moment is never divided. Records without a time that
    can be read are in neither part.

    Args:
        source, domain, reading: as for ``load``; a folder of people will not do, as its repeats are merged.
        split: where the cut is. ``last``: at the moment when each person came to their last item, that is
            their last one which they had not had before. ``last-fifth``: to the last fifth of their items,
            rounded, at least one. Either leaves what they did first before the cut, and has no cut for people
            of one moment. A day, such as ``2025-03-01``: at its midnight in UTC, for everybody. Only a day
            holds out what others did later, too.

    Returns:
        The training part, which each person folds in too, and the test part, where an item may be again that
        the person had before: ``hushrec.evaluate`` leaves it out. ``dropped`` counts all records.

    Raises:
        DataError: The records have no times, the split is unknown, or leaves one part empty.

    Privacy: private.
    """
    if loaded_folder(source) is not None or is_frame(source):
        raise DataError(
            "a folder of people has merged what was repeated, and a DataFrame stays in Spark: give the files"
        )
    cuts = _cuts(domain, split)
    with within_room(), closing(cleaned(parts_of(source, reading), domain, reading)[0]) as cleaner:
        if not cleaner.timed:
            raise DataError(
                f"a split by time needs times, and these {domain.feedback} have none: name their column, "
                'Reading(columns={"timestamp": ...}) (--column timestamp=NAME)'
            )
        dropped = cleaner.dropped()
        cleaner.db.execute(f"CREATE TEMP TABLE undivided AS {_DIVIDED.format(cuts=cuts)}").fetchall()
        before, since = (_part(cleaner, place, dropped) for place in ("before", "NOT before"))
    if not (before.n_users and since.n_users):
        raise DataError(
            f"a split at {split} leaves nothing before its cut, or nothing from it on: choose a day between "
            "the first and the last, or check the times with hushrec check"
        )
    return before, since


def _rng(seed: int) -> Generator:
    return default_rng(whole(seed, "seed", 0, DataError))


def _require_fraction(fraction: object) -> None:
    if not is_number(fraction) or not 0 <= fraction <= 1:
        raise DataError("fraction must be a number between 0 and 1")


def _parted(feedback: People, test: Bools) -> tuple[People, People]:
    return feedback.select(~test), feedback.select(test)


_DIVIDED = """
-- A record whose time was missing, unreadable or moved has mark 32: it may be of any time.
SELECT records.*, coalesce(time < cut, true) AS before
FROM records LEFT JOIN ({cuts}) USING (user_id) WHERE mark & 32 = 0
"""
_DAY = "SELECT DISTINCT user_id, {time} AS cut FROM records"
_LAST = """
-- When each person came to each of their items, and where this stands from the end.
WITH came AS (
    SELECT user_id, item, min(time) AS time FROM records
    WHERE item IS NOT NULL AND mark & 32 = 0 AND {liked} GROUP BY user_id, item
),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY time DESC) AS from_end,
        count(*) OVER (PARTITION BY user_id) AS items, min(time) OVER (PARTITION BY user_id) AS first
    FROM came
)
SELECT user_id, min(time) FILTER (WHERE from_end <= {most} AND time > first) AS cut
FROM placed GROUP BY user_id
"""
_MOST = {"last": "1", "last-fifth": "greatest(round(items / 5), 1)"}


def _cuts(domain: Domain, split: str) -> str:
    """Return the query of each person's cut, in Unix seconds; null for those who have none."""
    if split in _MOST:
        scale, likes = domain.rating_scale, domain.likes
        liked = "true" if scale is None or likes is None else f"value >= {scale.nearest(np.array(likes))}"
        return _LAST.format(most=_MOST[split], liked=liked)
    with suppress(ValueError, TypeError):
        day = datetime.combine(date.fromisoformat(split), time(), UTC)
        return _DAY.format(time=int(day.timestamp()))
    raise DataError(f"split={split!r} is none; give last, last-fifth or a day such as 2025-03-01 (--split)")


def _part(cleaner: Cleaner, place: str, dropped: Dropped) -> People:
    """Put the records on one side of the cuts together."""
    sql = f"CREATE OR REPLACE TEMP TABLE records AS SELECT * EXCLUDE (before) FROM undivided WHERE {place}"
    cleaner.db.execute(sql).fetchall()
    return replace(in_memory(cleaner, dropped), dropped=dropped)
