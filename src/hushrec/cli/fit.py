"""``hushrec fit``: make a public release from private ratings or from a released data set."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hushrec.cli import account, console, options, sources
from hushrec.errors import ConfigError

if TYPE_CHECKING:
    from hushrec.data.feedback import Feedback
    from hushrec.data.packed.blocks import Blocks
    from hushrec.data.readers.databases.database import Database
    from hushrec.data.spark.spark_feedback import SparkFeedback
    from hushrec.models.base import Model
    from hushrec.release.artefact import Release


def fit(
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
    delta: Annotated[
        float | None, typer.Option(help="δ, below 1/(10 · users); 0 with Laplace noise.")
    ] = None,
    unit: Annotated[
        Literal["user", "rating"] | None,
        typer.Option(help="What is protected: everything that one user gave, or one rating."),
    ] = None,
    adjacency: Annotated[
        Literal["add-remove", "replace"] | None,
        typer.Option(help="add-remove hides whether the unit is present; replace hides only its content."),
    ] = None,
    ledger: account.LedgerOption = None,
    new_ledger: account.NewLedger = False,
    beyond_share: account.BeyondShare = False,
    release_index: options.ReleaseIndex = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A folder from which the same command resumes if it is stopped, under the same charge; as "
            "private as the ratings, and deleted at the end."
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="A release of other people's ratings, private or declared public, that says what is "
            "expected of the items it shares with the catalogue."
        ),
    ] = None,
    accept_dropped: options.AcceptDropped = False,
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
    """Make a release from private ratings, or from released data."""
    from hushrec.local.dataset_files import recognised

    config = options.named_model(model, noise, settings)
    spark = engine == "spark"
    # Spark takes the arguments as they are: they may be addresses of a store.
    named: list[Path | Database] = [Path(one) for one in ratings]
    if not spark:
        named = sources.named(ratings, query)
    first = named[0]
    if not spark and len(named) == 1 and isinstance(first, Path) and recognised(first):
        paid = (epsilon, delta, unit, adjacency)
        given = (domain, *paid, ledger, release_index, checkpoint, prior, noise, column, format, separator)
        flags = new_ledger or accept_dropped or beyond_share or blocks is not None
        if any(value is not None for value in given) or flags:
            raise ConfigError(
                f"{first} is a released data set: models of it cost nothing and take no options but "
                "--model, --set and -o"
            )
        _train(first, config, out)
        return
    auto = epsilon == "auto"
    budget = None if auto else options.budget(options.number(epsilon, "--epsilon"), delta, unit, adjacency)
    if domain is None or ledger is None or not (budget or auto):
        raise ConfigError(
            "private ratings need --domain, --epsilon, --delta, --unit, --adjacency and --ledger; a released "
            f"data set needs none of them, but {console.names(named)} is not one, or is damaged: try "
            "hushrec show"
        )
    from hushrec.curator.acceptance import require_accepted
    from hushrec.curator.choices.recommended import choice
    from hushrec.curator.fit import fit, plan, require_sums_alone
    from hushrec.curator.memory import require_memory
    from hushrec.data.domain import Domain
    from hushrec.models.private import PrivateModel
    from hushrec.release.artefact import Release

    declared = Domain.open(domain)
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
            else account.choice(ledger, declared, release_index, checkpoint, out, personal=personal)
        )
        config, because = chosen
    if budget is None:
        asked = {"delta": delta, "unit": unit, "adjacency": adjacency}
        budget = account.share(ledger, config, declared, release_index, checkpoint, asked, out)
    public = None if prior is None else Release.open(prior)
    planned = plan(config, declared, budget, public)
    assert isinstance(config, PrivateModel)  # others have no plan
    options.require_writable(out, ".safetensors")
    if spark:
        require_sums_alone(config)
    if planned.foreign:  # before the charge
        console.err().print(f"AUTHOR'S CLAIM: {planned.claim}", soft_wrap=True)
    account.require(ledger, planned, new_ledger, out)
    if blocks is None and not spark and config.footprint(declared, budget).gathered:
        blocks = False
    with console.bars():
        private: Feedback | Blocks | SparkFeedback
        if spark:
            other = {"query": query, "format": format, "separator": separator, "blocks": blocks}
            comma = None if decimal == "." else decimal
            private = sources.in_spark(ratings, declared, column, **other, decimal=comma)
        else:
            private = sources.packed_or_loaded(
                named, declared, column, format, separator, decimal, blocks=blocks
            )
    console.print_confidential(console.names(named), private)
    if new_ledger:  # before the ledger exists: it would remain, without a charge, if the fit were refused
        require_accepted(private, accepted=accept_dropped)
        require_memory(planned.model, config.footprint(declared, budget), private)
    charged = account.opened(ledger, planned, new_ledger, out)

    def charge(beyond: bool) -> Release:
        with console.bars():
            return fit(
                private,
                config,
                budget,
                ledger=charged,
                release_index=release_index,
                checkpoint=checkpoint,
                prior=public,
                accept_dropped=accept_dropped,
                beyond_share=beyond,
            )

    release = account.within_share(charge, beyond_share)
    made = release.statement.ledger["release_index"]
    options.save(release, out, fix=account.again(made, new=new_ledger))
    if because:
        console.print_choice(planned.model, because)
    account.print_charge(charged, budget, made, repeated=release.repeated, auto=auto)
    console.print_statement(release.statement)
    console.print_ledger(charged)
    _print_next(release, out)


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
