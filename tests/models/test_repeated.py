"""Item effects from running sums are those of one release that measures the same."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.item_prior import NOTHING_KNOWN
from hushrec.models.base import EFFECTS_SPLIT
from hushrec.models.effects import EffectSettings, effects_of
from hushrec.sums.population import Population
from hushrec.sums.series import Arrivals, DatedSums
from support import runs


def test_the_first_release_of_a_series_has_the_effects_of_one_alone():
    ratings, run = hr.synthetic.netflix_like(60, 12, 300, 2), runs.exact("user")
    settings = EffectSettings(contribution_cap=100.0)
    once = settings.sums(ratings.domain, run.terms, "l2")
    alone = settings.measure(once, Population(ratings), run)
    sums = DatedSums(ratings.domain, 9, 100.0, once)
    _, dated = Arrivals().joined(ratings, 0, 100.0)
    queries = [*sums.queries()]
    noisy = {
        query.name: query.exact(value) for query, value in zip(queries, sums.measure(dated), strict=True)
    }
    found = effects_of(once, noisy, NOTHING_KNOWN)
    assert found.prior is alone.prior
    for one, other in zip(found[:-1], alone[:-1], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)
    assert set(EFFECTS_SPLIT) == {query.name for query in queries}
    assert sum(EFFECTS_SPLIT.values()) == pytest.approx(1)
