"""``hushrec plan``: what a fit will measure and cost, before any rating is read."""

from dataclasses import replace
from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.curator import fit as library
from hushrec.curator.suggest_model import choice, same_list
from hushrec.data.domain import Domain
from hushrec.documents.document import Block, Commands, Paragraph
from hushrec.models.base import Model, PrivateModel
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.booking import split_budget
from hushrec.text import above


@options.of(library.plan)
def plan(
    *,
    domain: Domain,
    budget: Budget,
    max_releases: Annotated[int, "Number of releases that share the ε, as of hushrec ledger create."] = 1,
    model: Model | None = None,
    json: options.Json = False,
) -> None:
    """Show the noise and the cost of a fit. Reads no ratings."""
    several, because = max_releases != 1, ""
    if model is None:
        model, because = choice(domain, budget)
        if several and not model.continues:
            model, because = choice(domain, split_budget(budget, max_releases))
    yearly = several and model.continues
    share = split_budget(budget, max_releases, first=yearly) if several else budget
    planned = library.plan(domain, model, share, whole=budget if yearly else None)
    assert isinstance(model, PrivateModel)  # others have no plan
    shaping = budget if yearly else share
    alike, prospects = same_list(domain, model, shaping), model.prospects(domain, shaping)
    facts: dict[str, Any] = {"because": because, "prospects": f"{alike} {prospects}".strip()}
    first: list[Block] = []
    extra: list[Block] = [Paragraph(alike, "caution")] if alike else []
    if because:
        extra.append(Paragraph(f"Model: {planned.model}, because {because}."))
    if prospects:
        extra.append(Paragraph(prospects))
    if several:
        spent = planned.spent.units(budget.delta)
        later = split_budget(budget, max_releases - 1, spent) if yearly else share
        each = f"each of {max_releases:,} releases may cost ε = {above(share.epsilon)}"
        if yearly:
            each = (
                f"the first of {max_releases:,} releases may cost ε = {above(share.epsilon)}, and each later "
                f"one ε = {above(later.epsilon)}: it takes over the sums of those before, and improves on "
                "them"
            )
        first.append(Paragraph(f"Within {budget} over all of them, {each}.", "strong"))
        terms = f"{options.budget_options(budget)} --max-releases {max_releases}"
        extra += [
            Commands("Create the ledger", [f"hushrec ledger create LEDGER {terms}"]),
            Paragraph("Then hushrec fit --epsilon auto takes one share each time."),
        ]
        facts |= {
            "releases": max_releases,
            "total_epsilon": budget.epsilon,
            "later_epsilon": later.epsilon,
        }
    document = planned.document(extra, first)
    console.show(replace(document, facts={**document.facts, **facts}), json=json)
