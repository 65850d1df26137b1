"""``hushrec release-data``: release a data set of randomized ratings, charged to a ledger."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushrec.cli import account, console, options, sources
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.local.method import Method
    from hushrec.local.released import ReleasedData
    from hushrec.privacy.accounting.plan import Plan


def release_data(
    domain: options.DomainFile,
    method: options.MethodOption,
    ratings: Annotated[
        list[str] | None,
        typer.Argument(
            help="The private ratings, in files, patterns, folders or zip archives, or in a database "
            "(--query): user_id, item_id, rating[, timestamp]."
        ),
    ] = None,
    ledger: account.LedgerOption = None,
    new_ledger: account.NewLedger = False,
    beyond_share: account.BeyondShare = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The data set to write, .parquet or .csv.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="ε, the largest privacy loss of a user.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ; 0 for a pure ε.")] = None,
    unit: Annotated[
        Literal["user", "rating"] | None, typer.Option(help="What is protected: user, a user's whole row.")
    ] = None,
    adjacency: Annotated[
        Literal["add-remove", "replace", "replace-items"] | None,
        typer.Option(help="replace hides a whole row; replace-items (distance-based) hides only its items."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting: sample=100 (randomized response), keep_probability=0.9, group_probability=0.5, "
            "threshold=1.5, distance=cosine, groups=ratings (distance-based); may be repeated.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Public features of items, to group them by: movies.dat, u.item, csv, …"),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column of --features to use; by default all except ids and title."
        ),
    ] = None,
    groups_from: Annotated[
        Path | None, typer.Option(help="A release whose item factors or covariance to group items by.")
    ] = None,
    release_index: options.ReleaseIndex = None,
    accept_dropped: options.AcceptDropped = False,
    plan: Annotated[bool, typer.Option("--plan", help="Show the cost, and read no ratings.")] = False,
    json: options.Json = False,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Release a randomized data set, charged to a ledger."""
    from hushrec.curator.acceptance import require_accepted
    from hushrec.curator.authors import signed
    from hushrec.curator.memory import require_memory
    from hushrec.curator.release_data import on_device, release_data
    from hushrec.data.domain import Domain
    from hushrec.data.ratings import Ratings
    from hushrec.local.dataset_files import require_lines

    if json and not plan:
        raise ConfigError("--json is of the cost alone: give --plan as well, or leave it out")
    declared = Domain.open(domain)
    config = options.method(method, settings, declared, features, feature, groups_from)
    budget = options.budget(epsilon, delta, unit, adjacency)
    if budget is None and method != "distance-based":
        raise ConfigError(
            f"{method} needs a budget: give --epsilon, --delta (0 for a pure ε), --unit user and "
            "--adjacency replace"
        )
    planned = signed(config.plan(declared, budget), config, declared)
    if planned.foreign:  # before the charge
        console.err().print(f"AUTHOR'S CLAIM: {planned.claim}", soft_wrap=True)
    if plan:
        if json:
            console.print_json(_facts(config, planned, declared))
        else:
            _print_plan(config, planned, declared)
        return
    if not (ratings and ledger and out):
        raise ConfigError(
            "a release needs RATINGS, --ledger and -o; to see only the cost, give --plan instead"
        )
    named = sources.named(ratings, query)
    options.require_writable(out, ".parquet", ".csv")
    require_lines(out, declared.items)
    account.require(ledger, planned, new_ledger, out)
    with console.bars():
        loaded = sources.load(named, declared, column, format, separator, decimal)
    private = Ratings.of(loaded, by="release-data")
    console.print_confidential(console.names(named), private)
    if new_ledger:  # before the ledger exists: it would remain, without a charge, if the release were refused
        if not on_device(declared):
            require_accepted(private, accepted=accept_dropped)
        require_memory(planned.model, config.footprint(planned, declared), private)
    charged = account.opened(ledger, planned, new_ledger, out)

    def charge(beyond: bool) -> "ReleasedData":
        with console.working("randomizing rows"):
            return release_data(
                private,
                config,
                budget,
                ledger=charged,
                release_index=release_index,
                accept_dropped=accept_dropped,
                beyond_share=beyond,
            )

    data = account.within_share(charge, beyond_share)
    options.save(data, out, fix=_lost(data, new_ledger))
    made = data.statement.ledger["release_index"]
    account.print_charge(charged, planned.budget, made, repeated=data.repeated, auto=False)
    console.print_statement(data.statement)
    console.print_ledger(charged)
    console.out().print(
        f"Wrote {out}, with its statement next to it. Next: hushrec fit {quote(str(out))} --model item-knn "
        "-o model.safetensors",
        soft_wrap=True,
    )


def _facts(config: "Method", planned: "Plan", domain: "Domain") -> dict[str, Any]:
    """A plan as JSON values: as of a model, and what one answer reveals."""
    from dataclasses import asdict

    from hushrec.cli.plan import facts
    from hushrec.curator.statements import measured
    from hushrec.release.odds import Odds

    lines = measured(planned.events, planned)
    told = facts(planned, lines, Odds.of(planned.epsilon, planned.budget.delta, lines))
    return {
        "method": told.pop("model"),
        **told,
        "local": asdict(config.local(planned, domain)),
        "uncovered": planned.uncovered,
        "groups": config.groups_in(domain),
        "beside": config.beside(),
    }


def _print_plan(config: "Method", planned: "Plan", domain: "Domain") -> None:
    from hushrec.release import sentence, statement_text

    screen = console.out()
    screen.print(str(planned), soft_wrap=True)
    screen.print()
    for line in statement_text.local(config.local(planned, domain), planned.epsilon, planned.claimed_epsilon):
        screen.print(line, soft_wrap=True)
    if planned.uncovered:
        screen.print(f"GROUPS NOT COVERED: {planned.uncovered}", soft_wrap=True)
    for line in (config.groups_in(domain), config.beside()):
        if line:
            screen.print(line[0].upper() + line[1:] + ".", soft_wrap=True)
    screen.print(sentence.covered(planned.budget.unit, planned.budget.adjacency), soft_wrap=True)


def _lost(data: "ReleasedData", new: bool) -> str:
    """What to do where the file of a data set cannot be written."""
    from hushrec.local.released import LARGEST_STORED

    if data.ratings.n_ratings <= LARGEST_STORED and data.statement.ledger:
        return account.again(data.statement.ledger["release_index"], new=new)
    return (
        ". It is too large for the ledger to keep, so it is lost and its charge stays spent: make room, and "
        "make another release"
    )
