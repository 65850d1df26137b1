"""The prior of item effects and factors for a catalogue, from an earlier release.

Privacy: public in, public out. The release is not private because its ratings are declared public, or it is
private and was charged to the ledger of the people in it.
"""

import hashlib

import numpy as np

from hushrec.documents.words import Clause
from hushrec.errors import ConfigError
from hushrec.figures import above
from hushrec.item_prior import ItemPrior
from hushrec.release.artefact import Release

__all__ = ["of_release"]


def of_release(release: Release, items: tuple[str, ...], scale: tuple[float, float, float]) -> ItemPrior:
    """Return effects and factors of the items that a release has in common with a catalogue, by ids.

    Args:
        release: any that predicts ratings from effects of items.
        scale: of the ratings to come, as in the domain.
    """
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
    statement = release.statement
    if not statement.private and not statement.has("unprotected"):
        raise ConfigError(
            f"the prior promises something only on a condition ({statement.caveats[0].kind}), which "
            "would then be this release's too; take a release without one"
        )
    places = {item: place for place, item in enumerate(release.items)}
    theirs = np.array([places.get(item, -1) for item in items])
    shared = np.flatnonzero(theirs >= 0)
    if not len(shared):
        raise ConfigError(
            "the prior shares no item with the domain's catalogue; ids must be the same in both"
        )
    theirs = theirs[shared]
    effects, variance = np.full(len(items), np.nan), np.zeros(len(items))
    noise = release.tensors["item_noise"].astype(np.float64)
    effects[shared] = release.tensors["item_effects"][theirs] + release.constants["user_mean"]
    # The noise of a rating is the same for all items, and that of its item's effect comes on top.
    variance[shared] = (noise - noise.min())[theirs]
    learned = release.tensors.get("item_factors")
    factors = np.zeros((0, 0))
    if learned is not None and learned.shape[1]:
        factors = np.zeros((len(items), learned.shape[1]))
        factors[shared] = learned[theirs]
    digest = hashlib.sha256(release.to_bytes()).hexdigest()
    clause = Clause(
        "assumes.prior_public", {"sha256": digest, "model": release.model, "n_items": len(shared)}
    )
    if statement.private:
        paid = {**clause.values, "epsilon": float(above(statement.epsilon))}
        clause = Clause("assumes.prior_paid", paid)
    return ItemPrior(effects=effects, effect_variance=variance, factors=factors, clauses=(clause,))
