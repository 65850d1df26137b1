"""How well an attacker tells members from others, and how well any attacker could. Privacy: public."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score, roc_curve

from hushrec.arrays import Bools, Floats
from hushrec.documents.measured import FALSE_POSITIVES, Odds


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
