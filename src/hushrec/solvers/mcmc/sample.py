"""Draw one sample of factors from their posterior, by several Markov chains.

Liu, Wang & Smola 2015, Alg. 1.

Privacy: every state of a chain is private except one, the sample that a charge covers; its ε holds only as
far as its chain has converged.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.people import People
from hushrec.progress import steps
from hushrec.solvers.mcmc.chain import Chain, Transition
from hushrec.solvers.mcmc.density import ChainData, ChainSettings, Posterior, Weigh
from hushrec.solvers.mcmc.diagnostics import Diagnostics, diagnose
from hushrec.solvers.mcmc.gibbs import sweep

__all__ = ["Sample", "sample"]


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


def sample(
    ratings: People,
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
