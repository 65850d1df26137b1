"""Splits of ratings or interactions into a training part and a test part.

Every split returns pairs ``(train, test)``; only ``held_out_people`` has a third part between them. It is the
same for the same rows and seed, whatever the order of the records in their file. A user who has nothing in a
part is left out of that part.

Privacy: a split does not spend any budget, but no guarantee covers an error measured on a test part: it is a
function of the test users' data.
"""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (which ratings are held out, no release noise)

from hushrec.arrays import Bools, Ints
from hushrec.data.people import People
from hushrec.errors import DataError
from hushrec.text import is_number, whole

_AFTER_ALL = 1 << 41  # a moment after every timestamp, as cleaning clamps them to 2^40


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


def latest(feedback: People, n: int) -> tuple[People, People]:
    """Hold out each user's n latest entries; of equal timestamps, the later item in the catalogue.

    Privacy: private.
    """
    return _parted(feedback, _latest(feedback, whole(n, "n", 0, DataError)))


def since(
    feedback: People, *, time: int | None = None, fraction: float | None = None
) -> tuple[People, People]:
    """Hold out everything from one moment on, the same moment for all users.

    Args:
        feedback: with timestamps.
        time: the moment, in Unix seconds.
        fraction: choose the moment so that about this part of all ratings, or interactions, comes at it or
            later; more than that if several have its timestamp.

    Privacy: private.
    """
    times = _timestamps(feedback)
    if (time is None) == (fraction is None):
        raise DataError("give either time or fraction, from which on everything is the test part")
    if time is None:
        test_fraction = fraction or 0.0
        _require_fraction(fraction)
        n_train = len(times) - round(test_fraction * len(times))
        time = int(np.partition(times, n_train)[n_train]) if n_train < len(times) else _AFTER_ALL
    elif not is_number(time):
        raise DataError("time must be a number, in Unix seconds")
    return _parted(feedback, times >= time)


def _rng(seed: int) -> Generator:
    return default_rng(whole(seed, "seed", 0, DataError))


def _require_fraction(fraction: object) -> None:
    if not is_number(fraction) or not 0 <= fraction <= 1:
        raise DataError("fraction must be a number between 0 and 1")


def _parted(feedback: People, test: Bools) -> tuple[People, People]:
    return feedback.select(~test), feedback.select(test)


def _timestamps(feedback: People) -> Ints:
    if feedback.timestamps is None:
        raise DataError(
            f"splitting by time needs timestamps, and these {feedback.domain.feedback} have none; "
            "load a timestamp column"
        )
    return feedback.timestamps


def _latest(feedback: People, n: int) -> Bools:
    order = np.lexsort((feedback.items, _timestamps(feedback), feedback.user_index()))
    from_end: Ints = np.repeat(feedback.indptr[1:], feedback.counts) - np.arange(len(feedback.items))
    mask = np.zeros(len(feedback.items), dtype=np.bool_)
    mask[order[from_end <= n]] = True
    return mask
