"""``hushrec fit``: make a public release from private ratings or from a released data set."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import account, console, options, sources
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.feedback import Feedback
    from hushrec.data.packed.blocks import Blocks
    from hushrec.data.readers.databases.database import Database
    from hushrec.data.spark.spark_feedback import SparkFeedback
    from hushrec.models.base import Model
    from hushrec.release.artefact import Release

_OF_A_SERIES = (
    "ratings out domain ledger series release_index accept_dropped accept_users accept_weak query column "
    "format separator decimal"
)
"""What goes with --series."""


def fit(
    ctx: typer.Context,
    ratings: Annotated[
        list[str],
        typer.Argument(
            help="The private ratings, in files, patterns, folders or zip archives, or in a database "
            "(--query): user_id, item_id, rating[, timestamp][, epsilon], or interactions: "
            "user_id, item_id[, count][, …]; or a packed folder; or a released data set, which needs no "
            "domain, budget or ledger."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The release to write.")],
    domain: Annotated[Path | None, typer.Option(help="The domain, as hushrec domain writes it.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E|auto",
            help="ε, the largest privacy loss; auto takes an equal share of what the ledger has left, with "
            "the ledger's δ, unit and adjacency.",
        ),
    ] = None,
    delta: options.OptionalDelta = None,
    unit: options.OptionalUnit = None,
    adjacency: options.OptionalAdjacency = None,
    ledger: account.LedgerOption = None,
    new_ledger: account.NewLedger = False,
    beyond_share: account.BeyondShare = False,
    accept_weak: account.AcceptWeak = False,
    series: Annotated[
        Path | None,
        typer.Option(
            help="The folder of a series, of which this makes the next release: the same each time, new for "
            "the first. It is as private as the ratings, and without it the series cannot go on."
        ),
    ] = None,
    release_index: options.ReleaseIndex = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="The folder from which the same command resumes at no cost if it is stopped; as private as "
            "the ratings, and deleted at the end. By default it is LEDGER.checkpoints, beside the ledger."
        ),
    ] = None,
    no_checkpoint: Annotated[
        bool,
        typer.Option(
            "--no-checkpoint", help="Keep nothing to resume from: a fit that is stopped loses its charge."
        ),
    ] = False,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="A release of other people's ratings, private or declared public, that says what is "
            "expected of the items it shares with the catalogue."
        ),
    ] = None,
    accept_dropped: options.AcceptDropped = False,
    accept_users: options.AcceptUsers = False,
    model: options.ModelOption = None,
    noise: options.Noise = None,
    settings: options.Settings = None,
    engine: options.Engine = "local",
    blocks: options.OnDisk = None,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Make a release from private ratings, or from released data.

    With --series, it is the next of several under one charge: each takes all that people have given so far,
    and its budget is what the ledger had left before the first.
    """
    from hushrec.data.domain import Domain
    from hushrec.local.dataset_files import recognised

    form = sources.Form(column, format, separator, decimal)
    if series is not None:
        options.require_only(ctx, options.OF_A_SERIES, _OF_A_SERIES)
        if domain is None or ledger is None:
            raise ConfigError(
                "a series needs --domain and --ledger; to see only its cost: hushrec plan --series LEDGER"
            )
        source, accepted = sources.named(ratings, query), (accept_dropped, accept_users, accept_weak)
        _fit_next(source, form, Domain.open(domain), ledger, series, out, release_index, accepted)
        return
    config = options.named_model(model, noise, settings)
    spark = engine == "spark"
    # Spark takes the arguments as they are: they may be addresses of a store.
    named: list[Path | Database]
    named = [Path(one) for one in ratings] if spark else sources.named(ratings, query)
    first = named[0]
    if not spark and len(named) == 1 and isinstance(first, Path) and recognised(first):
        if options.others(ctx, "ratings model settings out"):
            raise ConfigError(
                f"{first} is a released data set: models of it cost nothing and take no options but "
                "--model, --set and -o"
            )
        _train(first, config, out)
        return
    if checkpoint is not None and no_checkpoint:
        raise ConfigError("--checkpoint names a folder and --no-checkpoint wants none: leave out one of them")
    kept: Path | bool = checkpoint or not no_checkpoint
    auto = epsilon == "auto"
    declared = None if domain is None else Domain.open(domain)
    usual = options.usual_delta(declared)
    largest = None if auto else options.number(epsilon, "--epsilon")
    budget = None if auto else options.budget(largest, delta, unit, adjacency, usual=usual)
    if declared is None or ledger is None or not (budget or auto):
        raise ConfigError(
            "private ratings need --domain, --epsilon, --delta, --unit, --adjacency and --ledger; a released "
            f"data set needs none of them, but {console.names(named)} is not one, or is damaged: try "
            "hushrec show"
        )
    from hushrec.curator.acceptance import admit
    from hushrec.curator.choices.recommended import choice
    from hushrec.curator.fit import fitted, plan, require_sums_alone
    from hushrec.curator.room import release_size, reserved
    from hushrec.models.private import PrivateModel
    from hushrec.release.artefact import Release

    if auto and new_ledger:
        raise ConfigError(
            "--epsilon auto takes a share of a ledger that is there: create it with its total and the "
            "number of releases (hushrec ledger create --max-releases), and leave out --new-ledger"
        )
    because = ""
    if config is None:
        personal = "epsilon" in (options.named_columns(column) or {})
        chosen = (
            choice(declared, budget, personal=personal)
            if budget
            else account.choice(ledger, declared, release_index, kept, out, personal=personal)
        )
        config, because = chosen
    if budget is None:
        asked = {"delta": delta, "unit": unit, "adjacency": adjacency}
        budget = account.share(ledger, config, declared, release_index, kept, asked, out)
    public = None if prior is None else Release.open(prior)
    planned = plan(config, declared, budget, public)
    assert isinstance(config, PrivateModel)  # others have no plan
    options.require_writable(out, ".safetensors")
    if spark:
        require_sums_alone(config)
    if planned.foreign:  # before the charge
        console.err().print(f"AUTHOR'S CLAIM: {planned.claim}", soft_wrap=True)
    accept_weak = account.require(ledger, planned, new_ledger, out, accept_weak)
    if blocks is None and not spark and config.footprint(declared, budget).gathered:
        blocks = False
    with console.bars():
        private: Feedback | Blocks | SparkFeedback
        if spark:
            private = sources.in_spark(ratings, declared, form, query, blocks)
        else:
            private = sources.packed_or_loaded(named, declared, form, blocks=blocks)
    console.print_confidential(console.names(named), private)
    if new_ledger:  # before the ledger exists: it would remain, without a charge, if the fit were refused
        admit(
            private,
            planned.model,
            config.footprint(declared, budget),
            spends=True,
            accept_dropped=accept_dropped,
            accept_users=accept_users,
        )
    charged = account.opened(ledger, planned, new_ledger, out, accept_weak)

    with ExitStack() as until_written:
        size = release_size(config, planned, declared)
        room = until_written.enter_context(reserved(out.parent, size))

        def charge(beyond: bool, weak: bool) -> Release:
            with console.bars():
                return until_written.enter_context(
                    fitted(
                        private,
                        None if because else config,
                        "auto" if auto else budget,
                        ledger=charged,
                        release_index=release_index,
                        checkpoint=kept,
                        prior=public,
                        accept_dropped=accept_dropped,
                        accept_users=accept_users,
                        beyond_share=beyond,
                        accept_weak=weak,
                    )
                )

        release = account.confirmed(charge, beyond_share, accept_weak)
        made = release.statement.ledger["release_index"]
        if room:
            room.keep(0)
        options.save(release, out, fix=account.again(made, new=new_ledger))
    if because:
        console.print_choice(release.model, because)
    account.print_charge(charged, budget, made, repeated=release.repeated, auto=auto)
    console.print_statement(release.statement)
    console.print_ledger(charged)
    _print_next(release, out)


def _fit_next(
    named: "list[sources.Source]",
    form: sources.Form,
    domain: "Domain",
    ledger: str,
    series: Path,
    out: Path,
    release_index: int | None,
    accepted: tuple[bool, bool, bool],
) -> None:
    """The next release of a series, whose first one charged them all."""
    from hushrec.curator.series.fit_next import fit_next
    from hushrec.privacy.ledger.ledger import Ledger

    options.require_writable(out, ".safetensors")
    charged, (dropped, users, accept_weak) = Ledger.open(ledger), accepted
    with console.bars():
        private = sources.load(named, domain, form)
    console.print_confidential(console.names(named), private)

    def charge(_: bool, weak: bool) -> "Release":
        with console.bars():
            return fit_next(
                private,
                options.series_model(domain),
                series,
                ledger=charged,
                release_index=release_index,
                accept_dropped=dropped,
                accept_users=users,
                accept_weak=weak,
            )

    release = account.confirmed(charge, False, accept_weak)
    made = release.statement.ledger
    options.save(release, out, fix=account.again(made["release_index"]))
    console.print_statement(release.statement)
    number, last = made["part"] + 1, made["parts"]
    later = "this was the last" if number == last else "later ones cost nothing more"
    console.out().print(
        f"Release {number} of the {last} of this series, which are charged together: {later}", soft_wrap=True
    )
    console.print_next(release, out)


def _train(source: Path, config: "Model | None", out: Path) -> None:
    """A release made from a released data set, which is paid for already."""
    from hushrec.curator.fit import fit
    from hushrec.local.released import ReleasedData

    options.require_writable(out, ".safetensors")
    with console.working("reading the data set"):
        data = ReleasedData.open(source)
    with console.working("fitting the model"):
        release = fit(data, config)
    options.save(release, out)
    console.print_statement(release.statement)
    _print_next(release, out)


def _print_next(release: "Release", out: Path) -> None:
    from hushrec.release.contents.dimensions import remedy

    console.out().print(release.taste, soft_wrap=True)
    if not release.personal:
        console.out().print(remedy(release.feedback, release.config), soft_wrap=True)
    console.print_next(release, out)
