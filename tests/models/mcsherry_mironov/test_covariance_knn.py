import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import ConfigError


@pytest.mark.full
def test_neighbours_find_what_global_effects_leave(rmse, budget):
    assert rmse(hr.CovarianceKNN(rank=8)) < rmse(hr.GlobalEffects()) - 0.02
    assert rmse(hr.CovarianceKNN(rank=8), budget(20.0)) < rmse(hr.GlobalEffects()) + 0.01


def test_a_dense_release_predicts_for_strangers(world, tmp_path):
    train, _ = world
    dense = hr.CovarianceKNN(covariance={"cleaning": "none"})
    path = hr.baseline(train, dense).save(tmp_path / "dense.safetensors")
    client = hr.Client(path)
    some = dict.fromkeys(train.domain.items[:6], 4.0)
    assert all(1 <= score <= 5 for score in client.predict(some).values())
    assert len(client.recommend({}, n=5)) == 5
    assert np.isfinite([r.score for r in client.recommend(some, n=5)]).all()


def test_a_rank_of_matrices_that_are_not_cleaned_is_refused():
    with pytest.raises(ConfigError, match=r"rank has no effect with covariance\.cleaning 'none'"):
        hr.CovarianceKNN(rank=8, covariance={"cleaning": "none"})
