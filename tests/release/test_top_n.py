"""Best items for many users at once: the same as one user at a time."""

import numpy as np

import hushrec as hr
from hushrec.data.synthetic import interactions
from hushrec.release.top_n import Rows, top_n


def test_many_users_get_what_each_would_get_alone():
    given = interactions(30, 25, 200, seed=0)
    release = hr.fit(given, hr.Popularity())
    client = hr.Client(release)
    rows = Rows(given.indptr, given.items, given.values())
    listed = [row for block in top_n(release, rows, 5) for row in block.items]
    for user, row in enumerate(listed):
        own = [release.items[i] for i in given.items[given.indptr[user] : given.indptr[user + 1]]]
        alone = [row.item_id for row in client.recommend(own, 5)]
        assert [release.items[i] for i in row if i >= 0] == alone


def test_items_that_are_not_allowed_are_not_listed():
    given = interactions(30, 25, 200, seed=0)
    allowed = np.arange(25) % 2 == 0
    rows = Rows(given.indptr, given.items, given.values())
    blocks = [*top_n(hr.fit(given, hr.Popularity()), rows, 25, allowed=allowed)]
    listed = np.concatenate([block.items for block in blocks])
    assert (listed[listed >= 0] % 2 == 0).all()
    assert (listed >= 0).any()
