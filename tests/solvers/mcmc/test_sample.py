"""Samples: what they promise bit for bit, and what they refuse."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from hushrec.data.packed.blocks import Blocks
from hushrec.errors import ConfigError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, State
from hushrec.solvers.mcmc import sgld as chains
from hushrec.solvers.mcmc.density import Posterior
from hushrec.solvers.mcmc.sample import sample
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
        return lambda block: np.where(block.users.is_in(gone).to_numpy(), weight, 1.0)

    assert bits(draw(made(crowd, 12), weigh=weigh(0.0))) == bits(without)
    assert bits(draw(made(crowd, 12), weigh=weigh(1e-3))) != bits(without)


def test_blocks_are_the_same_as_ratings_in_memory(crowd, tmp_path):
    """Bit for bit, however they are cut, and with somebody dropped."""
    ratings = made(crowd, 12)
    absent = {"weigh": lambda block: (block.users != "u003").to_numpy().astype(float)}
    everybody, but_one = bits(draw(ratings)), bits(draw(ratings, **absent))
    for size in (40, 400):
        blocks = Blocks.write(ratings, tmp_path / str(size), ratings_per_block=size)
        assert blocks.n_blocks > 1
        assert bits(draw(blocks)) == everybody
        assert bits(draw(blocks, **absent)) == but_one


class Stop(Exception):
    pass


class Memory:
    """A checkpoint in memory, in front of which the process dies after some states."""

    def __init__(self, lives):
        self.lives, self.states = lives, {}

    def save_state(self, name, arrays, facts):
        if self.lives == 0:
            raise Stop
        self.lives -= 1
        self.states[name] = State({key: array.copy() for key, array in arrays.items()}, dict(facts))

    def load_state(self, name):
        return self.states.get(name)


@pytest.mark.parametrize("clamped", [True, False])
def test_interrupted_chains_go_on_bit_for_bit(crowd, monkeypatch, clamped):
    monkeypatch.setattr(chains, "_KEPT_EVERY", 0.0)
    ratings, target = made(crowd, 12), Posterior(scale=2.0, bound=900, rank=2, margin=4.0, clamped=clamped)
    settings = SETTINGS.model_copy(update={"epochs": 12, "chains": 3, "factor_variance": 1e-3})
    whole, memory, deaths = draw(ratings, settings, target), Memory(0), 0
    while True:
        memory.lives = 7
        try:
            resumed = draw(ratings, settings, target, checkpoint=memory)
            break
        except Stop:
            deaths += 1
    assert deaths > 3
    assert bits(resumed) == bits(whole)


KILLED = """
import importlib.util, pathlib, sys
sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parents[2]))  # for support
spec = importlib.util.spec_from_file_location("chains_test", sys.argv[1])
test = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test)
test.in_folder(sys.argv[2], kill_after=int(sys.argv[3]))
"""


def in_folder(folder, kill_after=None):
    """A sample with a checkpoint in a folder; the process kills itself after some states."""
    rng = np.random.default_rng(7)
    rows = {f"u{u:02}": {i: int(rng.integers(1, 6)) for i in range(u % 12 + 1)} for u in range(40)}
    chains._KEPT_EVERY, states = 0.0, 0
    with Checkpoint(folder) as checkpoint:
        checkpoint.bind({"ratings": "these"})
        keep = checkpoint.save_state

        def counted(*state):
            nonlocal states
            keep(*state)
            states += 1
            if states == kill_after:
                os.kill(os.getpid(), signal.SIGKILL)

        checkpoint.save_state = counted
        return draw(made(rows, 12), SETTINGS.model_copy(update={"epochs": 8}), checkpoint=checkpoint)


def test_kill_9_changes_nothing(tmp_path):
    command = [sys.executable, "-c", KILLED, __file__, str(tmp_path / "killed")]
    assert subprocess.run([*command, "7"], check=False).returncode == -signal.SIGKILL
    assert bits(in_folder(tmp_path / "killed")) == bits(in_folder(tmp_path / "whole"))


def test_a_chain_that_cannot_come_in_range_is_refused(crowd):
    target = Posterior(scale=0.01, bound=250, rank=3, margin=0.0, clamped=False)
    with pytest.raises(ConfigError, match="off the scale"):
        draw(made(crowd, 12), SETTINGS.model_copy(update={"epochs": 5}), target)


def test_a_chain_that_leaves_all_bounds_is_refused(crowd):
    target = Posterior(scale=5.0, bound=250, rank=3, clamped=False)
    with pytest.raises(ConfigError, match="rate"), np.errstate(all="ignore"):
        draw(made(crowd, 12), SETTINGS.model_copy(update={"rate": 1e4}), target)


def test_short_chains_are_reported_as_not_converged_and_long_ones_as_converged():
    """The same toy; the diagnostics say which is which."""
    ratings, target = made(people(), 5), Posterior(scale=0.05, bound=250, rank=1)
    settings = FIXED.model_copy(update={"rate": 4.0, "epochs": 500})
    far = {"epochs": 20, "rate": 0.01, "burn_in": 0.0, "item_variance": 1.0}
    short = draw(ratings, settings.model_copy(update=far), target)
    assert not short.diagnostics.converged
    assert short.diagnostics.rhat > 1.1
    assert str(short.diagnostics).startswith("NOT CONVERGED")
    long = draw(ratings, settings, target)
    assert long.diagnostics.converged, str(long.diagnostics)
