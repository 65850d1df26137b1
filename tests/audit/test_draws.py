"""The canary of posterior samples: a right sampler holds, and a density that forgets its bound is refuted."""

from dataclasses import replace

import pytest

import hushrec as hr
from hushrec.audit.draws import listen_to_draws


def budget(epsilon, adjacency):
    return hr.Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency=adjacency)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.full
def test_a_sample_proves_no_more_than_it_states(adjacency):
    assert listen_to_draws(hr.PosteriorSampleMF(), budget(4.0, adjacency)) < 4
    assert listen_to_draws(hr.PosteriorSampleMF(), budget(1.0, adjacency), canaries=400) < 1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.full
def test_a_density_fifty_times_too_steep_is_refuted(adjacency, monkeypatch):
    right = hr.PosteriorSampleMF._target

    def steep(model, domain, noise):
        target = right(model, domain, noise)
        return replace(target, scale=50 * target.scale)

    monkeypatch.setattr(hr.PosteriorSampleMF, "_target", steep)
    assert listen_to_draws(hr.PosteriorSampleMF(), budget(1.0, adjacency)) > 1
