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
        int | None, typer.Option(min=1, help="How many equal releases share --total, in place of --epsilon.")
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
    budget = split_budget(whole, releases) if releases else whole
    if chosen is None:
        chosen, because = choice(declared, budget)
    planned = plan_of(declared, chosen, budget)
    assert isinstance(chosen, PrivateModel)  # others have no plan
    alike, prospects = same_list(declared, chosen, budget), chosen.prospects(declared, budget)
    reasons = [
        f"Model: {planned.model}, because {because}." if because else "",
        prospects,
    ]
    first: list[Block] = []
    extra: list[Block] = [Paragraph(alike, "caution")] if alike else []
    extra += [Paragraph(line) for line in reasons if line]
    facts: dict[str, Any] = {"because": because, "prospects": f"{alike} {prospects}".strip()}
    if releases:
        each = f"each of {releases:,} releases may cost ε = {above(budget.epsilon)}"
        first.append(Paragraph(f"Within {whole} over all of them, {each}.", "strong"))
        extra += _equal_releases(planned, whole, releases)
        spent = [
            {"releases": n_made, "spent_epsilon": cost} for n_made, cost in _spent(planned, whole, releases)
        ]
        facts |= {"releases": releases, "total_epsilon": whole.epsilon, "spent": spent}
    document = planned.document(extra, first)
    console.show(replace(document, facts={**document.facts, **facts}), json=json)


def _equal_releases(planned: "Plan", total: "Budget", releases: int) -> "list[Block]":
    """Show the ε that each of several releases may cost, and the ε spent after each."""
    from hushrec.documents.document import Commands, Paragraph, Table
    from hushrec.text import above

    rows = [(f"{n_made:,}", f"ε = {above(spent, 4)}") for n_made, spent in _spent(planned, total, releases)]
    kind = f"--unit {total.unit} --adjacency {total.adjacency} --max-releases {releases}"
    figures = f"--epsilon {above(total.epsilon, 15)} --delta {above(total.delta, 15)}"
    return [
        Table("Spent", ("releases", "spent"), rows, left=0),
        Commands("Create the ledger", [f"hushrec ledger create LEDGER {figures} {kind}"]),
        Paragraph("Then hushrec fit --epsilon auto takes one share each time."),
    ]


def _spent(planned: "Plan", total: "Budget", releases: int) -> "Iterator[tuple[int, float]]":
    """The ε that is spent after some of several equal releases."""
    from hushrec.privacy.ledger.booking import spent_after

    marks = {1, 2, 4, releases // 4, releases // 2, releases}
    for n_made in sorted(mark for mark in marks if 0 < mark <= releases):
        yield n_made, spent_after(planned, n_made, total)
