"""A model's measurements for a series of releases, and each release from running sums."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hushrec.item_prior import ItemPrior
from hushrec.privacy.bounded import Noisy
from hushrec.release.artefact import Release
from hushrec.statistics.item_sums import OVERALL
from hushrec.statistics.series.dated_sums import DatedCounts

EFFECTS_SPLIT = {**dict.fromkeys(OVERALL, 0.01), "item sums": 0.77, "item counts": 0.2}
"""Parts of the budget of item effects. docs/models/global_effects.md compares parts of the counts."""


@dataclass(frozen=True)
class Repeated:
    """A model whose releases repeat under one bound.

    Args:
        sums: what every release measures.
        split: parts of the budget by name of measurement.
        build: makes a release from the estimated running sums, by name, and the items' public prior.

    Privacy: public.
    """

    sums: DatedCounts
    split: Mapping[str, float]
    build: Callable[[Mapping[str, Noisy], ItemPrior], Release]
