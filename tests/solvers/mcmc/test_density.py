"""The law of a posterior sample, and the ratings that it is given: what one person can cost at most."""

import numpy as np
import pytest

from hushrec.data.packed.blocks import Blocks
from hushrec.solvers.mcmc import density
from hushrec.solvers.mcmc.density import ChainData, ChainSettings, Posterior
from support.chains import made


def test_weights_bound_everybodys_loss(crowd):
    """Σ_i of the largest losses, times the weight, is B at most, and B for who has too many ratings."""
    ratings, target = made(crowd, 12), Posterior(scale=1.0, bound=100, rank=1)
    most = target.weights(ratings) * ratings.counts * 25
    assert most.max() == pytest.approx(100)
    assert (target.weights(ratings)[ratings.counts <= 4] == 1).all()
    assert target.weights(ratings, np.full(150, 0.5)) == pytest.approx(target.weights(ratings) / 2)


def test_parts_are_everybody_once_in_units_of_the_scale_whichever_way(monkeypatch, crowd, tmp_path):
    """Cut where batches end, not where blocks do; whoever has no weight is not there."""
    monkeypatch.setattr(density, "BATCH", 16)
    ratings, target = made(crowd, 12), Posterior(scale=2.0, bound=100, rank=1)
    blocks = Blocks.write(ratings, tmp_path / "blocks", ratings_per_block=100)
    absent = np.isin(ratings.users.to_numpy(), ["u000", "u017", "u149"])
    here = ratings.select(np.repeat(~absent, ratings.counts))

    def weigh(block):
        return np.where(np.isin(block.users.to_numpy(), ["u000", "u017", "u149"]), 0.0, 1.0)

    source = ChainData(blocks, target, weigh)
    assert source.n_users == 147
    for backwards in (False, True):
        parts = [*source.parts(backwards=backwards)]
        firsts = [part.first for part in parts]
        assert len(parts) > 3
        assert firsts == sorted(firsts, reverse=backwards)
        edges = [147 - first if backwards else first for first in firsts if first]
        assert not any(edge % 16 for edge in edges)
        parts.sort(key=lambda part: part.first)
        np.testing.assert_array_equal(np.concatenate([part.rows.columns for part in parts]), here.items)
        values = np.concatenate([part.rows.values for part in parts])
        np.testing.assert_array_equal(values, here.values() - 3)  # a unit of this scale is one star
        scales = np.concatenate([part.scales for part in parts])
        np.testing.assert_allclose(scales, 2 * target.weights(here), rtol=1e-6)


def test_a_chain_looks_at_no_more_than_some_states_of_its_second_half():
    for epochs, burn_in in ((1000, 0.5), (1001, 0.0), (7, 0.5), (100_000, 0.25)):
        settings = ChainSettings(epochs=epochs, burn_in=burn_in)
        looks = (epochs - settings.forfeited) // settings.thin
        assert settings.forfeited == int(burn_in * epochs)
        assert 0 < looks <= 500
        assert looks > 250 or settings.thin == 1
