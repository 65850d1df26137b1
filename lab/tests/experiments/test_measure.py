import dataclasses
import math
import sys

import numpy as np
import pytest

from hushrec import models
from hushrec.evaluation import baselines
from hushrec.evaluation.compare import METRICS
from hushrec.models.lists.popularity import Popularity
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.budget import Budget
from lab import published
from lab.experiments.measure import Bench, Case
from lab.experiments.source import Data, Split
from lab.mcsherry_mironov.published import McSherryEffects

REFERENCE = Case("item average", 0)
BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="record", adjacency="add-remove")
MODEL = Case("effects", 0, McSherryEffects(), BUDGET, entropy=7)


DATA = Data(generated={"users": 60, "items": 20, "ratings": 600, "seed": 3})


@pytest.fixture
def bench():
    return Bench(DATA, Split(kind="holdout", fraction=0.2))


def test_a_model_gives_one_row_with_all_metrics_and_its_epsilons(bench):
    (row,) = bench.measure(MODEL)
    times = {"fit_seconds", "predict_seconds"}
    assert set(row) == {*METRICS, "true_epsilon", "claimed_epsilon", *times}
    assert row["claimed_epsilon"] == 1
    worth = published.cost(MODEL.config, DATA.load().domain, BUDGET)
    assert row["true_epsilon"] == worth.true != 1  # the published form spends other than it claims
    (ours,) = bench.measure(dataclasses.replace(MODEL, config=GlobalEffects()))
    assert ours["claimed_epsilon"] is None
    assert ours["true_epsilon"] == pytest.approx(1)
    (plain,) = bench.measure(Case("effects", 0, MODEL.config))
    assert plain["true_epsilon"] == math.inf
    assert plain["rmse"] < row["rmse"]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_one_prediction_that_is_not_finite_is_an_error(bench, monkeypatch, wrong):
    def predicted(train, test):
        found = np.full(test.n_entries, 3.0)
        found[-1] = wrong
        return found

    monkeypatch.setattr(baselines, "item_average", predicted)
    monkeypatch.setattr(
        "lab.experiments.measure.predictions", lambda _, train, test, **__: predicted(train, test)
    )
    for case in (REFERENCE, MODEL):
        with pytest.raises(ArithmeticError, match="a prediction is not a finite number"):
            bench.measure(case)


# -- rankings ---------------------------------------------------------------------------------------------

MADE = {"users": 200, "items": 30, "interactions": 2500, "seed": 3}
RANKED = ("ndcg@5", "recall@5")


def test_lists_are_measured_of_people_who_are_held_out_whole():
    bench = Bench(Data(generated=MADE), Split(kind="people", people=40, seed=2), RANKED)
    (exact,), (reference,), (noisy,) = (
        bench.measure(case)
        for case in (
            Case("popularity, exact", 1, Popularity()),
            Case("popularity", 1),
            Case("popularity, noisy", 1, Popularity(), BUDGET, entropy=7),
        )
    )
    assert {name: exact[name] for name in RANKED} == {name: reference[name] for name in RANKED}
    assert set(reference) == {*RANKED, "predict_seconds"}
    assert noisy["true_epsilon"] == pytest.approx(1)
    assert noisy["ndcg@5"] != exact["ndcg@5"]


# -- what identifies a run ----------------------------------------------------------------------------------

SOURCE = {"data": "a", "domain": "b", "splits": "c"}


@pytest.mark.parametrize(
    "changed",
    [
        {"split": 1},
        {"seed": 1},
        {"fold_in": True},
        {"config": McSherryEffects(noise="laplace")},
        {"config": GlobalEffects()},
        {"budget": None},
        {"budget": BUDGET.model_copy(update={"epsilon": 2.0})},
        {"budget": BUDGET.model_copy(update={"adjacency": "replace"})},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_changes_a_result_changes_the_key(changed):
    assert dataclasses.replace(MODEL, **changed).key(SOURCE) != MODEL.key(SOURCE)


def test_a_model_outside_is_known_by_its_module_and_by_its_text(tmp_path, monkeypatch):
    file = tmp_path / "outside_case.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = "import hushrec as hr\nclass CovarianceSVD(hr.CovarianceSVD): ..."
    keys = set()
    for written in (text, f"{text}\nLIMIT = 3"):
        file.write_text(written)
        case = dataclasses.replace(MODEL, config=models.class_of("outside_case:CovarianceSVD")(rank=3))
        assert case.coordinates()["model"] == "outside_case:CovarianceSVD"
        keys.add(case.key(SOURCE))
    assert len(keys | {MODEL.key(SOURCE)}) == 3
