"""``hushrec plan``: what a fit will measure and cost, before any rating is read."""

from dataclasses import replace
from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.curator import fit as library
from hushrec.curator.suggest_model import choice, same_list
from hushrec.data.domain import Domain
from hushrec.documents.document import Block, Commands, Paragraph
from hushrec.documents.odds import Odds
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
    extra: list[Block] = [Paragraph(alike, "caution")] if alike else []
    if because:
        extra.append(Paragraph(f"Model: {planned.model}, because {because}."))
    if prospects:
        extra.append(Paragraph(prospects))
    if not several:
        document = planned.document(extra)
        console.show(replace(document, facts={**document.facts, **facts}), json=json)
        return
    spent = planned.spent.units(budget.delta)
    later = split_budget(budget, max_releases - 1, spent) if yearly else share
    each = f"Each of them may cost ε = {above(share.epsilon)}."
    if yearly:
        each = (
            f"The first of them may cost ε = {above(share.epsilon)}, and each later one ε = "
            f"{above(later.epsilon)}: it takes over the sums of those before, and improves on them."
        )
    odds = Odds.of(budget.epsilon, budget.delta)
    together = replace(planned.guarantee, odds=odds, files=max_releases)
    terms = f"{options.budget_options(budget)} --max-releases {max_releases}"
    following = [f"hushrec ledger create LEDGER {terms}"]
    document = planned.document(extra, together, each)
    facts |= {"releases": max_releases, "total_epsilon": budget.epsilon, "later_epsilon": later.epsilon}
    blocks = [
        *document.blocks,
        Commands("Create the ledger", following),
        Paragraph("Then hushrec fit --epsilon auto takes one share each time."),
    ]
    document = replace(document, blocks=blocks, facts={**document.facts, **facts})
    console.show(document, json=json)
