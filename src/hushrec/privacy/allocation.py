"""From split of a budget to events: the noise that makes all queries of a plan cost it exactly."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import (
    Part,
    gaussian,
    gaussians,
    laplace,
    posterior_sample,
    split_gaussian,
    split_laplace,
)
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.plan import paths
from hushrec.privacy.query import AnyQuery


def calibrated(queries: Sequence[AnyQuery], split: Mapping[str, float], budget: Budget) -> list[Event]:
    """The event of every query, in order; together they cost at most the budget.

    A draw costs its fraction of ε itself. All sums have one norm, and divide what is left by the exact
    composition of their noise.

    Args:
        queries: what is measured, without exact queries.
        split: name → part of the budget; along each branch they add to one.
    """
    if any(q.branch for q in queries) and any(q.norm != "l2" or q.rate < 1 for q in queries):
        raise BudgetError(
            "a plan with branches adds Gaussian noise to sums over everybody alone; measure the others always"
        )
    draws = {q.name: _draw(q, split[q.name], budget) for q in queries if q.norm == "loss"}
    sums = [q for q in queries if q.name not in draws]
    if draws and sums:
        left = budget.epsilon_units - spent_of(draws.values()).epsilon_sum
        epsilon = fixed_point.float_below(Fraction(left, fixed_point.PER_ONE))
        budget = budget.model_copy(update={"epsilon": epsilon})
        rest = math.fsum(split[q.name] for q in sums)
        split = {q.name: split[q.name] / rest for q in sums}
    noisy = {event.name: event for event in (_sums(sums, split, budget) if sums else [])}
    return [draws.get(q.name) or noisy[q.name] for q in queries]


def _draw(query: AnyQuery, fraction: float, budget: Budget) -> Event:
    units = math.floor(budget.epsilon_units * Fraction(fraction))
    return posterior_sample(
        query.name, epsilon=units, sensitivity=query.sensitivity, step=query.step, size=query.size
    )


def _sums(queries: list[AnyQuery], split: Mapping[str, float], budget: Budget) -> list[Event]:
    if queries[0].norm == "l1":
        epsilons = split_laplace(budget, split)
        return [
            laplace(q.name, epsilon=epsilons[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
            for q in queries
        ]
    if any(q.rate < 1 for q in queries):
        parts = (Part(q.name, q.sensitivity, q.step, q.size, split[q.name], q.rate) for q in queries)
        return [*gaussians(budget, parts)]
    rhos: dict[str, int] = {}
    for path in paths(queries):  # what is always made is on every path, and its ρ fits each of them
        for name, rho in split_gaussian(budget, {q.name: split[q.name] for q in path}).items():
            rhos[name] = min(rho, rhos.get(name, rho))
    events = (
        gaussian(q.name, rho=rhos[q.name], sensitivity=q.sensitivity, step=q.step, size=q.size)
        for q in queries
    )
    return [replace(event, branch=q.branch) for event, q in zip(events, queries, strict=True)]
