"""Membership inference: attackers, how well they tell members from others, and how well any attacker could.

They ask of each person: is theirs among the rows that a recommender was trained on?

Each knows the whole row of the person, and sees the recommender, or the rows that were published. What they
compute is higher for those whom they take for members; no threshold is chosen here.

Privacy: public. Attackers see what is published, and rows that are known.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hushrec.arrays import Bools, Floats, Ints
from hushrec.documents.odds import FALSE_POSITIVES, Odds


@dataclass(frozen=True, slots=True)
class Success:
    """Of an attacker, or a bound on all.

    Attributes:
        auc: the chance that a member stands above another person.
        caught: the share of members above a threshold that ``FALSE_POSITIVES`` of the others exceed.
    """

    auc: float
    caught: float


def success(suspicion: Floats, members: Bools) -> Success:
    """Of an attacker's figures, one a person: higher for whom they take for a member."""
    wrong, right, _ = roc_curve(members, suspicion, drop_intermediate=False)
    return Success(
        float(roc_auc_score(members, suspicion)), float(right[wrong <= FALSE_POSITIVES].max(initial=0.0))
    )


def bound(epsilon: float, delta: float) -> Success:
    """What a guarantee by Gaussian noise allows, for a member whom everybody else's rows are known next to.

    Each person trains or not by a coin of their own, so this holds for an attack on many people with one
    threshold: trade-off curves are concave, and its rates are means of everybody's (Dong, Roth & Su 2022,
    Equation 6; the area under Φ(Φ⁻¹(α) + μ) is Φ(μ/√2)).

    Args:
        epsilon: true ε at δ when one person is added or removed.
        delta: δ.
    """
    odds = Odds.gaussian(epsilon, delta)
    area = 1.0 if odds.mu is None else NormalDist().cdf(odds.mu / math.sqrt(2))
    return Success(area, odds.best_attack)


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean and 95 % interval over recommenders that were attacked, by Student's t."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = float(student.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return mean, mean - half, mean + half


LISTED = 20
"""Items of the list that a person is recommended."""
_AT_ONCE = 500


def margins(scores: Floats, rows: csr_matrix) -> Floats:
    """How far a recommender puts people's own items above the others: the attack on the loss.

    Members have a smaller loss (Yeom et al. 2018, §III.B). The loss here is the mean score of the person's
    items, less that of all others and divided by the latter's standard deviation, with the sign changed.

    Args:
        scores: of every item for every person, shape (n_people, n_items).
        rows: the people's own items, ones in the same shape.

    Returns:
        Shape (n_people,).
    """
    own = np.diff(rows.indptr)
    others = scores.shape[1] - own
    theirs = np.asarray(rows.multiply(scores).sum(1)).ravel()
    squares = np.asarray(rows.multiply(scores**2).sum(1)).ravel()
    mean = (scores.sum(1) - theirs) / others
    variance = ((scores**2).sum(1) - squares) / others - mean**2
    margin: Floats = (theirs / np.maximum(own, 1) - mean) / np.sqrt(np.maximum(variance, 1e-12))
    return margin


def nearest(rows: csr_matrix, published: csr_matrix) -> Floats:
    """The cosine of each person's row with the nearest one of the published rows, shape (n_people,)."""
    unit = [csr_matrix(of / np.sqrt(np.maximum(of.sum(1), 1))) for of in (rows, published)]
    starts = range(0, rows.shape[0], _AT_ONCE)
    parts = (csr_matrix(unit[0][start : start + _AT_ONCE] @ unit[1].T) for start in starts)
    return np.concatenate([part.max(axis=1).toarray().ravel() for part in parts])


def differences(scores: Floats, rows: csr_matrix, items: Floats) -> Floats:
    """What people have less what they are recommended (Zhang et al. 2021, §3.2).

    Args:
        scores: of every item for every person, shape (n_people, n_items).
        rows: the people's own items.
        items: a vector of each item, from data of the attacker's, shape (n_items, rank).

    Returns:
        The mean vector of the person's items less that of the ``LISTED`` others with the best scores, shape
        (n_people, rank).
    """
    hidden = scores.copy()
    hidden[rows.nonzero()] = -np.inf
    best = np.argpartition(-hidden, LISTED, axis=1)[:, :LISTED]
    mean: Floats = np.asarray(rows @ items) / np.maximum(np.diff(rows.indptr), 1)[:, None]
    difference: Floats = mean - items[best].mean(1)
    return difference


def item_vectors(rows: csr_matrix, rank: int) -> Floats:
    """Vectors of items as Zhang et al. have them: factors of an attacker's own rows, (n_items, rank)."""
    gram = (rows.T @ rows).toarray().astype(float)
    values, vectors = np.linalg.eigh(gram)
    factors: Floats = vectors[:, -rank:] * np.sqrt(np.sqrt(np.maximum(values[-rank:], 0)))
    return factors


def classified(shadow: Floats, members: Bools, victim: Floats, seed: int) -> Floats:
    """The chance to be a member, by a classifier of difference vectors (Zhang et al. 2021, §3.3).

    It is learned from a shadow recommender, whose members the attacker knows: the multilayer perceptron of
    the paper, with layers of 32 and 8, averaged in log odds with a linear one, which learns more from few.

    Args:
        shadow: difference vectors under the shadow recommender, shape (n_people, rank).
        members: who is a member of the shadow's.
        victim: difference vectors under the recommender that is attacked.
        seed: of the perceptron.
    """
    layers = MLPClassifier((32, 8), alpha=1e-2, early_stopping=True, random_state=seed)
    found = np.zeros(len(victim))
    for classifier in (LogisticRegression(C=0.1, max_iter=500), layers):
        learned = make_pipeline(StandardScaler(), classifier).fit(shadow, members)
        chance = np.clip(learned.predict_proba(victim)[:, 1], 1e-9, 1 - 1e-9)
        found += np.log(chance / (1 - chance))
    return found


def likelihood_ratios(statistics: Floats, members: Bools, victim: int) -> Floats:
    """Log-likelihood ratios from shadow recommenders: LiRA (Carlini et al. 2022, Algorithm 1), online.

    RecLiRA (He, Chen & Gu 2025) is the same for recommenders, on one interaction; here it is a whole person.
    For each person, the statistic under recommenders with and without them is taken for normal, with two
    means and one variance.

    Args:
        statistics: of every recommender for every person, shape (n_recommenders, n_people, n_statistics).
        members: who was trained on in each, shape (n_recommenders, n_people).
        victim: number of the one that is attacked; all others are its shadows.

    Returns:
        Shape (n_people,); 0 for a person whom fewer than two shadows have, or fewer than two lack.
    """
    others = np.delete(np.arange(len(members)), victim)
    seen, there = statistics[others], members[others][..., None]
    mean = {}
    for inside in (True, False):
        which = there == inside
        n = which.sum(0)
        mean[inside] = np.where(which, seen, 0).sum(0) / np.maximum(n, 1)
    rest = seen - np.where(there, mean[True], mean[False])
    variance = (rest**2).sum(0) / max(len(others) - 2, 1) + 1e-12
    far = [(statistics[victim] - mean[inside]) ** 2 / (2 * variance) for inside in (False, True)]
    enough: Ints = np.minimum(there.sum(0), (~there).sum(0))[:, 0]
    ratio: Floats = (far[0] - far[1]).sum(1)
    return np.where(enough >= 2, ratio, 0.0)
