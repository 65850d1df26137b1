"""Published forms in other units: as ``tests/contracts/test_scale_free.py``, but for shifts."""

import pytest

from contracts import test_scale_free as harness
from lab import published as lab

MODELS = {
    "effects": lab.McSherryEffects(),
    "levels": lab.FriedmanEffects(),
    "knn": lab.McSherryKNN(rank=3),
    "knn as it is": lab.McSherryKNN(covariance={"cleaning": "none"}),
    "svd": lab.McSherrySVD(rank=3),
    "input": lab.FriedmanInputMF(rank=3, solver="als"),
    "input, sgd": lab.FriedmanInputMF(rank=3),
    "sgd, bounded": lab.FriedmanBoundedSGD(rank=3, epochs=3),
    "sgd, unbounded": lab.FriedmanUnboundedSGD(rank=3, epochs=3),
    "als": lab.FriedmanALS(rank=3, epochs=3),
    "neighbours": lab.FriedmanKNN(rank=3),
    "posterior": lab.LiuPosterior(rank=3, chain=harness.SHORT.model_dump()),
}
CASES = [(name, kind) for name, model in MODELS.items() for kind in sorted(model.supports)]


@pytest.mark.parametrize("exponent", [-5, 10])
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_other_units_give_the_same_release(name, kind, exponent, monkeypatch):
    monkeypatch.setattr(harness, "MODELS", MODELS)
    monkeypatch.setattr(harness, "released", lambda given, model, budget: lab.fit(given, model, budget, 5))
    harness.fitted.cache_clear()
    harness.require_same(name, kind, 4.0**exponent)
