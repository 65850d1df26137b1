"""A canary for posterior samples, which no search and no replay can judge: many canaries in one whole fit.

Steinke, Nasr & Jagielski 2023, "Privacy auditing with one (1) training run". Every canary is a person with
two items that no one else rated. A coin decides whether they are there, with five stars for both, or with
one star if their number is odd. An attacker
who knows all but the coins guesses from the effects of the items. Under pure ε no more than a fraction
e^ε/(1 + e^ε) of the guesses is right, but by chance: their number is dominated by a binomial (Theorem 5.2
with δ = 0). The attacker guesses about canaries with the first ids alone, where the effects stand out most: a
chain that hears one end of the order of people more than the other is noticed.
"""

import math

import numpy as np
import pyarrow as pa
from scipy import stats

from hushrec.arrays import Bools, Floats, Ints
from hushrec.audit.canary import MISTAKEN
from hushrec.audit.worlds import choices
from hushrec.curator.seeded import fit
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.models.liu_wang_smola.posterior_sample_mf import PosteriorSampleMF
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded

CANARIES = 40_000
"""A number with which the chain that Liu, Wang & Smola print is refuted at ε = 1; chosen by hand."""
_FIRST, _GUESSED = 0.03, 0.2  # of the canaries those with the first ids, and of these the guessed; by hand
_EPOCHS = 50  # a longer chain only comes closer to its law


def listen_to_draws(
    model: PosteriorSampleMF, budget: Budget, *, canaries: int = CANARIES, seed: int = 0
) -> float:
    """Return the ε that one fit proves, which is above the true one with chance ``2 MISTAKEN`` at most.

    Args:
        canaries: number of canaries, at least 40.
        seed: of the made-up ratings and of the chain.

    Privacy: public; no private rating is read.
    """
    short = {"chains": 1, "epochs": min(model.chain.epochs, _EPOCHS)}
    model = model.model_copy(update={"chain": model.chain.model_copy(update=short)})
    people, there = _crowd(canaries, budget.adjacency, seed)
    effects: Floats = fit(people, model, budget, entropy=Seeded(seed)).tensors["item_effects"]
    heard = (_tastes(canaries) * (effects - effects.mean()).reshape(canaries, 2).sum(axis=1))[
        : round(_FIRST * canaries)
    ]
    # The attacker guesses only about the ends: "not there" for the least, "there" for the largest.
    order, half = np.argsort(heard), round(_GUESSED * len(heard) / 2)
    right = int((~there[order[:half]]).sum() + there[order[-half:]].sum())
    # Clopper–Pearson lower limit of the chance of a right guess, which is e^ε/(1 + e^ε) at most.
    least = float(stats.beta.ppf(2 * MISTAKEN, right, 2 * half - right + 1)) if right else 0.0
    return math.log(least / (1 - least)) if least > 0.5 else 0.0


def _crowd(canaries: int, adjacency: str, seed: int) -> tuple[People, Bools]:
    """Return made-up people, and which canaries are there."""
    domain = Domain(range(2 * canaries), scale=(1, 5, 1), max_users=canaries, max_per_user=2)
    there = choices(seed).random(canaries) < 0.5
    stars = 3.0 + 2 * np.where(there, 1, -1) * _tastes(canaries)
    present = np.flatnonzero(there) if adjacency == "add-remove" else np.arange(canaries)
    ids = [f"{number:09}" for number in present.tolist()]
    rows = [{"user_id": ids, "item_id": 2 * present + item, "rating": stars[present]} for item in (0, 1)]
    return load(pa.concat_tables(map(pa.table, rows)), domain), there


def _tastes(canaries: int) -> Ints:
    """Return 1 for canaries who like their items, −1 for the others: their mean tells nothing of any."""
    return 1 - 2 * (np.arange(canaries) % 2)
