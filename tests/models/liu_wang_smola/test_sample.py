"""Samples: what they promise bit for bit, and what they refuse."""

import numpy as np
import pytest

from hushrec.errors import ConfigError
from hushrec.models.liu_wang_smola.chain import Posterior
from hushrec.models.liu_wang_smola.sample import sample
from support.chains import FIXED, KEY, SETTINGS, made, people


def draw(ratings, settings=SETTINGS, target=None, key=KEY, **options):
    return sample(ratings, target or Posterior(scale=0.2, bound=250, rank=3), settings, key, **options)


def bits(found):
    arrays = found.item_effects, found.item_factors, found.user_precision, found.item_precision
    return b"".join(array.tobytes() for array in arrays), found.diagnostics


def test_one_key_one_sample(crowd):
    """Whatever the number of threads; another key, and each chain, is another draw."""
    ratings = made(crowd, 12)
    first = draw(ratings)
    assert bits(first) == bits(draw(ratings, threads=1)) == bits(draw(ratings, threads=4))
    assert bits(first) != bits(draw(ratings, key=KEY[::-1]))
    alone = draw(ratings, SETTINGS.model_copy(update={"chains": 1}))
    assert bits(alone)[0] == bits(first)[0]
    assert first.item_factors.shape == (12, 3)
    assert first.item_effects.shape == (12,)


def test_who_has_no_weight_leaves_no_bit(crowd):
    """The sample is that of ratings without them; with any weight, they change it."""
    gone = "u000", "u017", "u018", "u149"
    without = draw(made({user: own for user, own in crowd.items() if user not in gone}, 12))

    def weigh(weight):
        return lambda block: np.where(np.isin(block.users.to_pylist(), gone), weight, 1.0)

    assert bits(draw(made(crowd, 12), weigh=weigh(0.0))) == bits(without)
    assert bits(draw(made(crowd, 12), weigh=weigh(1e-3))) != bits(without)


def test_a_chain_that_cannot_come_in_range_is_refused(crowd):
    target = Posterior(scale=0.01, bound=250, rank=3, margin=0.0, clamped=False)
    with pytest.raises(ConfigError, match="off the scale"):
        draw(made(crowd, 12), SETTINGS.model_copy(update={"epochs": 5}), target)


@pytest.mark.full
def test_short_chains_are_reported_as_not_converged_and_long_ones_as_converged():
    """The same toy; the diagnostics say which is which."""
    ratings, target = made(people(), 5), Posterior(scale=0.05, bound=250, rank=1)
    settings = FIXED.model_copy(update={"epochs": 500})
    far = {"epochs": 5, "burn_in": 0.0, "item_variance": 1.0}
    short = draw(ratings, settings.model_copy(update=far), target)
    assert not short.diagnostics.converged
    assert short.diagnostics.rhat > 1.1
    assert str(short.diagnostics).startswith("NOT CONVERGED")
    long = draw(ratings, settings, target)
    assert long.diagnostics.converged, str(long.diagnostics)
