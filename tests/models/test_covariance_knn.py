import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import ConfigError
from hushrec.models.phases.covariance import CovarianceSettings


def test_neighbours_find_what_global_effects_leave(rmse, budget):
    assert rmse(hr.CovarianceKNN(rank=8)) < rmse(hr.GlobalEffects()) - 0.02
    assert rmse(hr.CovarianceKNN(rank=8), budget(20.0)) < rmse(hr.GlobalEffects()) + 0.01


def test_with_all_neighbours_it_is_nearly_the_ridge_regression_on_factors(rmse):
    """Jointly derived weights over everything a person rated are kriging with the same covariance."""
    assert rmse(hr.CovarianceKNN(rank=8, n_neighbours=200)) == pytest.approx(
        rmse(hr.CovarianceSVD(rank=8)), abs=0.01
    )


@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
def test_every_way_of_cleaning_runs(rmse, budget, way):
    rank = {} if way == "none" else {"rank": 8}
    config = hr.CovarianceKNN(covariance=CovarianceSettings(cleaning=way), **rank)
    assert 0.5 < rmse(config, budget(20.0)) < 1.8


def test_a_dense_release_predicts_for_strangers(world, tmp_path):
    train, _ = world
    config = hr.CovarianceKNN(covariance=CovarianceSettings(cleaning="none"))
    path = hr.fit(train, config).save(tmp_path / "dense.safetensors")
    client = hr.Client(path)
    some = dict.fromkeys(train.domain.items[:6], 4.0)
    assert all(1 <= score <= 5 for score in client.predict(some).values())
    assert len(client.recommend({}, n=5)) == 5
    assert np.isfinite([r.score for r in client.recommend(some, n=5)]).all()


def test_a_rank_of_matrices_that_are_not_cleaned_is_refused():
    with pytest.raises(ConfigError, match=r"rank has no effect with covariance\.cleaning 'none'"):
        hr.CovarianceKNN(rank=8, covariance={"cleaning": "none"})
