"""``hushrec randomize``: a data set of randomized ratings, charged to a ledger, or of many devices."""

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


def randomize(
    ctx: typer.Context,
    ratings: Annotated[
        list[str] | None,
        typer.Argument(
            help="The private ratings, in files, patterns, folders or zip archives, or in a database "
            "(--query): user_id, item_id, rating[, timestamp]. With --collect, the reports."
        ),
    ] = None,
    domain: Annotated[Path | None, typer.Option(help="The domain, as hushrec domain writes it.")] = None,
    method: options.MethodOption = None,
    ledger: account.LedgerOption = None,
    new_ledger: account.NewLedger = False,
    beyond_share: account.BeyondShare = False,
    accept_weak: account.AcceptWeak = False,
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
    accept_users: options.AcceptUsers = False,
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
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Release a randomized data set, charged to a ledger."""
    if collect:
        because = "--collect combines data sets that are randomized and charged already"
        options.require_only(ctx, because, "collect ratings out")
        _collect(ratings, out)
        return
    if domain is None or method is None:
        raise ConfigError("give --domain and --method; to combine data sets of many devices, give --collect")
    from hushrec.curator.acceptance import admit
    from hushrec.curator.authors import signed
    from hushrec.curator.release_data import on_device, release_data
    from hushrec.curator.room import data_size, reserved
    from hushrec.data.domain import Domain
    from hushrec.data.ratings import Ratings
    from hushrec.local.dataset_files import require_lines

    if json and not plan:
        raise ConfigError("--json is of the cost alone: give --plan as well, or leave it out")
    declared = Domain.open(domain)
    config = options.method(method, settings, declared, features, feature, groups_from)
    budget = options.budget(epsilon, delta, unit, adjacency, usual="δ = 0 is usual here: a pure ε")
    if budget is None and "groups" not in type(config).model_fields:
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
    accept_weak = account.require(ledger, planned, new_ledger, out, accept_weak)
    with console.bars():
        loaded = sources.load(named, declared, sources.Form(column, format, separator, decimal))
    private = Ratings.of(loaded, by="randomize")
    console.print_confidential(console.names(named), private)
    if new_ledger:  # before the ledger exists: it would remain, without a charge, if the release were refused
        admit(
            private,
            planned.model,
            config.footprint(planned, declared),
            spends=not on_device(declared),
            accept_dropped=accept_dropped,
            accept_users=accept_users,
        )
    charged = account.opened(ledger, planned, new_ledger, out, accept_weak)

    def charge(beyond: bool, weak: bool) -> "ReleasedData":
        with console.working("randomizing rows"):
            return release_data(
                private,
                config,
                budget,
                ledger=charged,
                release_index=release_index,
                accept_dropped=accept_dropped,
                accept_users=accept_users,
                beyond_share=beyond,
                accept_weak=weak,
            )

    with reserved(out.parent, data_size(planned, private, out.suffix), private=True) as room:
        data = account.confirmed(charge, beyond_share, accept_weak)
        if room:
            room.keep(0)
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


def _collect(reports: list[str] | None, out: Path | None) -> None:
    """Combine the data sets of many devices into one."""
    from hushrec.local.released import ReleasedData

    if not (reports and out):
        raise ConfigError("--collect needs the data sets to combine, and -o")
    options.require_writable(out, ".parquet", ".csv")
    with console.working("reading reports"):
        together = ReleasedData.collect(ReleasedData.open(path) for path in reports)
    options.save(together, out)
    console.print_statement(together.statement)
    console.out().print(
        f"Wrote {out}: {together.n_people:,} people. Next: hushrec show {quote(str(out))}",
        soft_wrap=True,
    )


def _facts(config: "Method", planned: "Plan", domain: "Domain") -> dict[str, Any]:
    """A plan as JSON values: as of a model, and what one answer reveals."""
    from dataclasses import asdict

    from hushrec.cli.plan import facts
    from hushrec.curator.statements import measured
    from hushrec.release.odds import Odds

    lines = measured(planned.events, planned)
    local = config.local(planned, domain)
    told = facts(planned, lines, Odds.of(planned.epsilon, planned.budget.delta, lines))
    return {
        "method": told.pop("model"),
        **told,
        "local": asdict(local) if local else None,
        "uncovered": planned.uncovered,
        "groups": config.groups_in(domain),
        "beside": config.beside(),
    }


def _print_plan(config: "Method", planned: "Plan", domain: "Domain") -> None:
    from hushrec.release import sentence, statement_text

    screen = console.out()
    screen.print(str(planned), soft_wrap=True)
    screen.print()
    if local := config.local(planned, domain):
        for line in statement_text.local(local, planned.epsilon):
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
