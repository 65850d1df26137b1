"""An attack on a release before it is made: on a seeded one of the same ratings, which nobody ever sees."""

import numpy as np

from hushrec.arrays import Floats
from hushrec.audit.attackers import response_law, substitution_law
from hushrec.audit.linkage import Linkage, linkage
from hushrec.curator.release_data import reported
from hushrec.data.ratings import Ratings
from hushrec.local.distance_based import DistanceBased
from hushrec.local.method import Method
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.local_events import Responses
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

__all__ = ["rehearse"]


def rehearse(
    ratings: Ratings,
    method: Method | None,
    budget: Budget | None = None,
    *,
    targets: int = 1000,
    known: int = 8,
    wrong: int = 2,
    seed: int = 0,
) -> Linkage:
    """How many people would be found again in a data set that is released so.

    A published data set tells nobody whose row is whose, its owner included. So this makes another one by the
    same law, with known randomness, attacks it with ``linkage`` by both attackers, and throws it away.

    Args:
        ratings: the private ratings.
        method: how they would be released; None for as they are.
        budget: as for ``hushrec.release_data``.
        targets, known, wrong: as for ``linkage``.
        seed: of the release, and of targets and facts.

    Returns:
        Shares of people who were found.

    Raises:
        BudgetUnsupported: The method states no such guarantee.
        ConfigError, DataError: As ``linkage``.

    Privacy: private. Nothing is charged, and nothing of it may be published.
    """
    attack = {"targets": targets, "known": known, "wrong": wrong, "seed": seed}
    if method is None:
        everybody = np.arange(ratings.n_users)
        return linkage(ratings, ratings, everybody, law=substitution_law(ratings, _NEARLY), **attack)
    planned = method.plan(ratings.domain, budget)
    total = planned.budget.model_copy(update={"epsilon": max(planned.epsilon, planned.budget.epsilon)})
    made = reported(ratings, method, planned, Ledger.ephemeral(total).charge(planned, entropy=Seeded(seed)))
    rows, whose = made.data.ratings, made.rows
    if ratings.domain.users:  # the truth has those alone who rated
        listed = ratings.domain.user_positions
        whose = whose[[listed[user] for user in ratings.users.to_list()]]
    return linkage(rows, ratings, whose, law=_law(method, planned.events[0], rows), **attack)


_NEARLY = 0.999
"""Chance that what is known of raw rows is there: others would be ruled out by one wrong fact."""


def _law(method: Method, event: object, rows: Ratings) -> Floats:
    if isinstance(method, DistanceBased):
        return substitution_law(rows, method.keep_probability)
    assert isinstance(event, Responses)
    levels, width = rows.domain.scale.levels, rows.domain.n_items
    return response_law(levels, event.exponent, asked=event.size / width)
