"""What a model measures when its releases repeat, and how it makes one of them from running sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hushrec.data.domain import Domain
from hushrec.estimation.shrinkage import popularity, shrink
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.models.phases.item_effects import ItemEffects, ratio
from hushrec.privacy.bounded import Noisy
from hushrec.release.artefact import Release
from hushrec.statistics.series.dated_sums import DatedCounts, DatedSums

EFFECT_SHARES = {"global sum": 0.01, "global count": 0.01, "item sums": 0.83, "item counts": 0.15}
"""Parts of the budget of item effects."""


@dataclass(frozen=True)
class Repeated:
    """A model whose releases repeat under one bound.

    Args:
        sums: what every release measures.
        shares: parts of the budget by name of measurement.
        made: the release from the estimated running sums, by name, and what is publicly known of the items.

    Privacy: public.
    """

    sums: DatedCounts
    shares: Mapping[str, float]
    made: Callable[[Mapping[str, Noisy], ItemPrior], Release]


def running_effects(
    domain: Domain, sums: DatedSums, noisy: Mapping[str, Noisy], prior: ItemPrior = NOTHING_KNOWN
) -> ItemEffects:
    """Item effects from running sums, as ``EffectSettings.measure`` makes them from those of one release.

    Privacy: post-processing.
    """
    (lo, hi, _), span, origin = domain.scale, domain.scale.span, sums.of.origin
    effects = shrink(noisy["item sums"], noisy["item counts"], span, prior, origin)
    item_effects = np.clip(effects.mean + origin, lo, hi)
    level = ratio(noisy["global sum"], noisy["global count"])
    user_mean = origin + level - float(effects.counts @ item_effects / effects.counts.sum())
    return ItemEffects(
        item_effects,
        effects.variance,
        effects.counts,
        float(np.clip(user_mean, -span, span)),
        popularity(noisy["item sums"], noisy["item counts"], span),
        prior,
    )
