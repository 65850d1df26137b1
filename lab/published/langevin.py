"""Stochastic gradient Langevin dynamics as Liu, Wang & Smola 2015 print it (§3.2, §5.4, eq. 4).

What fails: a pass visits people in one order, to and fro, by steps that do not become small against
1/(2 s n_i), n_i the ratings of an item. So its law is not the density from which ε follows
(lab/docs/errata.md). ``hr.PosteriorSampleMF`` draws by ``hushrec.solvers.mcmc.gibbs`` in its place.
"""

import numpy as np
from pydantic import Field

from hushrec.errors import ConfigError
from hushrec.kernels.solvers.langevin import langevin
from hushrec.kernels.solvers.langevin_pass import LangevinPass
from hushrec.solvers.mcmc.chain import Chain, State
from hushrec.solvers.mcmc.density import ChainSettings


class LangevinSettings(ChainSettings):
    """Also the steps of the chains."""

    rate: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """step size of the first epoch, in units of 1/(curvature of the effect of the heaviest person)."""
    offset: float = Field(default=100.0, gt=0, allow_inf_nan=False)
    """epochs after which the step size begins to fall."""
    decay: float = Field(default=1 / 3, ge=0, le=1, allow_inf_nan=False)
    """γ of the step sizes rate · (1 + t/offset)^−γ, t = 0, 1, …."""
    noise_intervals: int = Field(default=32, ge=1, le=2**16)
    """intervals of a pass; in each, an item that is rated gets its noise."""


def langevin_epoch(chain: Chain, state: State) -> None:
    """Visit all people, in reverse order every other time, so that errors of O(h) cancel."""
    settings, source, target = chain.settings, chain.source, chain.target
    assert isinstance(settings, LangevinSettings)
    domain = source.domain
    curvature = 2 * (target.scale * domain.scale.star**2) * target.bound / target.largest(domain)
    # η_t of Liu, Wang & Smola 2015, eq. 4: it falls from pass to pass.
    rate = settings.rate * (1 + state.epoch / settings.offset) ** -settings.decay / curvature
    epoch = LangevinPass(chain.key, state.epoch, source.n_users, domain.n_items, settings.noise_intervals)
    low, high = chain.range(state)
    back = state.epoch % 2 == 1
    for part in source.parts(backwards=back):
        order = np.arange(len(part.scales), dtype=np.int32)
        langevin(
            part.rows.indptr,
            part.rows.columns,
            part.rows.values - np.float32(state.level[0]),
            order[::-1] if back else order,
            state.user_factors[part.people],
            state.item_factors,
            state.user_effects[part.people],
            state.item_effects,
            part.scales,
            state.user_precision.astype(np.float32),
            state.item_precision.astype(np.float32),
            chain.precisions,
            rate,
            settings.temperature,
            low,
            high,
            epoch,
            first_user=part.first,
        )
    if not np.isfinite(state.item_factors).all():
        raise ConfigError("an MCMC chain diverged; lower the chains' rate")
