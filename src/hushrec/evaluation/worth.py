"""The expected accuracy of private lists and of popularity, measured on made-up crowds of the declared size.

Privacy: public; no one's interactions are read, and nothing is charged.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

from hushrec.curator import seeded
from hushrec.curator.choices.split_budget import split_budget
from hushrec.curator.choices.suggest_model import choice_within
from hushrec.data import synthetic
from hushrec.data.domain import Domain
from hushrec.data.interactions import Interactions
from hushrec.data.split import held_out_people
from hushrec.errors import ConfigError
from hushrec.evaluation.protocol import evaluate
from hushrec.figures import above, whole
from hushrec.models.base import Model
from hushrec.models.popularity import Popularity
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded
from hushrec.progress import Progress, stage, telling

MOST_USERS, MOST_INTERACTIONS, MOST_ITEMS = 20_000, 1_000_000, 4_000
"""Largest made-up crowd, chosen by hand: 52, 26 and 12 releases took 91 s of processor time and 0.5 GB."""
TRIED = 2_000
"""Additional people whose lists are measured and who are not in the fit; chosen by hand."""
SEEDS = 3
"""Number of made-up crowds, each with its own noise; chosen by hand."""
TASTES = 1 / 3
"""Factors of their tastes, over the root of the number of items: 20 of 3,600 items. What lists gain over
popularity is then close to what they gain on MovieLens 1M and animated series; docs/weekly.md has the table.
"""
METRIC = "recall@20"
HEADS = ("model", "releases", "ε of each", "lists find", "popularity finds", "dimensions")
CAUTION = (
    "Found: part of what was held out that is in a list of 20 items. The people are made up, and so "
    "are their tastes: expect this order of magnitude of real lists, not these figures."
)


@dataclass(frozen=True, slots=True)
class Worth:
    """The expected accuracy of each of several equal releases.

    Attributes:
        releases: number of releases under the total.
        epsilon: ε of each.
        model: name of the model.
        recall: fraction of the held-out items in its lists of 20 items, from 0 to 1.
        popularity: the same fraction for lists of the most popular items, at the same ε.
        dimensions: dimensions of taste in its lists, on average.
        users: size of the crowds that were made up.
        seeds: number of these crowds, over which the figures are means.
    """

    releases: int
    epsilon: float
    model: str
    recall: float
    popularity: float
    dimensions: float
    users: int
    seeds: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Schedule(NamedTuple):
    """A number of equal releases, their model, and the budget of each."""

    releases: int
    model: Model
    budget: Budget


class _Crowd(NamedTuple):
    """A crowd to make up, and its μ over that of the declared crowd."""

    domain: Domain
    users: int
    each: float
    ratio: float


class _Trial(NamedTuple):
    recall: float
    popularity: float
    dimensions: float


def worth(
    domain: Domain, model: Model | None, total: Budget, releases: int, *, progress: Progress | None = None
) -> tuple[Worth, ...]:
    """Measure on made-up people how accurate the lists of equal releases under one total would be.

    This makes up a crowd of the declared size (``synthetic.interactions``), fits a model to it with seeded
    noise at the ε of one release, and measures lists for more people like them.

    Above ``MOST_USERS`` the made-up crowd is smaller, n′ of n users, with less noise. Sums over people grow
    with n, and their noise Δ/μ does not, so signal over noise depends on μ n alone. It does not
    change with μ′ = μ n/n′. Directions of taste show by μ n/√m for m items, so a smaller catalogue takes
    μ′ = μ (n/n′) √(m′/m). Two effects remain: a smaller sample of people tells less even without
    noise, and a list finds more in a smaller catalogue.

    Args:
        domain: the public domain, with ``expected_users`` and ``expected_records``.
        model: a model's settings; None for the suggested model at each ε.
        total: the budget of all releases together.
        releases: how many are planned. Half as many and about a quarter (12 of 52) are measured too.
        progress: receives the stages; see ``hushrec.progress``.

    Returns:
        The most releases first.

    Raises:
        ConfigError: ``unknown`` says why nothing can be measured.
        BudgetError: The total is too little for this many releases of this model.
        BudgetUnsupported: The model does not support the total's unit, adjacency or δ.
    """
    if reason := unknown(domain):
        raise ConfigError(reason)
    releases = whole(releases, "releases", 1, ConfigError)
    schedules = [_schedule(domain, model, total, number) for number in _numbers(releases)]
    crowd = _crowd(domain)
    trials: list[list[_Trial]] = [[] for _ in schedules]
    with telling(progress), stage("trying lists on made-up people", SEEDS * len(schedules)) as step:
        for seed in range(SEEDS):
            people, folded_in, sought = _people(crowd, seed)
            for schedule, of_schedule in zip(schedules, trials, strict=True):
                of_schedule.append(_trial(schedule, crowd.ratio, people, folded_in, sought, seed))
                step()
    return tuple(
        Worth(
            releases=schedule.releases,
            epsilon=schedule.budget.epsilon,
            model=type(schedule.model).__name__,
            **_Trial(*map(fmean, zip(*of_schedule, strict=True)))._asdict(),
            users=crowd.users,
            seeds=SEEDS,
        )
        for schedule, of_schedule in zip(schedules, trials, strict=True)
    )


def unknown(domain: Domain) -> str:
    """Say why accuracy cannot be measured, and what to declare; empty if it can be."""
    if domain.feedback != "interactions":
        return "lists are learned from what people like: declare likes (hushrec domain --likes)"
    if not domain.crowd.declared:
        return (
            "the accuracy of lists depends on the crowd: declare expected_users and expected_records "
            "(hushrec domain --expected-users N --expected-records N)"
        )
    if domain.crowd.each < 2 or domain.n_items < 2:
        return (
            "nothing can be held out where people have fewer than two items each: declare more items, or "
            "more expected_records"
        )
    return ""


def table(rows: Sequence[Worth]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and rows as text; all columns but the first are numbers."""
    return HEADS, [
        (
            row.model,
            f"{row.releases:,}",
            f"ε = {above(row.epsilon, 4)}",
            f"{100 * row.recall:.1f} %",
            f"{100 * row.popularity:.1f} %",
            f"{row.dimensions:.0f}",
        )
        for row in rows
    ]


def _numbers(releases: int) -> list[int]:
    """Return all releases, half as many, and monthly releases if these are weekly."""
    return sorted({releases, releases // 2, round(releases * 12 / 52)} - {0}, reverse=True)


def _schedule(domain: Domain, model: Model | None, total: Budget, releases: int) -> _Schedule:
    def budget(of: Model) -> Budget:
        return split_budget(domain, of, total, releases)

    if model is None:
        model = choice_within(budget, domain, total).model
    return _Schedule(releases, model, budget(model))


def _crowd(domain: Domain) -> _Crowd:
    declared, items = domain.crowd, min(domain.n_items, MOST_ITEMS)
    each = min(declared.each, float(items))
    users = max(int(min(declared.users, MOST_USERS, MOST_INTERACTIONS / each)), 1)
    smaller = declared.users / users
    bound = max(math.ceil(domain.max_users / smaller), users)
    smaller_domain = Domain(range(items), max_users=bound, max_per_user=domain.max_per_user)
    return _Crowd(smaller_domain, users, each, smaller * math.sqrt(items / domain.n_items))


def _people(crowd: _Crowd, seed: int) -> tuple[Interactions, Interactions, Interactions]:
    """Make up people to fit, and more people like them, with the items they fold in and those to be found."""
    everybody, items = crowd.users + TRIED, crowd.domain.n_items
    tastes = max(round(TASTES * math.sqrt(items)), 1)
    drawn = synthetic.interactions(everybody, items, round(everybody * crowd.each), seed, tastes)
    drawn = replace(drawn, domain=crowd.domain)
    fitted = drawn.user_index() < crowd.users
    others = drawn.select(~fitted)
    _, folded_in, sought = held_out_people(others, int((others.counts >= 2).sum()), seed, least=2)
    return drawn.select(fitted), folded_in, sought


def _trial(
    schedule: _Schedule,
    ratio: float,
    people: Interactions,
    folded_in: Interactions,
    sought: Interactions,
    seed: int,
) -> _Trial:
    budget = _less_noise(schedule.budget, ratio)
    lists, popular = (
        seeded.fit(people, model, budget, entropy=Seeded(seed)) for model in (schedule.model, Popularity())
    )
    recall, popularity = (
        evaluate(release, train=folded_in, test=sought, metrics=(METRIC,))[METRIC]
        for release in (lists, popular)
    )
    return _Trial(recall, popularity, lists.dimensions)


def _less_noise(budget: Budget, ratio: float) -> Budget:
    """Return the budget with μ times ``ratio``."""
    if ratio == 1:
        return budget
    mu = ratio * gaussian_mu(budget.epsilon, budget.delta)
    return budget.model_copy(update={"epsilon": gaussian_epsilon(mu, budget.delta)})
