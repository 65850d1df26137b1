"""``hushrec fit``: make a public release from private ratings or from a released data set."""

from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from hushrec.cli import charges, console, options
from hushrec.curator import fit as library
from hushrec.curator.admit import Accept, require_writable
from hushrec.curator.charging import Recipe
from hushrec.curator.stopped_fits import StoppedFits
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.load import Where, load
from hushrec.data.reading import Reading
from hushrec.documents.document import Block, Commands, Paragraph
from hushrec.errors import ConfigError, ReleaseError
from hushrec.files import refusing
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.released_data import ReleasedData, recognised
from hushrec.release.artefact import Release
from hushrec.release.kinds import learns_tastes, remedy


@options.of(library.fit)
def fit(
    ratings: Annotated[
        list[str],
        "The private ratings or interactions, as for hushrec check, of all weeks so far; or a released data "
        "set, which needs no domain, budget or ledger.",
    ],
    *,
    out: options.Out,
    domain: Domain | None = None,
    budget: library.Spending | None = None,
    ledger: str | None = None,
    new_ledger: charges.NewLedger = False,
    sums: str | None,
    accept: Collection[Accept],
    prior: Release | None,
    model: Model | None,
    where: Where | Path = "auto",
    reading: Reading,
    **others: Any,
) -> None:
    """Make a release from private ratings, or from released data."""
    require_writable(out, ".safetensors")
    if where != "spark" and len(ratings) == 1 and recognised(Path(ratings[0])):
        if domain or budget or ledger or prior:
            raise ConfigError(
                f"{ratings[0]} is a released data set: models of it cost nothing and take no options but "
                "--model, --set and -o"
            )
        _fit_released(Path(ratings[0]), model, out)
        return
    if domain is None or budget is None or ledger is None:
        raise ConfigError(
            "private ratings need --domain, --epsilon, --delta, --unit, --adjacency and --ledger; a released "
            f"data set needs none of them, but {ratings[0]} is not one, or is damaged: try hushrec show"
        )
    facts = charges.facts(domain, reading, spark=where == "spark")

    def plan(stopped: StoppedFits) -> Recipe[Release]:
        return library.recipe(facts, model, budget, prior, stopped, **others)

    def people(recipe: Recipe[Release]) -> AnyPeople:
        whole = where == "auto" and recipe.footprint and recipe.footprint.gathered
        found: AnyPeople = load(ratings, domain, reading, where="memory" if whole else where)
        return found

    terms: Any = {"ledger": ledger, "new_ledger": new_ledger, "sums": sums, "accept": accept}
    with charges.charge(plan, people, options.source_name(ratings), out=out, **terms) as made:
        chosen = [f"Model: {made.result.model}, because {made.because}."] if made.because else []
        _print_made(made.result, out, *chosen, *made.lines)


def _fit_released(source: Path, model: Model | None, out: Path) -> None:
    """Make a release from a released data set, which is paid for already."""
    with console.working("reading the data set"):
        data = ReleasedData.open(source)
    with console.working("fitting the model"):
        release = library.fit_released(data, model)
    with refusing(out, "written", ReleaseError, "choose another file with -o"):
        release.save(out)
    _print_made(release, out)


def _print_made(release: Release, out: Path, *lines: str) -> None:
    """Say first what the lists are worth, then what they may reveal, and what comes next."""
    example = "--rating ITEM=STARS" if release.feedback == "ratings" else "--item ITEM"
    helps = "" if release.personal else remedy(release.feedback, another=not learns_tastes(release.settings))
    place = quote(str(out))
    blocks: list[Block] = [
        Paragraph(f"Wrote {out}. {release.taste}"),
        *([Paragraph(helps)] if helps else []),
        *release.statement.summary(),
        *map(Paragraph, lines),
        Commands("The whole statement", [f"hushrec show {place}"]),
        Commands("Next", [f"hushrec recommend {place} {example}"]),
    ]
    console.show_blocks(blocks)
