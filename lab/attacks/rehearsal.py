"""Simulates an attack before a release is made, on a seeded release of the same ratings that nobody sees."""

import numpy as np

from hushrec.arrays import Floats
from hushrec.curator.randomize import Reported, report_rows
from hushrec.data.people import People
from hushrec.errors import BudgetUnsupported
from hushrec.models.du_leighton_patel.distance_based import DistanceBased
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from lab.attacks.linkage import Linkage, linkage, response_channel, substitution_channel
from lab.published import PublishedMethod, randomize

__all__ = ["seeded", "simulate_attack"]


def simulate_attack(
    ratings: People,
    method: Method | None,
    budget: Budget | None = None,
    *,
    targets: int = 1000,
    known: int = 8,
    wrong: int = 2,
    seed: int = 0,
) -> Linkage:
    """How many people would be found in a data set released by this method.

    Nobody, not even the curator, can match the rows of a published data set to people. So this simulates the
    attack: it makes a seeded data set by the same law, attacks it with both attackers of ``linkage``, and
    discards it.

    Args:
        ratings: the private ratings.
        method: how they would be released; None for unchanged ratings.
        budget: as for ``hushrec.randomize``.
        targets, known, wrong: as for ``linkage``.
        seed: seed of the release, and of targets and facts.

    Returns:
        The shares of people who were found.

    Raises:
        BudgetUnsupported: The method does not support the budget.
        ConfigError, DataError: As in ``linkage``.

    Privacy: private. Nothing is charged, and nothing of it may be published.
    """
    attack = {"targets": targets, "known": known, "wrong": wrong, "seed": seed}
    if method is None:
        everybody = np.arange(ratings.n_users)
        return linkage(ratings, ratings, everybody, channel=substitution_channel(ratings, _NEARLY), **attack)
    made = seeded(ratings, method, budget, Seeded(seed))
    rows, whose = made.data.ratings, made.rows
    if ratings.domain.users:  # the truth holds only users who rated
        listed = ratings.domain.user_positions
        whose = whose[[listed[user] for user in ratings.users.to_pylist()]]
    return linkage(rows, ratings, whose, channel=_channel(method, made.data), **attack)


_NEARLY = 0.999
"""Assumed probability that a known fact is in a raw row; at 1, one wrong fact would rule out the row."""


def seeded(ratings: People, method: Method, budget: Budget | None, keys: Seeded) -> Reported:
    """A data set by a method of hushrec or of a paper, with seeded randomness, and whose its rows are.

    Raises:
        BudgetUnsupported: The method does not support the budget.
    """
    if isinstance(method, PublishedMethod):
        if budget is None:
            raise BudgetUnsupported(f"{type(method).__name__} needs a budget: give the ε that is claimed")
        return randomize(ratings, method, budget, keys)
    planned = method.plan(ratings.domain, budget)
    return report_rows(
        ratings, method, planned, Ledger.ephemeral(planned.budget).charge(planned, entropy=keys)
    )


def _channel(method: Method, data: ReleasedData) -> Floats:
    rows, law = data.ratings, data.settings
    if isinstance(method, DistanceBased):
        return substitution_channel(rows, method.keep_probability)
    asked = (law["answered"] or rows.domain.n_items) / rows.domain.n_items
    return response_channel(rows.domain.scale.n_values, law["exponent"], asked=asked)
