"""``hushrec plan``: what a fit will measure and cost, before any rating is read."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.cli.options import grouped
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.documents.document import Block
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.accounting.plan import Plan


@grouped
def plan(
    domain: options.DomainFile,
    *,
    epsilon: Annotated[float | None, typer.Option(help="ε, the largest privacy loss of one release.")] = None,
    terms: options.BudgetOptions,
    releases: Annotated[
        int | None, typer.Option(min=1, help="How many releases share --total, in place of --epsilon.")
    ] = None,
    total: Annotated[
        float | None, typer.Option(help="ε, the largest privacy loss over all releases.")
    ] = None,
    model: options.ModelOptions,
    json: options.Json = False,
) -> None:
    """Show the noise and the cost of a fit. Reads no ratings."""
    from hushrec.curator.fit import plan as plan_of
    from hushrec.curator.suggest_model import choice, same_list
    from hushrec.data.domain import Domain
    from hushrec.documents.document import Paragraph
    from hushrec.models.base import PrivateModel
    from hushrec.privacy.ledger.booking import split_budget
    from hushrec.text import above

    chosen = model.build()
    largest = epsilon if total is None else total
    if largest is None or None not in (epsilon, total) or (releases is None) != (total is None):
        raise ConfigError("give --epsilon for one release, or --releases and --total for several")
    declared = Domain.open(domain)
    whole = terms.with_epsilon(largest, options.usual_delta(declared))
    assert whole is not None
    because = ""
    if chosen is None:
        chosen, because = choice(declared, whole)
        if releases and not chosen.continues:
            chosen, because = choice(declared, split_budget(whole, releases))
    yearly = releases is not None and releases > 1 and chosen.continues
    budget = split_budget(whole, releases, first=yearly) if releases else whole
    planned = plan_of(declared, chosen, budget, whole=whole if yearly else None)
    assert isinstance(chosen, PrivateModel)  # others have no plan
    shaping = whole if yearly else budget
    alike, prospects = same_list(declared, chosen, shaping), chosen.prospects(declared, shaping)
    reasons = [
        f"Model: {planned.model}, because {because}." if because else "",
        prospects,
    ]
    first: list[Block] = []
    extra: list[Block] = [Paragraph(alike, "caution")] if alike else []
    extra += [Paragraph(line) for line in reasons if line]
    facts: dict[str, Any] = {"because": because, "prospects": f"{alike} {prospects}".strip()}
    if releases:
        later = split_budget(whole, releases - 1, planned.spent.units(whole.delta)) if yearly else budget
        each = f"each of {releases:,} releases may cost ε = {above(budget.epsilon)}"
        if yearly:
            each = (
                f"the first of {releases:,} releases may cost ε = {above(budget.epsilon)}, and each later "
                f"one ε = {above(later.epsilon)}: it takes over the sums of those before, and improves on "
                "them"
            )
        first.append(Paragraph(f"Within {whole} over all of them, {each}.", "strong"))
        after = [*_spent(planned, later, whole, releases)]
        extra += _several(after, whole, releases, yearly=yearly)
        spent = [{"releases": n_made, "spent_epsilon": cost} for n_made, cost in after]
        facts |= {"releases": releases, "total_epsilon": whole.epsilon, "spent": spent}
        facts |= {"later_epsilon": later.epsilon}
    document = planned.document(extra, first)
    console.show(replace(document, facts={**document.facts, **facts}), json=json)


def _several(
    after: "list[tuple[int, float]]", total: "Budget", releases: int, *, yearly: bool
) -> "list[Block]":
    """Show the ε that is spent after some of several releases."""
    from hushrec.documents.document import Commands, Paragraph, Table
    from hushrec.text import above

    rows = [(f"{n_made:,}", f"ε = {above(spent, 4)}") for n_made, spent in after]
    kind = f"--unit {total.unit} --adjacency {total.adjacency} --max-releases {releases}"
    figures = f"--epsilon {above(total.epsilon, 15)} --delta {above(total.delta, 15)}"
    states = "What is spent is what the last of them states: its own ε, and that of all whose sums it holds."
    return [
        Table("Spent", ("releases", "spent"), rows, left=0),
        *([Paragraph(states)] if yearly else []),
        Commands("Create the ledger", [f"hushrec ledger create LEDGER {figures} {kind}"]),
        Paragraph("Then hushrec fit --epsilon auto takes one share each time."),
    ]


def _spent(planned: "Plan", later: "Budget", total: "Budget", releases: int) -> "Iterator[tuple[int, float]]":
    """The ε that is spent after some of several releases, which cost as much as they may."""
    from hushrec.privacy.accounting import fixed_point
    from hushrec.privacy.accounting.accountant import epsilon_of, largest_cost

    first, each = planned.spent.units(total.delta), largest_cost(later)
    marks = {1, 2, 4, releases // 4, releases // 2, releases}
    for n_made in sorted(mark for mark in marks if 0 < mark <= releases):
        yield n_made, fixed_point.shown(epsilon_of(first + (n_made - 1) * each, total.delta))
