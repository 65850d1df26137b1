"""A move changes no byte of a published form: digests as those of ``tests/contracts/test_digests.py``.

After a change on purpose ``python lab/tests/contracts/test_digests.py`` writes ``digests.json`` again, with
the repository's root, ``src/`` and ``tests/`` on the path.
"""

import json
from pathlib import Path

import pytest

from contracts import test_digests as harness
from lab import published as lab

STORED = Path(__file__).with_name("digests.json")
CHAIN = {"epochs": 20}
MODELS = {
    "effects published": lambda **noise: lab.McSherryEffects(**noise),
    "released effects published": lambda: lab.FriedmanEffects(),
    "svd published": lambda **noise: lab.McSherrySVD(rank=4, **noise),
    "knn published": lambda **noise: lab.McSherryKNN(rank=4, n_neighbours=5, **noise),
    "dense knn published": lambda **noise: lab.McSherryKNN(
        n_neighbours=5, covariance={"cleaning": "none"}, **noise
    ),
    "input als published": lambda: lab.FriedmanInputMF(rank=3, epochs=3, solver="als"),
    "input sgd published": lambda: lab.FriedmanInputMF(rank=3, epochs=3),
    "bounded sgd published": lambda: lab.FriedmanBoundedSGD(rank=3, epochs=3),
    "unbounded sgd published": lambda: lab.FriedmanUnboundedSGD(rank=3, epochs=3),
    "als published": lambda: lab.FriedmanALS(rank=3, epochs=3),
    "private neighbours published": lambda: lab.FriedmanKNN(rank=3),
    "posterior sample published": lambda: lab.LiuPosterior(rank=3, chain=CHAIN),
}
METHODS = {
    "published response": lambda made: lab.DuResponse(),
    "shared representatives": lambda made: lab.DuRepresentatives(**harness.GROUPED, groups="ratings"),
}


NOISE = {"l2": "Gaussian", "l1": "Laplace", "loss": "PosteriorSample"}
"""Norm → what a noise is called in the digests."""


def printed(form, domain, budget):
    """Digest of the noise that the paper prints, of what is claimed for it, and of what it costs."""
    noises = [
        (
            name,
            NOISE.get(getattr(noise, "norm", ""), type(noise).__name__),
            noise.loss if hasattr(noise, "loss") else noise.sensitivity,
            noise.noise,
        )
        for name, noise in form.printed(domain, budget).items()
    ]
    worth = lab.cost(form, domain, budget)
    return harness.digest(*noises, worth.claimed, worth.true)


def fitted(form, ratings, budget):
    return printed(form, ratings.domain, budget), lab.fit(ratings, form, budget, 3)


def randomized(method, ratings, budget):
    return printed(method, ratings.domain, budget), lab.randomize(ratings, method, budget, 3).data


OURS = {"MODELS": MODELS, "METHODS": METHODS, "ASKED": (), "fitted": fitted, "randomized": randomized}


@pytest.fixture
def forms(monkeypatch):
    for name, value in OURS.items():
        monkeypatch.setattr(harness, name, value)


def test_one_release_of_each_kind_is_what_it_was(forms):
    assert not harness.differing(json.loads(STORED.read_text()), everything=False)


@pytest.mark.full
def test_every_release_is_what_it_was(forms):
    assert not harness.differing(json.loads(STORED.read_text()), everything=True)


@pytest.mark.full
def test_another_setting_is_another_digest(forms, monkeypatch):
    monkeypatch.setitem(MODELS, "svd published", lambda **noise: lab.McSherrySVD(rank=3, **noise))
    changed = harness.differing(json.loads(STORED.read_text()), everything=False)
    assert changed
    assert all(" svd published " in key for key in changed)


if __name__ == "__main__":
    for name, value in {**OURS, "STORED": STORED}.items():
        setattr(harness, name, value)
    harness.store()
