"""Which model to fit, by what is declared alone, and what each of several releases may cost.

``models/visibility.py`` says how much shows through the noise, and how much must for a model that learns
more than item effects.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hushrec.curator.public_items import item_prior
from hushrec.data.domain import Domain
from hushrec.data.machine import machine
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.models.adaptive_factors import AdaptiveFactors
from hushrec.models.base import EFFECTS_SPLIT, Model, PrivateModel
from hushrec.models.lists.popularity import Popularity
from hushrec.models.lists.private_ease import PrivateEASE
from hushrec.models.liu_wang_smola.posterior_mf import PosteriorMF
from hushrec.models.mcsherry_mironov.covariance_svd import CovarianceSVD
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.budget import Budget
from hushrec.release.kinds import remedy

AVERAGES = frozenset({*EFFECTS_SPLIT, "user sums", "user counts"})
"""Measurements of averages: of items, of users, and over all."""


class Choice(NamedTuple):
    """A model with its settings, and why it is chosen.

    Attributes:
        reason: what follows *because*.
    """

    model: Model
    reason: str


def suggest_model(domain: Domain, budget: Budget | None = None) -> Model:
    """The model to fit, with its settings, from public facts alone.

    They are the declared crowd (``expected_users``, ``expected_records``, or else the bound on users), the
    catalogue, what people give, the budget, and this machine's memory. ``hr.fit`` without a model takes it.

    Args:
        domain: the public domain.
        budget: what may be spent; None for the non-private baseline.

    Raises:
        BudgetUnsupported: No model protects this unit under this adjacency, or at this δ.
    """
    return choice(domain, budget).model


def choice(domain: Domain, budget: Budget | None = None, *, personal_epsilon: bool = False) -> Choice:
    """As ``suggest_model``, with the reason.

    Args:
        domain, budget: as for ``suggest_model``.
        personal_epsilon: whether people ask for their own ε.
    """
    personal_epsilon = personal_epsilon or bool(domain.personal_epsilon)
    able = [
        one
        for one in _suited(domain, budget, personal_epsilon)
        if _supports(one.model, domain, budget, personal_epsilon)
    ]
    if not able:
        raise BudgetUnsupported(_none_supports(domain, budget, personal_epsilon))
    # If nothing fits, the fit of the smallest is refused before its charge, with what it needs.
    return next((one for one in able if _has_room(one.model, domain, budget)), able[-1])


def same_list(domain: Domain, model: Model, budget: Budget) -> str:
    """Say that everyone gets the same list from a model under a budget, and what helps; else be empty.

    So it is where nothing but averages is measured, and no features of items are public.
    """
    if not _averages_alone(domain, model, budget):
        return ""
    none_learns = _averages_alone(domain, choice(domain, budget).model, budget)
    same = "Every user gets the same list: this plan measures averages, and no one's taste."
    return f"{same} {remedy(domain.feedback, another=not none_learns)}"


def _averages_alone(domain: Domain, model: Model, budget: Budget) -> bool:
    if not isinstance(model, PrivateModel):
        return False
    names = {query.name for query in model.queries(domain, budget)}
    return names <= AVERAGES and not item_prior(model, domain).digest


def _suited(domain: Domain, budget: Budget | None, personal_epsilon: bool) -> Iterator[Choice]:
    """The rule: what suits these facts, best first, and with less memory from one to the next."""
    if domain.feedback == "interactions":
        yield from _of_interactions(domain, budget)
    elif budget is None:
        rank = min(CovarianceSVD().rank, domain.n_items)
        yield Choice(CovarianceSVD(rank=rank), "without noise, a covariance tells most")
    elif personal_epsilon:
        rank = min(PosteriorMF().rank, domain.n_items)
        yield Choice(PosteriorMF(rank=rank), "it lets people ask for their own ε")
    elif budget.delta == 0:
        laplace = "δ = 0 needs Laplace noise, which hides all but item effects"
        yield Choice(GlobalEffects(noise="laplace"), laplace)
    elif budget.adjacency == "replace":
        rank = min(CovarianceSVD().rank, domain.n_items)
        shared = f"under replace the declared crowd decides what a covariance gets: {_crowd(domain)}"
        yield Choice(CovarianceSVD(rank=rank), shared)
        yield Choice(GlobalEffects(), "CovarianceSVD does not fit into this machine's memory")
    else:
        yield Choice(
            AdaptiveFactors(), "its first sums say whether the crowd is large enough to learn tastes"
        )
        yield Choice(GlobalEffects(), "AdaptiveFactors does not fit into this machine's memory")


def _of_interactions(domain: Domain, budget: Budget | None) -> Iterator[Choice]:
    if budget is None:
        yield Choice(PrivateEASE(), "without noise, which items go together tells most")
        return
    ease = PrivateEASE()
    if budget.delta > 0 and ease.may_measure_pairs(domain, budget):
        yield Choice(ease, "its first sums say whether the crowd is large enough to learn what goes together")
        yield Choice(Popularity(), "PrivateEASE does not fit into this machine's memory")
    else:
        takes = ease.needed_crowd(domain, budget)
        yield Choice(Popularity(), f"{_crowd(domain)} are too few to learn taste under this noise: {takes}")


def _crowd(domain: Domain) -> str:
    """The crowd that the rule goes by, in words."""
    return domain.crowd.in_words(domain.feedback)


def _supports(model: Model, domain: Domain, budget: Budget | None, personal_epsilon: bool) -> bool:
    if budget is None:
        return True
    if personal_epsilon and not (
        type(model).personal_epsilon and (budget.unit, budget.adjacency) == ("user", "add-remove")
    ):
        return False
    try:
        model.plan(domain, budget)
    except (BudgetUnsupported, ConfigError):
        return False
    return True


def _has_room(model: Model, domain: Domain, budget: Budget | None) -> bool:
    """Whether a machine of this size holds the fit: its size is public, and what is free on it is not."""
    if budget is None or not isinstance(model, PrivateModel):
        return True
    whole, _ = machine()
    crowd = domain.crowd
    return model.footprint(domain, budget).bytes_held(int(crowd.ratings), int(crowd.users)) <= whole


def _none_supports(domain: Domain, budget: Budget | None, personal_epsilon: bool) -> str:
    assert budget is not None  # every model has a non-private baseline
    if personal_epsilon and domain.feedback == "ratings":
        return f"an ε per user needs unit 'user', adjacency 'add-remove' and delta > 0, not {budget}"
    if personal_epsilon:
        return "no model of interactions lets people ask for their own ε; drop the column personal_epsilon"
    return (
        f"no model of {domain.feedback} protects {budget}; choose adjacency 'add-remove', and delta > 0 for "
        "interactions; to release data in place of a model, see hushrec.RandomizedResponse"
    )
