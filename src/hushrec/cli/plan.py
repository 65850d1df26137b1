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

_SERIES = (
    "A series of this model has less noise, because its releases share it: hushrec plan --series LEDGER "
    "(docs/weekly.md)"
)


@grouped
def plan(
    ctx: typer.Context,
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
    series: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="Show what a series (hushrec fit --series) costs that takes all this ledger has left.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the noise and the cost of a fit. Reads no ratings."""
    from hushrec.curator.series.part import series_model
    from hushrec.curator.suggest_model import choice_within, same_list
    from hushrec.data.domain import Domain

    if series is not None:
        from hushrec.curator.series.series_plan import plan_series

        options.require_only(ctx, options.OF_A_SERIES, "domain series json")
        declared = Domain.open(domain)
        repeated = series_model(declared)
        planned = plan_series(declared, repeated, series)
        alike = same_list(declared, repeated, planned.budget)
        console.show(planned.document(_caution(alike)), json=json)
        return
    from hushrec.curator.disk_space import release_size
    from hushrec.curator.fit import plan as plan_of
    from hushrec.curator.suggest_model import split_budget
    from hushrec.documents.document import Paragraph
    from hushrec.models.base import PrivateModel
    from hushrec.sums.footprint import in_bytes
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
        chosen, because = choice_within(
            lambda model: split_budget(declared, model, whole, releases or 1), declared, whole
        )
    budget = split_budget(declared, chosen, whole, releases) if releases else whole
    planned = plan_of(declared, chosen, budget)
    assert isinstance(chosen, PrivateModel)  # others have no plan
    alike, prospects = same_list(declared, chosen, budget), chosen.prospects(declared, budget)
    size = release_size(chosen, planned, declared)
    reasons = [
        f"Model: {planned.model}, because {because}." if because else "",
        prospects,
        f"The release takes at most {in_bytes(size)}.",
    ]
    first: list[Block] = []
    extra = [*_caution(alike), *(Paragraph(line) for line in reasons if line)]
    facts: dict[str, Any] = {"because": because, "prospects": f"{alike} {prospects}".strip()}
    facts["release_bytes"] = size
    if releases:
        each = f"each of {releases:,} releases may cost ε = {above(budget.epsilon)}"
        first.append(Paragraph(f"Within {whole} over all of them, {each}.", "strong"))
        series_kind = releases > 1 and (whole.unit, whole.adjacency) == ("user", "add-remove")
        has_series = series_kind and chosen == series_model(declared)
        extra += _equal_releases(planned, whole, releases, has_series=has_series)
        spent = [
            {"releases": n_made, "spent_epsilon": cost} for n_made, cost in _spent(planned, whole, releases)
        ]
        facts |= {"releases": releases, "total_epsilon": whole.epsilon, "spent": spent}
    document = planned.document(extra, first)
    console.show(replace(document, facts={**document.facts, **facts}), json=json)


def _caution(text: str) -> "list[Block]":
    from hushrec.documents.document import Paragraph

    return [Paragraph(text, "caution")] if text else []


def _equal_releases(planned: "Plan", total: "Budget", releases: int, *, has_series: bool) -> "list[Block]":
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
        *([Paragraph(_SERIES)] if has_series else []),
    ]


def _spent(planned: "Plan", total: "Budget", releases: int) -> "Iterator[tuple[int, float]]":
    """The ε that is spent after some of several equal releases."""
    from hushrec.privacy.accounting import fixed_point
    from hushrec.privacy.ledger.booking import Remainder

    remainder = Remainder(total, releases)
    marks = {1, 2, 4, releases // 4, releases // 2, releases}
    for n_made in sorted(mark for mark in marks if 0 < mark <= releases):
        yield n_made, fixed_point.shown(remainder.after(planned.spent, n_made))
