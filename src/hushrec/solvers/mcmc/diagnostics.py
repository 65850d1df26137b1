"""Convergence diagnostics of chains, by ArviZ: R̂ and effective sample size.

They can refute convergence but never prove it: chains that all miss a part of the posterior agree.
"""

from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats

LARGEST_RHAT = 1.01
LEAST_ESS = 400
"""The convention of Vehtari et al. 2021, §4."""
_FEWEST = 4  # draws of a chain, so that each half has a variance

__all__ = ["LARGEST_RHAT", "LEAST_ESS", "Diagnostics", "diagnose"]


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
