import sys
from dataclasses import replace

import pytest

from hushrec import models
from hushrec.models.mcsherry_mironov.covariance_svd import CovarianceSVD
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.budget import Budget
from lab.experiments.case import Case
from lab.mcsherry_mironov.published import McSherrySVD

SOURCE = {"data": "a", "domain": "b", "splits": "c"}
BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="record", adjacency="add-remove")
CASE = Case("svd", 0, CovarianceSVD(rank=3), BUDGET)


@pytest.mark.parametrize(
    "changed",
    [
        {"split": 1},
        {"seed": 1},
        {"fold_in": True},
        {"config": CovarianceSVD(rank=4)},
        {"config": McSherrySVD(rank=3)},
        {"config": GlobalEffects()},
        {"budget": None},
        *(
            {"budget": BUDGET.model_copy(update=other)}
            for other in ({"epsilon": 2.0}, {"delta": 1e-7}, {"unit": "user"}, {"adjacency": "replace"})
        ),
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_changes_a_result_changes_the_key(changed):
    assert replace(CASE, **changed).key(SOURCE) != CASE.key(SOURCE)


def test_a_model_outside_is_known_by_its_module_and_by_its_text(tmp_path, monkeypatch):
    file = tmp_path / "outside_case.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = "import hushrec as hr\nclass CovarianceSVD(hr.CovarianceSVD): ..."
    keys = set()
    for written in (text, f"{text}\nLIMIT = 3"):
        file.write_text(written)
        case = replace(CASE, config=models.class_of("outside_case:CovarianceSVD")(rank=3))
        assert case.coordinates()["model"] == "outside_case:CovarianceSVD"
        keys.add(case.key(SOURCE))
    assert len(keys | {CASE.key(SOURCE)}) == 3
