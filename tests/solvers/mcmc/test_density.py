"""The law of a posterior sample, and the ratings that it is given: what one person can cost at most."""

import numpy as np
import pytest

from hushrec.solvers.mcmc.density import Target
from support.chains import made


def test_weights_bound_everybodys_loss(crowd):
    """Σ_i of the largest losses, times the weight, is B at most, and B for who has too many ratings."""
    ratings, target = made(crowd, 12), Target(scale=1.0, bound=100, rank=1)
    most = target.weights(ratings) * ratings.counts * 25
    assert most.max() == pytest.approx(100)
    assert (target.weights(ratings)[ratings.counts <= 4] == 1).all()
    assert target.weights(ratings, np.full(150, 0.5)) == pytest.approx(target.weights(ratings) / 2)
