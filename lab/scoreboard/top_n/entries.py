"""What stands on the scoreboard of lists: how each learns from likes, and the noise that it adds.

An entry is run at an ε for one unit, and states the true ε of the noise that it drew, when a person, or one
like, is added or removed. A model of hushrec, or of anybody, is priced by its plan, and a peer by the
same accountant.
"""

import math
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, load_npz
from synthetic_people import randomized, synthetic, trained
from top_n.noisy import COUNTS, DPALS, DPSGD, TOTAL, weighted_sums
from top_n.peers import EASE, EASE_PENALTY, FACTORS, IALS, NEIGHBOURS, ItemKNN
from top_n.protocol import People, Texts, interactions, scores

import hushrec as hr
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.testing import Seeded
from lab.published import class_of

DP_ALS = {
    0.5: DPALS(8, 2, 0.63, 22.0, 0.057, 0.0, 0.053, 0.384, 0.8),
    1.0: DPALS(9, 3, 1.1, 16.0, 0.028, -0.25, 0.11, 0.12, 0.9),
    2.0: DPALS(22, 2, 0.71, 12.0, 0.044, 0.0, 0.143, 0.08, 0.95),
    4.0: DPALS(29, 3, 0.54, 6.5, 0.023, -0.25, 0.27, 0.05, 0.99),
    8.0: DPALS(39, 3, 0.31, 5.5, 0.031, -0.25, 0.2, 0.08, 0.95),
    20.0: DPALS(29, 4, 0.59, 6.1, 0.041, -0.5, 0.26, 0.05, 0.95),
}
ONE = 4.0
"""DP-ALS with one setting for all ε has that of this one."""
DP_SGD = {
    1.0: DPSGD(8, 10, 0.2, 1.0, 12.0),
    4.0: DPSGD(24, 40, 0.4, 0.2, 27.0),
    20.0: DPSGD(24, 60, 0.4, 1.0, 12.0),
}
"""The best of 40 on validation people of MovieLens 1M, not charged: everybody is in every round."""
COMPONENTS = {742.0: {1.0: 2, 4.0: 10}, 5_038.0: {1.0: 5, 4.0: 100}}
"""Of mbi's mixture, for so many people: the best of a few on people of MovieLens 100K and 1M, not charged."""
SYNTHETIC = 20_000
"""Rows that are drawn from a release."""


Settings = TypeVar("Settings")


class Asked(NamedTuple):
    """One cell of the scoreboard."""

    split: People
    public: Texts
    unit: str
    epsilon: float
    delta: float
    draw: int
    prior: hr.Release | None = None


class Made(NamedTuple):
    """Scores of the test people, the ε that was claimed and the true one; adjacency of both; a rival's GB."""

    scores: np.ndarray
    claimed: float | None
    true: float
    adjacency: str = "add-remove"
    memory: float | None = None


@dataclass(frozen=True)
class Entry:
    """A method: units that it protects, none without noise; how it is run; what names a rival's Python."""

    units: tuple[str, ...]
    run: Callable[[Asked], Made]
    python: str = "PATH"


def spent(asked, domain: hr.Domain, adjacency: str = "add-remove") -> hr.Budget:
    """The budget; where hushrec refuses δ for so many people, that of equal noise at a smaller δ."""
    epsilon, delta = asked.epsilon, asked.delta
    if 10 * domain.max_users * delta >= 1:
        mu, delta = gaussian_mu(epsilon, delta), 0.9 / (10 * domain.max_users)
        epsilon = gaussian_epsilon(mu, delta)
    return hr.Budget(epsilon=epsilon, delta=delta, unit=asked.unit, adjacency=adjacency)


def true(release: hr.Release, delta: float) -> float:
    """ε of a release at δ, also where it states one at another δ: by the μ of its Gaussian noise."""
    stated = release.statement
    if stated.delta == delta:
        return stated.epsilon
    return gaussian_epsilon(stated.guarantee.odds.mu, delta)


def released(model: object, asked: Asked) -> hr.Release:
    data = interactions(asked.split.train, asked.public)
    entropy = Seeded(1000 * asked.draw + round(10 * asked.epsilon))
    return hr.testing.fit(data, model, spent(asked, data.domain), entropy=entropy, prior=asked.prior)


def of_model(name: str) -> Entry:
    """A model of interactions, by its name in hushrec or as ``module:Class``."""
    kind = class_of(name)

    def run(asked: Asked) -> Made:
        release = released(kind(), asked)
        return Made(scores(release, asked.split.test.given), None, true(release, asked.delta))

    return Entry(tuple(sorted({unit for unit, _ in kind.supports}, reverse=True)), run)


def dp_als(asked: Asked, setting: float | None = None) -> Made:
    method = nearest(DP_ALS, setting or asked.epsilon)
    mu = gaussian_mu(asked.epsilon, asked.delta)
    factors = method.fit(asked.split.train, mu=mu, seed=asked.draw)
    return Made(method.scores(factors, asked.split.test.given), None, gaussian_epsilon(mu, asked.delta))


def nearest(settings: dict[float, Settings], at: float) -> Settings:
    """Those that were chosen for what is nearest in ratio: an ε, or a number of people."""
    return settings[min(settings, key=lambda known: abs(math.log(known / at)))]


def least_noise(method: DPSGD, epsilon: float, delta: float) -> float:
    """The least σ/Δ of a round whose loss, with all others, is at most ε at δ: μ² adds up."""
    return math.sqrt(method.rounds) / gaussian_mu(epsilon, delta)


def dp_sgd(asked: Asked) -> Made:
    method = nearest(DP_SGD, asked.epsilon)
    sigma = least_noise(method, asked.epsilon, asked.delta)
    factors = method.fit(asked.split.train, sigma, asked.draw)
    true_epsilon = gaussian_epsilon(math.sqrt(method.rounds) / sigma, asked.delta)
    return Made(method.scores(factors, asked.split.test.given), None, true_epsilon)


def synthetic_rows(asked: Asked) -> Made:
    release = released(hr.PrivateEASE(), asked)
    rows = synthetic(release, SYNTHETIC, asked.draw)
    ranked = trained("EASE", rows, asked.split.test.given, real=False)
    return Made(ranked, None, true(release, asked.delta))


def of_rival(name: str, asked: Asked, given: dict[str, ArrayLike], *budget: float) -> Made:
    """EASE on the rows that a rival draws, in an environment of its own; its ε is not judged here."""
    with tempfile.TemporaryDirectory() as folder:
        sums, rows = (Path(folder) / file for file in ("given.npz", "rows.npz"))
        np.savez(sums, **given)
        script = Path(__file__).with_name(f"{name.lower()}_rows.py")
        words = [os.environ[name], script, sums, rows, *budget, SYNTHETIC, asked.draw]
        subprocess.run([*map(str, words)], check=True, cwd=folder)
        ranked = trained("EASE", load_npz(rows), asked.split.test.given, real=False)
    return Made(ranked, None, math.inf, memory=getrusage(RUSAGE_CHILDREN).ru_maxrss / 2**20)


def mbi(asked: Asked) -> Made:
    mu = gaussian_mu(asked.epsilon, asked.delta)
    total, counts, pairs = weighted_sums(asked.split.train)
    rng, triangle = np.random.default_rng([asked.draw, 6]), np.triu(np.ones(pairs.shape), 1)
    given = {
        "total": total + rng.normal(0, 1 / (mu * math.sqrt(TOTAL))),
        "counts": counts + rng.normal(0, 1 / (mu * math.sqrt(COUNTS)), counts.shape),
        "pairs": pairs + triangle * rng.normal(0, 1 / mu, pairs.shape),
        "alpha": COUNTS,
        "components": nearest(nearest(COMPONENTS, asked.split.train.shape[0]), asked.epsilon),
    }
    return of_rival("MBI", asked, given, mu)._replace(true=gaussian_epsilon(mu, asked.delta))


def mostly(asked: Asked) -> Made:
    person, item = asked.split.train.nonzero()
    given = {"person": person, "item": item, "shape": asked.split.train.shape}
    return of_rival("MOSTLY", asked, given, asked.epsilon, asked.delta)._replace(claimed=asked.epsilon)


def randomized_rows(asked: Asked) -> Made:
    rng = np.random.default_rng([asked.draw, round(asked.epsilon)])
    ranked = randomized(asked.split.train, asked.epsilon, asked.split.test, rng)
    return Made(ranked, None, asked.epsilon, "replace")


def plain(fit: Callable[[csr_matrix], Callable[[csr_matrix], np.ndarray]]) -> Entry:
    """A method without noise."""
    return Entry((), lambda asked: Made(fit(asked.split.train)(asked.split.test.given), None, math.inf))


def _ease(train: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
    weights = EASE(EASE_PENALTY).fit(train, seed=0)
    return lambda given: given @ weights


def _ials(train: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
    model = IALS(**FACTORS)
    learned = model.fit(train, seed=0)
    return lambda given: model.scores(learned, given)


def _item_knn(train: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
    cosines = ItemKNN(NEIGHBOURS).fit(train, seed=0)
    return lambda given: given @ cosines


def _private_ease(asked: Asked) -> Made:
    release = hr.baseline(interactions(asked.split.train, asked.public), hr.PrivateEASE())
    return Made(scores(release, asked.split.test.given), None, math.inf)


def _popularity(train: csr_matrix) -> Callable[[csr_matrix], np.ndarray]:
    counts = np.asarray(train.sum(0)).ravel()
    return lambda given: np.tile(counts, (given.shape[0], 1))


ENTRIES = {
    "EASE, no noise": plain(_ease),
    "iALS, no noise": plain(_ials),
    "item-kNN, no noise": plain(_item_knn),
    "popularity, no noise": plain(_popularity),
    "PrivateEASE, no noise": Entry((), _private_ease),
    "PrivateEASE": of_model("PrivateEASE"),
    "synthetic people + EASE": Entry(("user", "record"), synthetic_rows),
    "DP-ALS": Entry(("user",), dp_als),
    "DP-ALS, one setting": Entry(("user",), lambda asked: dp_als(asked, ONE)),
    "DP-SGD": Entry(("user",), dp_sgd),
    "Popularity": of_model("Popularity"),
    "randomized rows + EASE": Entry(("user",), randomized_rows),
    "mbi + EASE": Entry(("user",), mbi, "MBI"),
    "MOSTLY AI + EASE": Entry(("user",), mostly, "MOSTLY"),
}
