"""Inputs of a posterior sample: the density, the chains' settings, the ratings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from pydantic import Field

from hushrec.arrays import Bytes, Floats, Floats32, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.data.ratings import Ratings
from hushrec.kernels.csr import CSR
from hushrec.settings import Frozen
from hushrec.statistics.footprint import DRAWS, Footprint

BATCH = 64
"""People: parts end at a multiple of it in the order of visits, not where blocks do. Chosen by hand."""
_DRAWS = 500  # most draws of a chain that the diagnostics use; chosen by hand

Weigh = Callable[[Ratings], Floats]

__all__ = ["ChainBatch", "ChainData", "ChainSettings", "Posterior", "Weigh"]


class ChainSettings(Frozen):
    """Lengths and priors of the chains. Variances are in squared widths of the scale.

    Privacy: public.
    """

    chains: int = Field(default=4, ge=1, le=64)
    """number of chains, from independent starts; the last state of the first one is the sample."""
    epochs: int = Field(default=1000, ge=1, le=10**7)
    """passes of each chain."""
    burn_in: float = Field(default=0.5, ge=0, lt=1)
    """fraction of the epochs that the diagnostics leave out."""
    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """T, which divides energy and prior; it only widens the priors, because s grows with it."""
    shape: float = Field(default=1000.0, gt=0, allow_inf_nan=False)
    """shape of the Gamma hyper-prior of each factor's precision; ratings move a larger one less."""
    factor_variance: float = Field(default=0.00375, gt=0, allow_inf_nan=False)
    """variance of ⟨p, q⟩ at the hyper-prior's mean."""
    level_variance: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """prior variance of b_0, around the middle of the scale."""
    user_variance: float = Field(default=0.01, gt=0, allow_inf_nan=False)
    """prior variance of b_u."""
    item_variance: float = Field(default=0.03, gt=0, allow_inf_nan=False)
    """prior variance of b_i."""

    def footprint(self, items: int, rank: int) -> Footprint:
        """Estimate every chain's state, twice if stored or released; two chains at once read the ratings."""
        state = 4.0 * (rank + 1)
        looks = self.chains * 8 * _DRAWS * 500 * 6.0
        pace = self.chains * self.epochs * (1 + rank**2 / 64) / 50
        return Footprint(
            1e8 + looks + 3 * self.chains * items * state,  # two chains hold a band of sums each
            20,
            64 + 2 * self.chains * state,
            self.chains * self.epochs * items * (rank + 1) / DRAWS,
            pace,
        )

    @property
    def forfeited(self) -> int:
        """Number of epochs that the diagnostics leave out."""
        return int(self.burn_in * self.epochs)

    @property
    def thin(self) -> int:
        """Number of epochs from one recorded draw of a chain to the next."""
        return -(-(self.epochs - self.forfeited) // _DRAWS)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The density to sample, without its priors.

    The density is ∝ exp(−s Σ_u w_u Σ_i (r_ui − r̂_ui)² / T) · prior, with w_u = v_u min(1, B/(m_u L)), where
    v_u is the person's own weight in [0, 1], m_u their number of ratings and L = (hi − lo + κ)² the largest
    loss of a rating with r̂_ui in [lo − κ, hi + κ]. So no person's sum of losses exceeds B.

    Args:
        scale: s.
        bound: B, in squared rating units.
        margin: κ.
        clamped: whether r̂_ui is clamped to [lo − κ, hi + κ] in the loss. If not, the first chain continues
            until the predictions of all items for all people lie there, as printed.

    Privacy: public.
    """

    scale: float
    bound: float
    rank: int
    margin: float = 1.0
    clamped: bool = True

    def largest(self, domain: Domain) -> float:
        """Return L, the largest squared error of a rating."""
        return float((domain.scale.span + self.margin) ** 2)

    def weights(self, ratings: Ratings, own_weights: Floats | None = None) -> Floats:
        """Return w_u of each person, shape (n_users,). Privacy: private."""
        # Liu, Wang & Smola 2015, §6, reweight by min(1, B/(m_u L)); own weights are those of Theorem 2.
        fraction = np.minimum(1.0, self.bound / (ratings.counts * self.largest(ratings.domain)))
        return np.asarray(fraction if own_weights is None else fraction * own_weights, dtype=np.float64)


class ChainBatch(NamedTuple):
    """The ratings of some people, in the form of the kernels. Privacy: private."""

    first: int  # index of the first person among all
    rows: CSR  # values as stored, or for the kernels, minus the middle of the scale, in its units
    scales: Floats32  # s w_u, for errors in units of the scale

    @property
    def people(self) -> slice:
        return slice(self.first, self.first + len(self.scales))

    def between(self, start: int, stop: int) -> tuple[Ints, Ints32, Bytes, Floats32]:
        """Return counts, items, steps and scales of people with indices in [``start``, ``stop``)."""
        indptr, items, steps = self.rows
        first, last = (min(max(at - self.first, 0), len(self.scales)) for at in (start, stop))
        some = slice(indptr[first], indptr[last])
        return np.diff(indptr[first : last + 1]), items[some], steps[some], self.scales[first:last]


class ChainData:
    """The ratings of all people with positive weight, in the order of their ids.

    Mapped blocks stay mapped, unless people are left out or capped. How the ratings are cut into blocks does
    not change results.

    Privacy: private.
    """

    def __init__(self, ratings: People, target: Posterior, weigh: Weigh | None) -> None:
        self.domain, self.n_users = ratings.domain, 0
        self._blocks: list[ChainBatch] = []
        for block in ratings.blocks():
            weights = target.weights(block, None if weigh is None else weigh(block))
            if not (weights > 0).all():
                block = block.select(np.repeat(weights > 0, block.counts))
                weights = weights[weights > 0]
            scales = (target.scale * self.domain.scale.star**2 * weights).astype(np.float32)
            rows = CSR(block.indptr, block.items, block.steps)
            self._blocks.append(ChainBatch(self.n_users, rows, scales))
            self.n_users += len(weights)

    def parts(self, *, backwards: bool = False) -> Iterator[ChainBatch]:
        """Yield all people, part by part, in reverse order if ``backwards``."""
        if not self.n_users:  # items then follow their prior, which takes a pass too
            no_values, no_scales = np.zeros((2, 0), np.float32)
            yield ChainBatch(0, CSR(np.zeros(1, np.int64), np.zeros(0, np.int32), no_values), no_scales)
        seams = np.array([block.first for block in self._blocks[1:]], dtype=np.int64)
        batches = (self.n_users - seams if backwards else seams) // BATCH * BATCH
        ends = np.concatenate([[0, self.n_users], batches, batches + BATCH])
        cuts = np.unique(np.minimum(ends, self.n_users)).tolist()
        for near, far in pairwise(cuts):
            yield self._part(*((self.n_users - far, self.n_users - near) if backwards else (near, far)))

    def _part(self, start: int, stop: int) -> ChainBatch:
        here = [b for b in self._blocks if b.first < stop and b.first + len(b.scales) > start]
        rows = [block.between(start, stop) for block in here]
        counts, items, steps, scales = (
            rows[0] if len(rows) == 1 else map(np.concatenate, zip(*rows, strict=True))
        )
        scale = self.domain.scale
        values = steps * np.float32(scale.step / scale.star) + np.float32((scale.lo - scale.mid) / scale.star)
        return ChainBatch(start, CSR(np.concatenate([[0], np.cumsum(counts)]), items, values), scales)
