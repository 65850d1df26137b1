"""Releases from learned parameters, from which clients predict.

Privacy: post-processing.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from hushrec.arrays import Floats, Floats32
from hushrec.data.domain import Domain
from hushrec.estimation.priors import feature_tastes
from hushrec.models.base import Model
from hushrec.models.biases import Biases
from hushrec.models.effects import ItemEffects
from hushrec.release.artefact import LARGEST_RANK, Release
from hushrec.release.statement import placeholder_statement

USER_VARIANCE = 0.01
"""Variance of user biases, in squared widths of the scale: (0.4 stars)² on one to five. Chosen by hand."""
RESIDUAL_VARIANCE = 0.044
"""Variance of a rating around a user's own regression, in squared widths of the scale. Chosen by hand.

It is less than ``estimation.shrinkage.RATING_VARIANCE``, the variance around an item's effect: the user's
level, slopes and factors explain some of that. lab/mcsherry_mironov/mcsherry-mironov.md compares it with
ridges that were trained for each data set. Without factors, RMSE with 0.05 was worse in all of 96 fits on six
sets, by 0.02 % to 0.1 % on average.
"""

LONGEST = 1000.0
"""Longest row of factors, in widths of the scale: a length that only noise gives it. Chosen by hand."""

# The variances and the odds of slopes were chosen on MovieLens 100K, Anime and generated ratings, and checked
# on three other sets: docs/models/global_effects.md.
EFFECT_SLOPE = 0.4
"""Variance of how much more a user with slopes follows the item effects than others do."""
POPULARITY_SLOPE = 0.0012
"""The same of the logarithm of an item's popularity, in squared widths of the scale."""
SLOPE_ODDS = 0.25
"""Prior odds that a user has slopes (``hushrec.release.predictors.scores``)."""


def factor_release(
    model: Model,
    domain: Domain,
    baseline: ItemEffects,
    factors: Floats,
    factor_variance: Floats | None = None,
) -> Release:
    """Make a release that predicts by ridge regression on item factors and on features.

    Args:
        model: the model that makes the release.
        baseline: released effects of items.
        factors: shape (n_items, rank), such that the users' vectors have unit covariance.
        factor_variance: what is unknown of each item's factors, as the variance that it gives a rating of an
            average user: the trace of the factors' posterior covariance, in squared rating units, shape
            (n_items,). It is added to the variance of the item's ratings. 0 by default.
    """
    room = LARGEST_RANK - factors.shape[1]  # beside the factors of a prior, which may be many
    feature_factors = feature_tastes(baseline.prior, baseline.popularity, domain.scale.span)[:, :room]
    factors = np.hstack([factors, feature_factors])
    constants = _of_users(model, domain, baseline.user_mean)
    if feature_factors.shape[1]:
        constants["known_factors"] = float(feature_factors.shape[1])
    if factor_variance is not None:
        baseline = baseline._replace(variance=baseline.variance + factor_variance)
    return _release(model, domain, "factors", baseline, constants, {"item_factors": factors})


def _of_users(model: Model, domain: Domain, user_mean: float) -> dict[str, float]:
    """Return the prior of users apart from taste: their level and, if modelled, their slopes."""
    square = domain.scale.span**2
    level = {"user_mean": user_mean, "user_variance": USER_VARIANCE * square}
    if not model.slopes:
        return level
    slopes = {"effect_slope": EFFECT_SLOPE, "popularity_slope": POPULARITY_SLOPE * square}
    return {**level, **slopes, "slope_odds": SLOPE_ODDS}


def people_release(
    model: Model,
    domain: Domain,
    biases: Biases,
    people: Floats | None = None,
    items: Floats | None = None,
    users: Sequence[str] = (),
) -> Release:
    """Make a release that lists users: these are predicted from their vectors, others fold in.

    Args:
        model: the model that makes the release.
        domain: the public domain, with a roster.
        biases: released biases of items and users.
        people, items: factors, shapes (n_users, rank) and (n_items, rank), the former in rating units; none
            by default.
        users: ids of the users, if the domain has no roster.
    """
    people = np.zeros((domain.n_users, 0)) if people is None else people
    items = np.zeros((domain.n_items, 0)) if items is None else items
    # Rotated so that the users' vectors have unit covariance, which is the prior of those who fold in.
    root = second_moment_root(people.T @ people / max(len(people), 1), domain.scale.star)
    weights = biases.user_counts + 1e-9
    user_mean = float(np.average(biases.user_effects, weights=weights)) if len(weights) else 0.0
    constants = _of_users(model, domain, user_mean)
    tensors = {
        # p·q = (R⁻¹ p)·(Rᵀ q) with R Rᵀ the mean of p pᵀ: the products stay, and R⁻¹ p has unit covariance.
        "item_factors": items @ root,
        "user_effects": biases.user_effects - user_mean,
        "user_factors": np.linalg.solve(root, people.T).T,
    }
    baseline = ItemEffects(
        biases.item_effects, biases.item_variance, biases.item_counts, user_mean, biases.item_popularity
    )
    names = tuple(users) or domain.users or ()
    if not names:  # nobody rated
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("user_")}
    kind = "factors and people" if names else "factors"
    return _release(model, domain, kind, baseline, constants, tensors, names)


def second_moment_root(moment: Floats, star: float) -> Floats:
    """Return the Cholesky factor of the second moment of the users' factors, which may be singular.

    Args:
        moment: shape (rank, rank), in squared rating units.
        star: the scale's unit.
    """
    rank = len(moment)
    # Above what rounding may take from an eigenvalue of 0: Cholesky needs all of them positive.
    rounding = 16 * rank * float(np.finfo(np.float64).eps * np.trace(moment))
    ridge = max(1e-12 * star**2, rounding)
    return np.asarray(np.linalg.cholesky(moment + ridge * np.eye(rank)), dtype=np.float64)


def _solvable(factors: Floats | Floats32, span: float) -> Floats:
    """Shorten rows that only noise makes so long that a user's own fit on them would have no solution.

    Privacy: post-processing.
    """
    # Rows up to this length stay as they are, so a release without such noise keeps its bits.
    lengths, longest = np.sqrt((factors**2).sum(axis=1, keepdims=True)), LONGEST * span
    return np.asarray(factors * (longest / np.maximum(lengths, longest)), dtype=np.float64)


def neighbour_release(
    model: Model,
    domain: Domain,
    baseline: ItemEffects,
    n_neighbours: int,
    matrices: Mapping[str, Floats | Floats32],
) -> Release:
    """Make a release that predicts from neighbours; ``matrices`` are factors or packed triangles."""
    constants = {
        **_of_users(model, domain, baseline.user_mean),
        "bias_noise": RESIDUAL_VARIANCE * domain.scale.span**2,
        "neighbours": float(n_neighbours),
    }
    kind = "neighbours" if "item_factors" in matrices else "dense neighbours"
    return _release(model, domain, kind, baseline, constants, matrices)


def _release(
    model: Model,
    domain: Domain,
    kind: str,
    baseline: ItemEffects,
    constants: Mapping[str, float],
    matrices: Mapping[str, Floats | Floats32],
    users: tuple[str, ...] = (),
) -> Release:
    lo, hi, step = domain.scale
    if "item_factors" in matrices:
        matrices = {**matrices, "item_factors": _solvable(matrices["item_factors"], domain.scale.span)}
    tensors: dict[str, Floats | Floats32] = {
        "item_effects": baseline.item_effects,
        "item_noise": RESIDUAL_VARIANCE * domain.scale.span**2 + baseline.variance,
        "item_popularity": baseline.popularity,
        **matrices,
    }
    return Release(
        model=type(model).__name__,
        settings=model.settings(),
        kind=kind,
        items=domain.items,
        scale=(lo, hi, step),
        constants=constants,
        tensors={name: np.ascontiguousarray(array, dtype=np.float32) for name, array in tensors.items()},
        statement=placeholder_statement(),
        users=users,
    )
