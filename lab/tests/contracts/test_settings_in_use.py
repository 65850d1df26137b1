"""No setting of a published form is dead: as ``tests/contracts/test_settings_in_use.py``."""

import pytest

from contracts import test_settings_in_use as harness
from lab import published

SHORT = {
    "LiuPosterior": {"rank": 2, "chain": {"chains": 2, "epochs": 6}},
    "FriedmanKNN": {"rank": 2},
}


def noise_and_bits(form, ratings, budget):
    noise = form.printed(ratings.domain, budget)
    return noise, *harness.bits(published.fit(ratings, form, budget, 7))


@pytest.mark.parametrize("kind", published.MODELS)
@pytest.mark.full
def test_no_setting_is_dead(kind, monkeypatch):
    monkeypatch.setattr(harness, "REQUIRED", SHORT)
    monkeypatch.setattr(harness, "charged", noise_and_bits)
    found = [*harness.dead(kind)]
    assert not found, "\n".join(found)
