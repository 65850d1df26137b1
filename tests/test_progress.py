"""Progress is the same for neighbouring data, changes no bit, and is drawn on a terminal alone."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec import progress
from hushrec.curator.recommend_all import write_lists
from hushrec.testing import Seeded


class Told:
    """Keeps all calls, and refuses those that do not fit together."""

    def __init__(self):
        self.calls, self.open = [], {}

    def stage(self, name, total):
        assert name not in self.open
        self.open[name] = total
        self.calls.append(("stage", name, total))

    def advance(self, name):
        assert self.open[name] is not None
        self.calls.append(("advance", name))

    def done(self, name):
        del self.open[name]
        self.calls.append(("done", name))

    def steps(self, name):
        return self.calls.count(("advance", name))


DOMAIN = hr.Domain([str(item) for item in range(12)], scale=(1, 5, 1), max_users=100)
BUDGET = hr.Budget(epsilon=4, delta=1e-4, unit="user", adjacency="add-remove")


def table(n_users):
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(60), 5)
    items = np.concatenate([rng.permutation(12)[:5] for _ in range(60)])
    made = pl.DataFrame({"user_id": users, "item_id": items, "rating": rng.integers(1, 6, users.size)})
    return made.filter(pl.col("user_id") < n_users)


MODELS = [
    hr.GlobalEffects(),
    hr.CovarianceSVD(rank=2),
    hr.PosteriorMF(rank=2, epochs=3),
    hr.UserLevelSGD(rank=2, epochs=3),
    hr.MatrixFactorization(rank=2, epochs=3, solver="sgd"),
    hr.MatrixFactorization(rank=2, epochs=3, solver="als"),
]


def fitted(model, ratings, told):
    if isinstance(model, hr.MatrixFactorization):
        return hr.baseline(ratings, model, progress=told)
    return hr.testing.fit(ratings, model, BUDGET, entropy=Seeded(1), progress=told)


def everything(model, n_users, folder):
    """All that is told from reading to evaluation."""
    told = Told()
    ratings = hr.load(table(n_users), DOMAIN, progress=told)
    with hr.load(table(n_users), DOMAIN, where="disk", progress=told) as kept:
        blocks = dataclasses.replace(kept, _per_block=20)
        write_lists(
            hr.recommend_all(fitted(model, ratings, told), blocks, 3, progress=told),
            folder / f"{n_users}.parquet",
        )
    others = np.setdiff1d(np.arange(12), table(1)["item_id"])[:1].astype(str)  # user 0 is in all worlds
    test = hr.load(pl.DataFrame({"user_id": ["0"], "item_id": others, "rating": [3]}), DOMAIN)
    release = fitted(model, ratings, None)
    hr.evaluate(release, train=ratings, test=test, metrics=["rmse", "recall@3"], likes=3, progress=told)
    assert not told.open
    return told


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
@pytest.mark.full
def test_neighbours_lead_to_the_same_calls(model, tmp_path):
    many = everything(model, 60, tmp_path)
    assert many.calls == everything(model, 59, tmp_path).calls == everything(model, 1, tmp_path).calls
    assert many.steps("reading") == 2 * progress.HUNDREDTHS
    assert many.steps("recommending") == progress.HUNDREDTHS
    if not isinstance(model, hr.MatrixFactorization):
        assert many.steps("measuring") == len(hr.plan(DOMAIN, model, BUDGET).noisy)
    else:
        assert many.steps("epochs") + many.steps("solving") == 3


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}")
def test_bits_do_not_change(model):
    ratings = hr.load(table(60), DOMAIN)
    assert fitted(model, ratings, Told()).to_bytes() == fitted(model, ratings, None).to_bytes()


def test_stages_end_when_a_call_fails():
    told = Told()

    def fails():
        with progress.telling(told), progress.fraction("outer") as share:
            share.reach(1, 3)
            with progress.stage("outer"):  # one is open already
                raise ValueError("broken off")

    with pytest.raises(ValueError, match="broken off"):
        fails()
    assert told.calls == [("stage", "outer", 100), *[("advance", "outer")] * 33, ("done", "outer")]
    with progress.stage("nobody asked"):
        progress.advance("nobody asked")
    assert len(told.calls) == 35
