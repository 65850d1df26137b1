"""``hushrec randomize``: a data set of randomized ratings, charged to a ledger, or of many devices."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import account, console, options
from hushrec.cli.groups import grouped
from hushrec.cli.sources import Given
from hushrec.errors import ConfigError, ReleaseError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.local.method import Method
    from hushrec.privacy.accounting.plan import Plan


@grouped
def randomize(
    ctx: typer.Context,
    ratings: Annotated[
        list[str] | None,
        typer.Argument(
            help="The private ratings, in files, patterns, folders or zip archives, or in a database "
            "(--query): user_id, item_id, rating[, timestamp]. With --collect, the reports."
        ),
    ] = None,
    *,
    domain: Annotated[Path | None, typer.Option(help="The domain, as hushrec domain writes it.")] = None,
    method: options.MethodOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The data set to write, .parquet or .csv.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="ε, the largest privacy loss of a user.")] = None,
    terms: options.BudgetOptions,
    charge: account.ChargeOfAny,
    plan: Annotated[bool, typer.Option("--plan", help="Show the cost, and read no ratings.")] = False,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect",
            help="Combine data sets that hushrec randomize made with the same settings on many devices; "
            "charges nothing.",
        ),
    ] = False,
    json: options.Json = False,
    given: Given,
) -> None:
    """Release a randomized data set, charged to a ledger."""
    if collect:
        because = "--collect combines data sets that are randomized and charged already"
        options.require_only(ctx, because, "collect ratings out")
        _collect(ratings, out)
        return
    if domain is None or method.method is None:
        raise ConfigError("give --domain and --method; to combine data sets of many devices, give --collect")
    from hushrec.curator.charging import Request
    from hushrec.curator.release_data import data_plan, randomizing
    from hushrec.data.domain import Domain

    if json and not plan:
        raise ConfigError("--json is of the cost alone: give --plan as well, or leave it out")
    declared = Domain.open(domain)
    chosen = method.made(declared)
    budget = terms.with_epsilon(epsilon, "δ = 0 is usual here: a pure ε")
    if plan:
        _print_plan(chosen, data_plan(declared, chosen, budget), declared, json=json)
        return
    if not (ratings and charge.ledger and out):
        raise ConfigError(
            "a release needs RATINGS, --ledger and -o; to see only the cost, give --plan instead"
        )
    records = ratings
    request = Request(randomizing(chosen, budget), out=out, **charge.terms())
    facts = account.facts(declared, given.reading.columns)
    work, data = account.charged(
        request, facts, lambda _: given.load(records, declared, "memory"), given.called(records)
    )
    ledger, made = account.opened(request), data.statement.ledger["release_index"]
    account.print_charge(ledger, work.plan.budget, made, data.repeated, auto=False)
    console.print_statement(data.statement)
    console.print_ledger(ledger)
    console.out().print(
        f"Wrote {out}, with its statement next to it. Next: hushrec fit {quote(str(out))} --model item-knn "
        "-o model.safetensors",
        soft_wrap=True,
    )


def _collect(reports: list[str] | None, out: Path | None) -> None:
    """Combine the data sets of many devices into one."""
    from hushrec.curator.room import require_writable
    from hushrec.files import refusing
    from hushrec.local.released import ReleasedData

    if not (reports and out):
        raise ConfigError("--collect needs the data sets to combine, and -o")
    require_writable(out, ".parquet", ".csv")
    with console.working("reading reports"):
        together = ReleasedData.collect(ReleasedData.open(path) for path in reports)
    with refusing(out, "written", ReleaseError, "choose another file with -o"):
        together.save(out)
    console.print_statement(together.statement)
    console.out().print(
        f"Wrote {out}: {together.n_people:,} people. Next: hushrec show {quote(str(out))}",
        soft_wrap=True,
    )


def _facts(method: "Method", planned: "Plan", domain: "Domain") -> dict[str, Any]:
    """A plan as JSON values: as of a model, and what one answer reveals."""
    from dataclasses import asdict

    from hushrec.cli.plan import facts
    from hushrec.curator.statements import measured
    from hushrec.release.odds import Odds

    lines = measured(planned.events, planned)
    local = method.local(planned, domain)
    told = facts(planned, lines, Odds.of(planned.epsilon, planned.budget.delta, lines))
    return {
        "method": told.pop("model"),
        **told,
        "local": asdict(local) if local else None,
        "uncovered": planned.uncovered,
        "groups": method.groups_in(domain),
        "beside": method.beside(),
    }


def _print_plan(method: "Method", planned: "Plan", domain: "Domain", *, json: bool) -> None:
    from hushrec.release import sentence, statement_text

    if planned.foreign:
        console.err().print(f"AUTHOR'S CLAIM: {planned.claim}", soft_wrap=True)
    if json:
        console.print_json(_facts(method, planned, domain))
        return
    screen = console.out()
    screen.print(str(planned), soft_wrap=True)
    screen.print()
    if local := method.local(planned, domain):
        for line in statement_text.local(local, planned.epsilon):
            screen.print(line, soft_wrap=True)
    if planned.uncovered:
        screen.print(f"GROUPS NOT COVERED: {planned.uncovered}", soft_wrap=True)
    for line in (method.groups_in(domain), method.beside()):
        if line:
            screen.print(line[0].upper() + line[1:] + ".", soft_wrap=True)
    screen.print(sentence.covered(planned.budget.unit, planned.budget.adjacency), soft_wrap=True)
