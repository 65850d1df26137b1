"""The prior of item effects and factors for a catalogue, from an earlier release.

Privacy: public in, public out. The release is not private because its ratings are declared public, or it is
private and was charged to the ledger of the people in it.
"""

import hashlib
import math
from collections import Counter

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.documents.sentences import Assumes, Unprotected
from hushrec.errors import ConfigError
from hushrec.item_prior import ItemPrior
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement
from hushrec.text import above

_COLUMNS = 60
"""The most factors of others' interactions that are kept: chosen by hand."""
_LEAST = 1e-12
"""Smallest divisor, so that nothing is divided by zero."""


def of_release(
    release: Release,
    items: tuple[str, ...],
    titles: tuple[str, ...],
    scale: tuple[float, float, float] | None,
) -> ItemPrior:
    """Return what a release says of the items that it has in common with a catalogue.

    Items are the same if their titles are, or, where one of the two has no titles, their ids.

    Args:
        release: any that predicts ratings from effects of items, for a domain of ratings; any of linear
            scores, for interactions.
        items: ids of the catalogue.
        titles: titles of its items, or none.
        scale: of the ratings to come; None for interactions.
    """
    _require_kind(release, scale)
    statement = release.statement
    _require_public(statement)
    theirs = _match_items(release, items, titles)
    shared = np.flatnonzero(theirs >= 0)
    if not len(shared):
        raise ConfigError(
            "the prior shares no item with the domain's catalogue; titles, or else ids, must be the same in "
            "both"
        )
    digest = hashlib.sha256(release.to_bytes()).hexdigest()
    of: dict[str, str | float] = {"sha256": digest, "model": release.model, "n_items": len(shared)}
    known = Assumes.prior_public(**of)
    if statement.private:
        known = Assumes.prior_paid(**of, epsilon=float(above(statement.epsilon)))
    if scale is None:
        return ItemPrior(pairs=_spread(_covariance_factors(release), theirs), says=(known,))
    effects, variance = np.full(len(theirs), np.nan), np.zeros(len(theirs))
    noise = release.tensors["item_noise"].astype(np.float64)
    effects[shared] = release.tensors["item_effects"][theirs[shared]] + release.constants["user_mean"]
    # The noise of a rating is the same for all items, and that of its item's effect comes on top.
    variance[shared] = (noise - noise.min())[theirs[shared]]
    learned = release.tensors.get("item_factors")
    factors = np.zeros((0, 0))
    if learned is not None and learned.shape[1]:
        factors = _spread(learned.astype(np.float64), theirs)
    return ItemPrior(effects=effects, effect_variance=variance, factors=factors, says=(known,))


def _require_kind(release: Release, scale: tuple[float, float, float] | None) -> None:
    if scale is None:
        if release.kind != "linear items":
            raise ConfigError(
                f"a release of {release.model} does not say which items go together, so it cannot be a "
                "prior; make one with hushrec.baseline(public_interactions, hushrec.PrivateEASE())"
            )
        return
    if "item_effects" not in release.tensors or release.scale is None:
        raise ConfigError(
            f"a release of {release.model} has no effects of items, so it cannot be a prior; make one with "
            "hushrec.fit(public_ratings, hushrec.GlobalEffects())"
        )
    if release.scale[:2] != tuple(scale)[:2]:
        raise ConfigError(
            f"the prior is on the scale {release.scale[0]:g} to {release.scale[1]:g}, the domain on "
            f"{scale[0]:g} to {scale[1]:g}; load the public ratings under the domain's scale, and fit again"
        )


def _require_public(statement: Statement) -> None:
    """Refuse a prior that is neither private nor a baseline, which names its people."""
    if statement.private:
        return
    caveat = statement.caveats[0]
    if caveat.kind != "unprotected":
        raise ConfigError(
            f"the prior promises something only on a condition ({caveat.kind}), which "
            "would then be this release's too; take a release without one"
        )
    if caveat.sentence is not Unprotected.exact:
        raise ConfigError(
            f"the prior promises nothing: {caveat}. Take a private release, or make a "
            "baseline of data that are public, with hushrec.baseline"
        )
    if not statement.people:
        raise ConfigError(
            "the prior does not say whose data it was made from, as baselines of earlier versions do not; "
            "make it again with hushrec.baseline"
        )


def _match_items(release: Release, items: tuple[str, ...], titles: tuple[str, ...]) -> Ints:
    """Return the place of each of the domain's items in the release, −1 if it is not there."""
    by_title = bool(release.titles and titles)
    theirs, ours = (release.titles, titles) if by_title else (release.items, items)
    times = Counter(theirs)
    # An empty name, or one that stands there twice, tells no item from another.
    places = {name: place for place, name in enumerate(theirs) if name and times[name] == 1}
    return np.array([places.get(name, -1) for name in ours], dtype=np.int64)


def _spread(rows: Floats, theirs: Ints) -> Floats:
    """Give each of the domain's items its row in the release, or zeros."""
    spread = np.zeros((len(theirs), rows.shape[1]))
    spread[theirs >= 0] = rows[theirs[theirs >= 0]]
    return spread


def _covariance_factors(release: Release) -> Floats:
    """Return U of the covariance U Uᵀ + diagonal that the linear scores of a release were solved for.

    Its inverse is D − g gᵀ, with D_i = 1/(a_i b_i) + |g_i|², because EASE divides by the diagonal of the
    inverse (``pair_factors.ease``). So U = D⁻¹ g (I − gᵀ D⁻¹ g)^(−1/2). Its leading columns are kept; rows
    are divided by the items' weights a, and scaled so that the mean square of an item is 1.
    """
    names = "item_factors", "input_weights", "output_weights"
    factors, inputs, outputs = (release.tensors[name].astype(np.float64) for name in names)
    diagonal = 1 / np.maximum(inputs * outputs, _LEAST) + (factors**2).sum(axis=1)
    scaled = factors / diagonal[:, None]
    inner = np.eye(factors.shape[1]) - factors.T @ scaled
    # (I − gᵀ D⁻¹ g)^(−1/2), up to a rotation, which U Uᵀ does not show.
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    whole = scaled @ (vectors / np.sqrt(np.maximum(values, _LEAST)))
    _, axes = np.linalg.eigh(whole.T @ whole)
    rows = whole @ axes[:, : -_COLUMNS - 1 : -1] / np.maximum(inputs, _LEAST)[:, None]
    return np.asarray(rows / max(math.sqrt(float((rows**2).sum(axis=1).mean())), _LEAST), dtype=np.float64)
