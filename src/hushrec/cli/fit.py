"""``hushrec fit``: make a public release from private ratings or from a released data set."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import charges, console, options
from hushrec.cli.options import Given, Where, grouped
from hushrec.errors import ConfigError, ReleaseError

if TYPE_CHECKING:
    from hushrec.curator.charging import Recipe
    from hushrec.curator.fit import Spending
    from hushrec.curator.stopped_fits import StoppedFits
    from hushrec.data.anywhere import AnyPeople
    from hushrec.data.domain import Domain
    from hushrec.models.base import Model
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.release.artefact import Release


@grouped
def fit(
    ctx: typer.Context,
    ratings: Annotated[
        list[str],
        typer.Argument(
            help="The private ratings, in files, patterns or folders: "
            "user_id, item_id, rating[, timestamp][, epsilon], or interactions: "
            "user_id, item_id[, count][, …]; or a folder of people; or a released data set, which needs no "
            "domain, budget or ledger."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The release to write.")],
    *,
    domain: Annotated[Path | None, typer.Option(help="The domain, as hushrec domain writes it.")] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E|auto",
            help="ε, the largest privacy loss; auto takes a share of what the ledger has left (half for the "
            "first of several), with the ledger's δ, unit and adjacency.",
        ),
    ] = None,
    terms: options.BudgetOptions,
    charge: charges.Charge,
    prior: Path | None = None,
    fresh: Annotated[bool, typer.Option("--fresh")] = False,
    without: Annotated[list[int] | None, typer.Option(metavar="RELEASE")] = None,
    model: options.ModelOptions,
    where: Where = "auto",
    source: Given,
) -> None:
    """Make a release from private ratings, or from released data."""
    from hushrec.curator.admit import require_writable
    from hushrec.curator.fit import recipe
    from hushrec.data.domain import Domain
    from hushrec.models.du_leighton_patel.released_data import recognised
    from hushrec.release.artefact import Release

    named = model.build()
    if where != "spark" and len(ratings) == 1 and recognised(Path(ratings[0])):
        if options.others(ctx, "ratings model settings out"):
            raise ConfigError(
                f"{ratings[0]} is a released data set: models of it cost nothing and take no options but "
                "--model, --set and -o"
            )
        _fit_released(Path(ratings[0]), named, out)
        return
    declared = None if domain is None else Domain.open(domain)
    spending = _spending(declared, epsilon, terms)
    if declared is None or charge.ledger is None or not spending:
        raise ConfigError(
            "private ratings need --domain, --epsilon, --delta, --unit, --adjacency and --ledger; a released "
            f"data set needs none of them, but {ratings[0]} is not one, or is damaged: try hushrec show"
        )
    require_writable(out, ".safetensors")
    public = None if prior is None else Release.open(prior)
    facts = charges.facts(declared, source.reading.columns, where == "spark")

    def plan(stopped: "StoppedFits") -> "Recipe[Release]":
        return recipe(facts, named, spending, public, stopped, fresh=fresh, without=without or ())

    def load(recipe: "Recipe[Release]") -> "AnyPeople":
        if spending == "auto":
            _require_ledgers(recipe.plan.budget, **asdict(terms))
        whole = recipe.footprint and recipe.footprint.gathered
        people: AnyPeople = source.load(ratings, declared, "memory" if whole and where == "auto" else where)
        return people

    with charges.charged(charge, out, plan, load, source.described(ratings)) as made:
        release = made.result
        chosen = [f"Model: {release.model}, because {made.because}."] if made.because else []
        _print_made(release, out, *chosen, *made.lines)


def _spending(
    domain: "Domain | None", epsilon: str | None, terms: options.BudgetOptions
) -> "Spending | None":
    """The budget that the options name, or a share of the ledger's."""
    if epsilon == "auto":
        return "auto"
    return terms.with_epsilon(options.number(epsilon, "--epsilon"), options.usual_delta(domain))


def _require_ledgers(budget: "Budget", **named: object) -> None:
    """Refuse a δ, unit or adjacency that differs from the ledger's when a share of it is taken."""
    for name, value in named.items():
        if value not in (None, getattr(budget, name)):
            raise ConfigError(
                f"--{name} {value} is not the ledger's, which is {getattr(budget, name)}; leave it out, as "
                "--epsilon auto takes δ, unit and adjacency from the ledger"
            )


def _fit_released(source: Path, model: "Model | None", out: Path) -> None:
    """A release made from a released data set, which is paid for already."""
    from hushrec.curator.admit import require_writable
    from hushrec.curator.fit import fit_released
    from hushrec.files import refusing
    from hushrec.models.du_leighton_patel.released_data import ReleasedData

    require_writable(out, ".safetensors")
    with console.working("reading the data set"):
        data = ReleasedData.open(source)
    with console.working("fitting the model"):
        release = fit_released(data, model)
    with refusing(out, "written", ReleaseError, "choose another file with -o"):
        release.save(out)
    _print_made(release, out)


def _print_made(release: "Release", out: Path, *lines: str) -> None:
    """Say first what the lists are worth, then what they may reveal, and what comes next."""
    from hushrec.documents.document import Block, Commands, Paragraph
    from hushrec.release.kinds import learns_tastes, remedy

    statement = release.statement
    example = "--rating ITEM=STARS" if release.feedback == "ratings" else "--item ITEM"
    helps = "" if release.personal else remedy(release.feedback, another=not learns_tastes(release.settings))
    place = quote(str(out))
    blocks: list[Block] = [
        Paragraph(f"Wrote {out}. {release.taste}"),
        *([Paragraph(helps)] if helps else []),
        *statement.summary(),
        *map(Paragraph, lines),
        Commands("The whole statement", [f"hushrec show {place}"]),
        Commands("Next", [f"hushrec recommend {place} {example}"]),
    ]
    console.show_blocks(blocks)
