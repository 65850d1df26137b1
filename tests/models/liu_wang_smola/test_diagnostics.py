"""R̂ and effective sample size: what has mixed passes, what has not does not."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.sample import diagnose

CHAINS, DRAWS, FUNCTIONALS = 4, 1000, 20


@pytest.fixture
def mixed():
    return np.random.default_rng(0).standard_normal((CHAINS, DRAWS, FUNCTIONALS))


def test_independent_draws_pass(mixed):
    found = diagnose(mixed)
    assert found.converged
    assert found.rhat < 1.01
    assert found.ess > 2000
    assert found.apart == 0
    assert (found.functionals, found.chains, found.draws) == (FUNCTIONALS, CHAINS, DRAWS)
    assert str(found).startswith("converged as far as can be seen")


def shifted(draws):
    """One chain of four stays elsewhere, in one functional."""
    draws[0, :, 3] += 1


def widened(draws):
    """One chain is wider, around the same place: only the folded R̂ sees it."""
    draws[0, :, 3] *= 3


def drifting(draws):
    """Every chain still moves the same way: only halves tell."""
    draws[:, :, 3] += np.linspace(0, 1, draws.shape[1])


def wandering(draws):
    """A random walk."""
    draws[:, :, 3] = draws[:, :, 3].cumsum(axis=1)


def stuck(draws):
    draws[:, :, 3] = 1.0


def stuck_apart(draws):
    draws[:, :, 3] = np.arange(CHAINS)[:, None]


def lost(draws):
    draws[1, 7, 3] = np.nan


@pytest.mark.parametrize("fault", [shifted, widened, drifting, wandering, stuck, stuck_apart, lost])
def test_a_single_functional_that_has_not_converged_is_seen(mixed, fault):
    fault(mixed)
    found = diagnose(mixed)
    assert not found.converged
    assert found.rhat > 1.01
    assert found.apart == pytest.approx(1 / FUNCTIONALS)
    assert str(found).startswith("NOT CONVERGED")


def test_one_chain_or_too_few_draws_show_nothing(mixed):
    assert not diagnose(mixed[:1]).converged
    few = diagnose(mixed[:, :3])
    assert few.rhat == np.inf
    assert few.ess == 0
    assert not few.converged


def test_effective_sample_size_of_autoregression():
    """AR(1) with correlation φ has a share (1 − φ)/(1 + φ) of independent draws; here one third."""
    rng, phi = np.random.default_rng(3), 0.5
    draws = rng.standard_normal((CHAINS, 5000, 5))
    for t in range(1, 5000):
        draws[:, t] = phi * draws[:, t - 1] + np.sqrt(1 - phi**2) * draws[:, t]
    assert diagnose(draws).ess == pytest.approx(CHAINS * 5000 / 3, rel=0.15)
