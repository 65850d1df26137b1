"""How many people there are."""

from hushrec.arrays import Ints
from hushrec.data.feedback import Feedback
from hushrec.privacy.query import Sum
from hushrec.statistics.population import Population

USER_COUNT = Sum("number of users", 1.0, "l2", 1.0, 1)
"""Σ_u 1. Under add-remove one user moves it by 1, and so does a rating, which may be its user's only one."""


def user_count(people: Population) -> Ints:
    """The number of users, shape (1,).

    Args:
        people: people with private ratings or interactions, who all count in full.

    Privacy: bounded (``USER_COUNT.sensitivity``).
    """
    (count,) = people.in_full.total(_add, 1)
    return count


def _add(block: Feedback, count: Ints) -> None:
    count += block.n_users
