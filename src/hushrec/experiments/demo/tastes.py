"""Two made-up users with different tastes, and what one release lists for each of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.interactions import Interactions
from hushrec.release.artefact import Release
from hushrec.release.client import Client

OWN, LENGTH = 3, 10
"""Number of items that each of the two users has, and the length of the lists."""


class Place(NamedTuple):
    """One rank of three lists. Privacy: post-processing."""

    rank: int
    popular: str
    first: str
    second: str


def two_tastes(clicks: Interactions) -> tuple[list[str], list[str]]:
    """Items of two users: three that go together, and three others that go least with these.

    Two items go together if the same users give both: by the correlation of their columns, among the quarter
    of the items that most users give.

    Args:
        clicks: made-up interactions.

    Returns:
        The items of one user and of the other.

    Privacy: public, because the interactions are made up; with people's interactions it would not be.
    """
    n_items = clicks.domain.n_items
    counts = np.bincount(clicks.items, minlength=n_items)
    often = np.sort(np.argsort(-counts, kind="stable")[: n_items // 4])
    given = np.zeros((clicks.n_users, n_items), dtype=np.float32)
    given[clicks.user_index(), clicks.items] = 1
    alike: Floats = np.atleast_2d(np.corrcoef(given[:, often], rowvar=False))
    np.fill_diagonal(alike, 1)  # every item goes best with itself
    first = _together(alike, int((alike - 2 * np.eye(len(often))).max(axis=1).argmax()))
    second = _together(alike, int(alike[first].mean(axis=0).argmin()))
    names = clicks.domain.items
    return [names[often[i]] for i in first], [names[often[i]] for i in second]


def _together(alike: Floats, item: int) -> Ints:
    """An item and those that go best with it."""
    return np.argsort(-alike[item], kind="stable")[:OWN]


def side_by_side(release: Release, first: Sequence[str], second: Sequence[str]) -> list[Place]:
    """What a release lists for somebody without items, and for two users with theirs.

    Args:
        release: of interactions.
        first: items of one user.
        second: items of the other.

    Privacy: post-processing.
    """
    client = Client(release)
    lists = ([found.item_id for found in client.recommend(own, LENGTH)] for own in ([], first, second))
    return [Place(rank, *places) for rank, places in enumerate(zip(*lists, strict=True), 1)]


def shared(places: Sequence[Place]) -> tuple[int, int, int]:
    """How many items two lists have in common.

    Returns:
        The first user's list and the popular one; the second user's and the popular one; both users' lists.

    Privacy: post-processing.
    """
    popular, first, second = (set(column) for column in zip(*(place[1:] for place in places), strict=True))
    return len(first & popular), len(second & popular), len(first & second)
