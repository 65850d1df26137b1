"""``hushrec plan``: what a fit will measure and cost, before any rating is read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import account, console, options
from hushrec.cli.groups import grouped
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.accounting.plan import Plan
    from hushrec.release.odds import Odds
    from hushrec.release.statement_lines import Measured


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
            autocompletion=account.complete_ledger,
            help="Show what a series (hushrec fit --series) costs that takes all this ledger has left.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the noise and the cost of a fit. Reads no ratings."""
    from hushrec.data.domain import Domain

    if series is not None:
        from hushrec.curator.series.part import series_model
        from hushrec.curator.series.series_plan import plan_series

        options.require_only(ctx, options.OF_A_SERIES, "domain series")
        declared = Domain.open(domain)
        planned = plan_series(declared, series_model(declared), series)
        console.out().print(str(planned), soft_wrap=True)
        return
    from hushrec.curator.choices.recommended import choice_of_share
    from hushrec.curator.fit import plan as plan_of
    from hushrec.curator.shares import share
    from hushrec.curator.statements import measured
    from hushrec.figures import above
    from hushrec.models.private import PrivateModel
    from hushrec.release.odds import Odds

    chosen = model.made()
    largest = epsilon if total is None else total
    if largest is None or None not in (epsilon, total) or (releases is None) != (total is None):
        raise ConfigError("give --epsilon for one release, or --releases and --total for several")
    declared = Domain.open(domain)
    whole = terms.with_epsilon(largest, options.usual_delta(declared))
    assert whole is not None
    because = ""
    if chosen is None:
        chosen, because = choice_of_share(
            lambda model: share(declared, model, whole, releases or 1), declared, whole
        )
    budget = share(declared, chosen, whole, releases) if releases else whole
    planned = plan_of(declared, chosen, budget)
    assert isinstance(chosen, PrivateModel)  # others have no plan
    lines = measured(chosen.queries(declared, budget), planned)
    prospects = chosen.prospects(declared, budget)
    reading = Odds.of(planned.epsilon, whole.delta, lines)
    if json:
        told = facts(planned, lines, reading) | {"prospects": prospects, "because": because}
        if releases:
            told |= {"releases": releases, "total_epsilon": whole.epsilon}
            told["spent"] = [
                {"releases": made, "spent_epsilon": spent} for made, spent in _spent(planned, whole, releases)
            ]
        console.print_json(told)
        return
    screen = console.out()
    if because:
        console.print_choice(planned.model, because)
        screen.print()
    if planned.foreign:
        screen.print(f"AUTHOR'S CLAIM: {planned.claim}", soft_wrap=True)
    if releases:
        _print_shares(planned, whole, releases)
    screen.print(f"{planned.model}, within {budget}", soft_wrap=True)
    screen.print()
    screen.print(console.measurements(lines, fold=True))
    screen.print()
    per = f"per {whole.unit}, {whole.adjacency}"
    screen.print(f"Total: true ε = {above(planned.epsilon)} at δ = {above(whole.delta)} {per}")
    screen.print(str(reading), soft_wrap=True)
    if prospects:
        screen.print(prospects, soft_wrap=True)
    for known in planned.beforehand:
        screen.print(f"Known beforehand: {known}", soft_wrap=True)
    screen.print(f"A fit {planned.needs}.", soft_wrap=True)
    if conditions := planned.event_conditions:
        screen.print("\n".join(conditions), soft_wrap=True)
    if planned.promises:
        screen.print()
        listed = console.table("class", "asks for", "is promised", left=1)
        for promise in planned.promises:
            listed.add_row(promise.name, f"ε = {above(promise.asked)}", f"ε = {above(promise.promised)}")
        screen.print(listed)
        screen.print(
            "This is promised if the ratings have a column epsilon with each user's ε.", soft_wrap=True
        )
    console.print_symbols()


def facts(planned: "Plan", lines: "tuple[Measured, ...]", reading: "Odds") -> dict[str, Any]:
    """A plan as JSON values, named as in a statement."""
    return {
        "model": planned.model,
        "settings": dict(planned.config),
        **planned.budget.model_dump(exclude={"epsilon"}),
        "epsilon": planned.epsilon,
        "budget_epsilon": planned.budget.epsilon,
        "foreign": list(planned.foreign),
        "condition": planned.condition,
        "needs": planned.needs,
        "beforehand": list(planned.beforehand),
        "measurements": [line.to_json() for line in lines],
        "reading": reading.to_json(),
        "promises": [
            {"name": p.name, "asked": p.asked, "weight": p.weight, "promised": p.promised}
            for p in planned.promises
        ],
    }


def _print_shares(planned: "Plan", total: "Budget", releases: int) -> None:
    """What each of several releases may cost, and what is spent after so many of them."""
    from hushrec.figures import above

    screen = console.out()
    each = f"each of {releases:,} releases may cost ε = {above(planned.budget.epsilon)}"
    screen.print(f"Within {total} over all of them, {each}", soft_wrap=True)
    screen.print()
    listed = console.table("releases", "spent", left=0)
    for made, spent in _spent(planned, total, releases):
        listed.add_row(f"{made:,}", f"ε = {above(spent, 4)}")
    screen.print(listed)
    screen.print()
    kind = f"--unit {total.unit} --adjacency {total.adjacency} --max-releases {releases}"
    screen.print(
        f"Create the ledger: hushrec ledger create LEDGER --epsilon {above(total.epsilon, 15)} --delta "
        f"{above(total.delta, 15)} {kind}. Then hushrec fit --epsilon auto takes one share each time.",
        soft_wrap=True,
    )
    screen.print()
    screen.print("One release:")
    screen.print()


def _spent(planned: "Plan", total: "Budget", releases: int) -> "Iterator[tuple[int, float]]":
    """The ε that is spent after some of several equal releases."""
    from hushrec.privacy.accounting import fixed_point
    from hushrec.privacy.ledger.remainder import Remainder

    remainder = Remainder(total, releases)
    marks = {1, 2, 4, releases // 4, releases // 2, releases}
    for made in sorted(mark for mark in marks if 0 < mark <= releases):
        yield made, fixed_point.shown(remainder.after(planned.spent, made))
