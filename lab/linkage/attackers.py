"""Two attackers that link published rows to people: only one of them knows how the rows were made.

Both turn a known fact (an item and its step) into a score for a row, given the row's symbol for that item.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit

from hushrec.arrays import Bytes, Floats, Ints32
from hushrec.data.feedback import Ratings
from hushrec.errors import ConfigError

_RHO = 1.5 / 4
"""ρ0 of Narayanan & Shmatikov 2008, §5: 1.5 stars, as a share of the scale 1 to 5."""
_DOUBT = 1e-9
"""The informed attacker's doubt in their own model: one unlikely cell must not rule out a row."""
_KINDS = 64
"""Number of length groups of rows that the informed attacker distinguishes."""
_REACH = np.linspace(-30, 30, 601)
"""Row activities that the informed attacker considers."""

Tables = Callable[[Ints32, Bytes], Floats]
"""Maps known items and steps, shape (targets, known), to the tables of ``linkage_scores.standings``."""

__all__ = ["Tables", "informed", "response_channel", "scoreboard", "substitution_channel"]


def scoreboard(released: Ratings) -> tuple[Bytes, Tables]:
    """Scoreboard-RH without dates (Narayanan & Shmatikov 2008, §5): wt(i) exp(−|ρ_i − ρ′_i|/ρ0), else 0.

    Args:
        released: the published rows.

    Returns:
        Kind of each row, the same for all, shape (released.n_users,); tables of the score of each fact.

    Privacy: post-processing of ``released``.
    """
    scale = released.domain.scale
    support = np.bincount(released.items, minlength=released.domain.n_items)
    weights: Floats = 1 / np.log(np.maximum(support, 2))
    grid = np.arange(scale.n_values)
    apart = scale.step * np.abs(grid[:, None] - grid) / (_RHO * max(scale.span, scale.step))
    similar = np.concatenate([np.zeros((scale.n_values, 1)), np.exp(-apart)], axis=1)

    def tables(items: Ints32, steps: Bytes) -> Floats:
        worth: Floats = weights[items][..., None] * similar[steps]
        return worth[:, :, None]

    return np.zeros(released.n_users, np.uint8), tables


def informed(released: Ratings, channel: Floats, wrong: float) -> tuple[Bytes, Tables]:
    """Log-likelihood ratios that a row is the target's, ln(((1 − β) law[a, y] + β law[0, y])/π_ir(y)).

    Somebody else's row follows a Rasch model: π_ir(y) = σ(ℓ_i + α_r) times the share of y among the item's
    published ratings, and π_ir(0) = 1 − σ(ℓ_i + α_r). ℓ_i is the logit of the share of rows that hold the
    item. α_r makes Σ_i σ(ℓ_i + α_r) the row's length; without it, long rows would fit everybody. Rows of
    similar length are one kind and share the α of their mean length. One extra row, with half a rating of
    each item, spread evenly over the scale, keeps all shares above 0.

    Args:
        released: the published rows, which give the shares π.
        channel: P(y | a), shape (n_values + 1, n_values + 1).
        wrong: β, share of wrong facts, whose items the target has not rated.

    Returns:
        Kind of each row, shape (released.n_users,); tables of the score of each fact.

    Privacy: post-processing of ``released``.
    """
    n_values, n_items, counts = len(channel) - 1, released.domain.n_items, released.counts
    codes = released.items.astype(np.int64) * n_values + released.steps
    cells = np.bincount(codes, minlength=n_items * n_values).reshape(n_items, n_values)
    support = cells.sum(axis=1, keepdims=True)
    stars = (cells + 1 / n_values) / (support + 1)
    edges = np.unique(np.quantile(counts, np.linspace(0, 1, _KINDS + 1)[1:-1], method="lower"))
    kinds = np.searchsorted(edges, counts).astype(np.uint8)
    sizes = np.bincount(kinds, minlength=len(edges) + 1)
    lengths = np.bincount(kinds, counts, len(sizes)) / np.maximum(sizes, 1)
    fame = logit((support[:, 0] + 0.5) / (released.n_users + 1))
    activity = np.interp(lengths, [expit(fame + reach).sum() for reach in _REACH], _REACH)

    facts = (1 - wrong) * channel[1:] + wrong * channel[0]

    def tables(items: Ints32, steps: Bytes) -> Floats:
        holds = fame[items][..., None] + activity
        background = np.empty((*holds.shape, n_values + 1))
        background[..., 0] = expit(-holds)
        background[..., 1:] = expit(holds)[..., None] * stars[items][:, :, None]
        odds: Floats = np.log((1 - _DOUBT) * facts[steps][:, :, None] / background + _DOUBT)
        return odds

    return kinds, tables


def response_channel(n_values: int, exponent: float, *, asked: float = 1.0) -> Floats:
    """What k-ary randomized response does to a cell, k = n_values + 1 including "not rated".

    Args:
        n_values: number of values on the scale.
        exponent: −ln of the probability that a cell is not answered truly; ∞ for unchanged rows.
        asked: share of a row's cells that are answered; the others come out as "not rated".

    Returns:
        P(y | a), shape (n_values + 1, n_values + 1): asked · (1 − e^−exponent) if y is a, else asked ·
        e^−exponent/n_values; plus 1 − asked for "not rated".

    Raises:
        ConfigError: A number is out of range.

    Privacy: public.
    """
    if not (n_values >= 1 and exponent >= 0 and 0 <= asked <= 1):
        raise ConfigError("randomized response needs n_values ≥ 1, exponent ≥ 0, and asked from 0 to 1")
    flipped = math.exp(-exponent)
    channel = np.full((n_values + 1, n_values + 1), asked * flipped / n_values)
    np.fill_diagonal(channel, asked * (1 - flipped))
    channel[:, 0] += 1 - asked
    return channel


def substitution_channel(released: Ratings, keep_probability: float) -> Floats:
    """What item substitution does to a cell (Du, Leighton & Patel 2019, §III.C).

    A replaced rating leaves its cell empty, unless another rating of the same person lands there: with
    probability λ = (1 − p*) m̄/n, for m̄ ratings per row and n items, and with stars as in the published data.
    Where a replaced item goes is not used: an attacker who follows it to similar items may find more.

    Args:
        released: the published rows.
        keep_probability: p*, the probability that an item is kept.

    Returns:
        P(y | a), shape (n_values + 1, n_values + 1).

    Raises:
        ConfigError: p* is not a probability.

    Privacy: post-processing of ``released``.
    """
    if not 0 <= keep_probability <= 1:
        raise ConfigError("keep_probability must be from 0 to 1")
    n_values, gone = released.domain.scale.n_values, 1 - keep_probability
    lands = gone * released.n_ratings / max(released.n_users, 1) / released.domain.n_items
    stars = (np.bincount(released.steps, minlength=n_values) + 1 / n_values) / (released.n_ratings + 1)
    channel = np.tile(np.concatenate([[1 - lands], lands * stars]), (n_values + 1, 1))
    channel[1:] *= gone
    channel[np.arange(1, n_values + 1), np.arange(1, n_values + 1)] += keep_probability
    return channel
