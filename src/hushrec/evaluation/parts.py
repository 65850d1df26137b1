"""Checks of the training and test parts of an evaluation, and what their users have in both.

Privacy: private.
"""

import numpy as np

from hushrec.arrays import Bools, Ints
from hushrec.data.domain import FeedbackKind
from hushrec.data.people import People
from hushrec.errors import DataError
from hushrec.release.artefact import Release


def require_same_domain(release: Release, test: People) -> None:
    """Refuse a release of another catalogue, another kind of feedback, or another scale.

    Privacy: public.
    """
    domain = test.domain
    kind: FeedbackKind = "ratings" if release.feedback == "ratings" else "interactions"
    domain.require(kind, by="this release")
    scale = None if domain.rating_scale is None else tuple(domain.rating_scale)
    of_release = (release.items, release.scale, release.likes, release.counts)
    if of_release != (domain.items, scale, domain.likes, domain.counts):
        raise DataError(
            f"the release and the {domain.feedback} have different catalogues or scales; load the "
            f"{domain.feedback} with the release's domain"
        )


def require_apart(train: People, test: People) -> None:
    """Refuse parts of different domains, parts that overlap, and an empty test part."""
    first, second = (
        (of.domain.items, of.domain.rating_scale, of.domain.likes, of.domain.counts) for of in (train, test)
    )
    if first != second:
        raise DataError("train and test have different catalogues or scales; load both with the same domain")
    if not len(test.items):
        raise DataError(
            "the test part holds nothing of a known item that its people did not have before; choose another "
            "test part"
        )
    if _known(train, test).any():
        raise DataError(
            f"train and test share {test.domain.feedback}, so what is held out would be known in training; "
            f"split the {test.domain.feedback} first (hushrec.data.split)"
        )


def leave_out_repeats(train: People, test: People) -> People:
    """Leave out of the test part the items that their users have in the training part already."""
    known = _known(train, test)
    return test.select(~known) if known.any() else test


def rows_of(train: People, test: People) -> Ints:
    """Find the row in ``train`` of every user of ``test``, −1 if absent, shape (test.n_users,)."""
    row_of = {user: row for row, user in enumerate(train.users.to_pylist())}
    return np.array([row_of.get(user, -1) for user in test.users.to_pylist()], dtype=np.int64)


def _known(train: People, test: People) -> Bools:
    """Mark the entries of ``test`` whose user and item are in ``train`` too, shape (test.n_entries,)."""
    rows, n_items = rows_of(train, test), test.domain.n_items
    row_in_test = np.full(train.n_users, -1, dtype=np.int64)
    row_in_test[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    of_train = row_in_test[train.user_index()]
    # User and item in one number.
    codes = of_train[of_train >= 0] * n_items + train.items[of_train >= 0]
    return np.isin(test.user_index().astype(np.int64) * n_items + test.items, codes)
