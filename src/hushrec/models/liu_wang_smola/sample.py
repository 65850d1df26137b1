"""One sample of factors from their posterior, by several Markov chains (Liu, Wang & Smola 2015, Alg. 1).

Diagnostics of convergence, R̂ and the effective sample size by ArviZ, can refute it but never prove it:
chains that all miss a part of the posterior agree.

Privacy: every state of a chain is private except one, the sample that a charge covers; its ε holds only as
far as its chain has converged.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.models.liu_wang_smola.chain import (
    Chain,
    ChainData,
    ChainSettings,
    Posterior,
    Transition,
    Weigh,
    sweep,
)
from hushrec.privacy.sums_on_disk import Arrays
from hushrec.progress import steps

LARGEST_RHAT = 1.01
LEAST_ESS = 400
"""The convention of Vehtari et al. 2021, §4."""
_FEWEST = 4  # draws of a chain, so that each half has a variance


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How well several chains agree.

    Attributes:
        rhat: the largest rank-normalised split R̂ of all functionals; infinite if one has none.
        ess: the smallest bulk effective sample size, over all chains together.
        apart: fraction of the functionals with R̂ > 1.01.
        draws: number of draws per chain.

    Privacy: private; functions of the ratings that no guarantee covers.
    """

    rhat: float
    ess: float
    apart: float
    functionals: int
    chains: int
    draws: int

    @property
    def converged(self) -> bool:
        """Whether nothing contradicts convergence: R̂ ≤ 1.01 and ESS ≥ 400 (Vehtari et al. 2021, §4)."""
        return self.chains > 1 and self.rhat <= LARGEST_RHAT and self.ess >= LEAST_ESS

    def facts(self) -> dict[str, float | str]:
        """Return entries for a privacy statement."""
        shown = {"R̂, the largest": self.rhat, "effective sample size, the least": self.ess}
        return {
            "verdict": "converged as far as can be seen" if self.converged else "NOT CONVERGED",
            **{name: round(value, 3) if np.isfinite(value) else "unknown" for name, value in shown.items()},
            "chains and draws of each": f"{self.chains} x {self.draws}",
            "covered by ε": "no, these lines were computed from the ratings",
        }

    def __str__(self) -> str:
        verdict = "converged as far as can be seen" if self.converged else "NOT CONVERGED"
        return (
            f"{verdict}: R̂ up to {self.rhat:.3f}, {self.apart:.0%} of {self.functionals} functionals above "
            f"{LARGEST_RHAT}; effective sample size from {self.ess:.0f}; {self.chains} chains of "
            f"{self.draws} draws"
        )


def diagnose(draws: Floats) -> Diagnostics:
    """Compute R̂ and effective sample size of every functional, and the worst of each.

    Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021, "Rank-normalization, folding, and localization: an
    improved R̂ for assessing convergence of MCMC", eqs. 3, 14 and 15.

    Args:
        draws: for example the second halves of the chains, shape (n_chains, n_draws, n_functionals).

    Privacy: private.
    """
    from arviz_stats.base.array import (
        array_stats,
    )  # takes a second to import, and only this function needs it

    chains, length, functionals = draws.shape
    rhat, ess = np.full(functionals, np.inf), np.zeros(functionals)
    # A chain that does not move says nothing, wherever it is.
    moving = np.isfinite(draws).all(axis=(0, 1)) & (np.ptp(draws, axis=1) > 0).all(axis=0)
    if length >= _FEWEST and moving.any():
        moving_draws, axes = draws[:, :, moving], {"chain_axis": 0, "draw_axis": 1}
        statistics = array_stats.rhat(moving_draws, **axes), array_stats.ess(moving_draws, **axes)  # type: ignore[no-untyped-call]
        rhat[moving], ess[moving] = np.nan_to_num(statistics[0], nan=np.inf), np.nan_to_num(statistics[1])
    return Diagnostics(
        rhat=float(rhat.max(initial=0)),
        ess=float(ess.min(initial=np.inf)),
        apart=float((rhat > LARGEST_RHAT).mean()),
        functionals=functionals,
        chains=chains,
        draws=length,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sample:
    """The items' part of the first chain's last state, and the diagnostics of all chains.

    Attributes:
        item_effects: middle of the scale + b_0 + b_i, shape (n_items,).
        item_factors: q, shape (n_items, rank).
        user_precision: diagonal of Λ_p, the precision of a person's factors, shape (rank,).
        item_precision: diagonal of Λ_q, likewise.
        diagnostics: diagnostics of all chains.

    Privacy: private, until the charge of a posterior sample covers everything except the diagnostics.
    """

    item_effects: Floats
    item_factors: Floats
    user_precision: Floats
    item_precision: Floats
    diagnostics: Diagnostics

    def arrays(self) -> Arrays:
        """The sample as it is kept, under the names of its fields."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        return {**parts, "diagnostics": np.array(astuple(self.diagnostics), np.float64)}

    @classmethod
    def of(cls, arrays: Arrays) -> "Sample":
        """The sample that is kept as ``arrays``."""
        rhat, ess, apart, *counts = arrays["diagnostics"].tolist()
        parts = {field.name: arrays[field.name] for field in fields(cls)[:-1]}
        return cls(**parts, diagnostics=Diagnostics(rhat, ess, apart, *map(int, counts)))


def sample(
    ratings: AnyPeople,
    target: Posterior,
    settings: ChainSettings,
    key: bytes,
    *,
    weigh: Weigh | None = None,
    transition: Transition = sweep,
    threads: int = 2,
) -> Sample:
    """Draw one sample of the target.

    Chains run in parallel, one thread each, so the same key gives the same bits for any number of threads.
    People of weight 0 are dropped before anything is drawn: the bits are
    those of ratings without them.

    Args:
        ratings: ratings of the population, capped if a cap is promised.
        key: 32 bytes that determine all draws; private.
        weigh: each person's own weight in [0, 1], shape (n_users,) of a block; all 1 by default.
        transition: what an epoch does to people and items.

    Privacy: private.
    """
    source = ChainData(ratings, target, weigh)
    chains = [Chain(source, target, settings, key, number, transition) for number in range(settings.chains)]
    with ThreadPoolExecutor(max(1, min(threads, settings.chains))) as pool:
        coming = pool.map(Chain.run, chains)
        states = [next(coming) for _ in steps("chains", range(settings.chains))]
    first, scale = states[0], ratings.domain.scale
    return Sample(
        item_effects=scale.mid + scale.star * (first.level[0] + first.item_effects.astype(np.float64)),
        item_factors=scale.star * first.item_factors.astype(np.float64),
        user_precision=first.user_precision,
        item_precision=first.item_precision,
        diagnostics=diagnose(np.stack([state.draws for state in states])),
    )
