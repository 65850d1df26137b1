"""The metrics of rankings against ranx. Skipped where it is not installed.

Two definitions differ, and are converted. ranx divides recall and average precision by the number of all
items to be found, hushrec by what k places can hold: min(k, items to be found). Precision, nDCG with binary
relevance and the reciprocal rank are the same.
"""

import numpy as np
import pyarrow as pa
import pytest

from hushrec.evaluation.rankings import PER_USER, Lists

pytestmark = pytest.mark.filterwarnings("ignore")

N_USERS, N_ITEMS, PLACES = 300, 500, 100
NAMES = ("recall", "precision", "ndcg", "mrr", "map")


@pytest.fixture(scope="module")
def lists():
    """Lists of distinct items, of which users are to find from 1 to 150."""
    rng = np.random.default_rng(0)
    items = np.array([rng.permutation(N_ITEMS)[:PLACES] for _ in range(N_USERS)], dtype=np.int32)
    sizes = np.concatenate([np.ones(50, int), rng.integers(2, 6, 150), rng.integers(6, 151, N_USERS - 200)])
    held_out = [np.sort(rng.permutation(N_ITEMS)[:size]) for size in sizes]
    return Lists(
        users=pa.array([f"u{user}" for user in range(N_USERS)]),
        items=items,
        hits=np.array([np.isin(row, own) for row, own in zip(items, held_out, strict=True)]),
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        held_out=np.concatenate(held_out).astype(np.int32),
        popularity=np.ones(N_ITEMS, np.int64),
        n_fitted=1,
        n_left_out=0,
    )


@pytest.mark.parametrize("k", [1, 3, 20, 50, 100])
@pytest.mark.parametrize("name", NAMES)
def test_each_value_is_that_of_ranx(lists, name, k):
    ranx = pytest.importorskip("ranx")
    users = lists.users.to_pylist()
    sought = np.split(lists.held_out, lists.indptr[1:-1])
    qrels = ranx.Qrels({u: {str(i): 1 for i in own} for u, own in zip(users, sought, strict=True)})
    listed = lists.items.tolist()
    run = ranx.Run(  # without ties
        {u: {str(i): float(-at) for at, i in enumerate(row)} for u, row in zip(users, listed, strict=True)}
    )
    ranx.evaluate(qrels, run, f"{name}@{k}", make_comparable=True)
    theirs = np.array([run.scores[f"{name}@{k}"][user] for user in users])
    if name in ("recall", "map"):
        theirs = theirs * lists.n_held_out / np.minimum(k, lists.n_held_out)
    found = PER_USER[name](lists, k)
    assert np.abs(found - theirs).max() < 1e-12
    assert found.std() > 0.01  # there is something to compare
