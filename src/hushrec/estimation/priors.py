"""What is expected of items before their noisy sums are looked at: priors of effects and of factors.

The prior of effects is fitted to the sums, by popularity, public features and public ratings. With S_i = n_i
b_i + noise of known variance, b_i is distributed around a mean that is linear in public facts:

    b_i = a_0 + a_1 log(1 + n_i) + x_i · β + e_i,      e_i ~ N(0, t s²),      β_j ~ N(0, s_k²),

where x_i are the item's features and k is the group of feature j. Where public ratings of other people exist,
their posterior mean p_i with variance v_i joins as c p_i, and e_i ~ N(0, t (s² + v_i)). All variances are
estimated from the sums by empirical Bayes: features that say nothing get s_k² → 0, public ratings that say
nothing get c → 0. See MacKay 1992, "Bayesian interpolation", §3 and Tipping 2001.

Item factors come from public features: users differ in what they think of a genre, whatever was measured. A
user's rating of item i holds Σ_j x_ij w_j with w_j ~ N(0, v/m_k) for each feature j of group k, where m_k
is the mean of Σ_j x_ij² over the ratings. So each kind of feature explains the variance v. Features become
item factors √(v/m_k) x_ij, rotated and cut to the directions that explain most. A device learns its user's
weights from their own ratings, so no noise ever meets them.

Privacy: post-processing; of features, public in and public out.
"""

from typing import NamedTuple

import numpy as np

from hushrec.arrays import Bools, Floats, Ints
from hushrec.item_prior import ItemPrior

# Chosen by hand, all of them. Variances are in squared widths of the scale; stars are those of one to five.
_ROUNDS, _STEPS, _SETTLED = 12, 5, 1e-3
"""Most updates of t, those of the groups' variances for each of them, and the change that ends them."""
_APART, _APART_FROM_PUBLIC = 0.0125, 0.0025
"""s² of e_i where the sums say nothing of it: (0.45 stars)², and (0.2 stars)² around public ratings."""
_LEAST, _MOST = 0.01, 10.0
"""Bounds of t, the variance over its expectation."""
_SLOPE = 0.02
"""Prior variance of c around 1."""
_POPULARITY = 0.0025
"""Prior variance of a_1: (0.2 stars)² for e times as many ratings."""
_POPULAR = 1
"""The column of the popularity, which follows that of the constant."""
_GONE = 1e-7
"""Variance below which a group of features says nothing: (0.001 stars)²."""


class EffectPrior(NamedTuple):
    """The prior of item effects, before an item's own sum.

    Attributes:
        mean: shape (n_items,).
        variance: of each effect around its mean, if the mean were known.
        doubt: variance of the mean itself, whose coefficients are estimated.
        slope: a_1, what the mean gains with log(1 + n_i).
    """

    mean: Floats
    variance: Floats
    doubt: Floats
    slope: Floats


class _Line(NamedTuple):
    """Columns of a linear mean.

    Attributes:
        columns: shape (n_items, n_columns).
        groups: of each column; −1 where the variance is known, shape (n_columns,).
        variances: prior variance of the coefficients where it is known, shape (n_columns,).
    """

    columns: Floats
    groups: Ints
    variances: Floats

    def plus(self, columns: Floats, groups: Ints, variance: float = 0.0) -> "_Line":
        """Append columns."""
        return _Line(
            np.column_stack([self.columns, columns]),
            np.concatenate([self.groups, groups]),
            np.concatenate([self.variances, np.full(columns.shape[1], variance)]),
        )

    def of(self, rows: Bools) -> "_Line":
        """Select some items."""
        return self._replace(columns=self.columns[rows])


def effect_prior(
    sums: Floats, n: Floats, noise: Floats, span: float, prior: ItemPrior, origin: float
) -> EffectPrior:
    """Fit the prior of every item's effect, relative to the origin of the sums.

    Args:
        sums: noisy Σ of ratings minus the origin, shape (n_items,).
        n: number of ratings of each, positive.
        noise: variance of each sum around n_i b_i.
        span: width of the scale.
        prior: what is publicly known about the items.
        origin: what was subtracted from the ratings, in rating units.

    """
    # Centred over the ratings, so that a_0 is the level of an average rating.
    popular = np.log1p(n) - np.average(np.log1p(n), weights=n)
    line = _Line(np.ones((len(n), 1)), np.array([-1]), np.array([span**2]))  # any level on the scale
    line = line.plus(popular[:, None], np.array([-1]), _POPULARITY * span**2)
    if prior.design.size:
        line = line.plus(prior.design, prior.groups)
    expected = _fit_line(line, sums, n, noise, np.zeros_like(n), span, _APART)
    public_items = np.isfinite(prior.effects)
    if public_items.any():
        # These people judge as those did, give or take: the line says how their judgement differs.
        public = prior.effects[public_items] - origin
        level = float(np.average(public, weights=n[public_items]))
        variances = line.variances * np.where(np.arange(len(line.variances)) == _POPULAR, _SLOPE, 1.0)
        better = (
            line.of(public_items)
            ._replace(variances=variances)
            .plus((public - level)[:, None], np.array([-1]), _SLOPE)
        )
        residual_sums, extra = (
            sums[public_items] - n[public_items] * public,
            prior.effect_variance[public_items],
        )
        of_public = _fit_line(
            better, residual_sums, n[public_items], noise[public_items], extra, span, _APART_FROM_PUBLIC
        )
        expected.mean[public_items] = public + of_public.mean
        expected.variance[public_items] = of_public.variance
        expected.doubt[public_items] = of_public.doubt
        expected.slope[public_items] = of_public.slope
    return expected


def _fit_line(
    line: _Line, sums: Floats, n: Floats, noise: Floats, extra: Floats, span: float, apart: float
) -> EffectPrior:
    """Fit the effects' distribution around the line, of variance t (s² + v_i).

    ``apart`` is s² in squared widths of the scale, ``extra`` are the known v_i; t is estimated.
    """
    columns = line.columns
    groups = np.unique(line.groups[line.groups >= 0])
    sizes = [max(float(np.square(columns[:, line.groups == k]).sum(axis=1).mean()), 1e-12) for k in groups]
    within = [_APART * span**2 / size for size in sizes]  # each group may explain as much
    expected, scale = apart * span**2 + extra, 1.0
    mean = doubt = np.zeros_like(n)
    for _ in range(_ROUNDS):
        # Var S_i = noise_i + n_i² t (s² + v_i) around n_i x_i·β. So these are the normal equations of β.
        weights = 1 / (noise + scale * expected * n * n)
        normal = columns.T @ (columns * (weights * n * n)[:, None])
        moment = columns.T @ (weights * n * sums)
        for _ in range(_STEPS):
            scales = line.variances.copy()
            for k, value in zip(groups, within, strict=True):
                scales[line.groups == k] = value
            # A posterior of β given the variances s_k², then these by evidence, in turn.
            coefficients, covariance = _posterior(normal, moment, scales)
            for place, k in enumerate(groups):
                members = line.groups == k
                if within[place] > 0:
                    # MacKay's γ, the number of coefficients that the sums determine.
                    determined = members.sum() - np.diag(covariance)[members].sum() / within[place]
                    value = float(np.square(coefficients[members]).sum() / max(determined, 1e-9))
                    # Beyond the scale it can only be noise, and would leave the equations without a solution.
                    value = min(value, span**2 / sizes[place])
                    within[place] = value if value * sizes[place] > _GONE * span**2 else 0.0
        mean = columns @ coefficients
        doubt = np.einsum("ij,ij->i", columns @ covariance, columns)
        # E (S − n x·β̂)² = noise + n² t v − n² x Cov x, where β̂ was fitted to the same sums.
        residuals = (sums - n * mean) ** 2 - noise + n * n * doubt
        # The moment estimate of t has variance 2/Σ w² n⁴ v²; without sums it is 1, give or take 1.
        information = float((weights * n * n * expected) @ (weights * n * n * expected)) / 2
        before = scale
        scale = (float(((weights * n) ** 2 * expected) @ residuals) / 2 + 1) / (information + 1)
        scale = min(max(scale, _LEAST), _MOST)
        if abs(scale - before) < _SETTLED * before:
            break
    return EffectPrior(mean, scale * expected, doubt, np.full_like(mean, coefficients[_POPULAR]))


def _posterior(normal: Floats, moment: Floats, scales: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of coefficients with prior variances ``scales``, which may be zero."""
    root = np.sqrt(scales)
    # (D⁻¹ + N)⁻¹ = √D (√D N √D + I)⁻¹ √D needs no inverse of D, which may hold zeros.
    inner = root[:, None] * normal * root + np.eye(len(root))
    covariance = root[:, None] * np.linalg.inv(inner) * root
    return covariance @ moment, covariance


_EXPLAINED = 0.002
"""Variance v of a user's ratings that a kind of feature explains, in squared widths of the scale; by hand."""
_MOST_TASTES = 32
"""The most directions. Chosen by hand."""


def feature_tastes(prior: ItemPrior, popularity: Floats, span: float) -> Floats:
    """Make factors of the items from features, such that the users' vectors have unit covariance.

    Args:
        prior: what is publicly known about the items.
        popularity: how often each item is chosen, positive, shape (n_items,).
        span: width of the scale.

    Returns:
        In rating units, shape (n_items, rank), of rank 0 if there are no features.
    """
    if not prior.design.size:
        return np.zeros((len(popularity), 0))
    weights = popularity / popularity.sum()
    # m_k, the mean of Σ_j x_ij² over the ratings: with it, each kind explains the same variance v.
    sizes = np.bincount(prior.groups, weights @ prior.design**2)
    scales = np.sqrt(_EXPLAINED * span**2 / np.maximum(sizes, 1e-12))[prior.groups]
    columns = prior.design * scales
    # The leading directions of Σ_i p_i f_i f_iᵀ, over what users choose and not over the catalogue.
    _, directions = np.linalg.eigh((columns * weights[:, None]).T @ columns)
    return np.asarray(columns @ directions[:, : -_MOST_TASTES - 1 : -1], dtype=np.float64)
