"""``hushrec randomize``: a data set of randomized ratings, charged to a ledger."""

from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from hushrec import models
from hushrec.cli import charges, console, options
from hushrec.curator import randomize as library
from hushrec.curator.admit import Accept, require_writable
from hushrec.curator.fit import fit
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading
from hushrec.documents.document import Block, Commands, Paragraph
from hushrec.documents.sentences import answers_section
from hushrec.errors import ConfigError
from hushrec.models.du_leighton_patel.features import read
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.released_data import ReleasedData, require_lines
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.release.artefact import Release


@options.of(fit)
def randomize(
    ratings: Annotated[list[str] | None, "The private ratings, as for hushrec check."] = None,
    *,
    domain: Domain,
    method: Annotated[
        str,
        "randomized-response randomizes every cell of a user's row; distance-based replaces items by others, "
        "mostly near ones.",
    ],
    settings: Annotated[
        list[str] | None,
        "A setting, as hushrec models METHOD lists them, such as sample=100; groups=FILE takes the groups of "
        "distance-based from a public table of features or a release. May be repeated.",
    ] = None,
    out: Annotated[Path | None, "The data set to write, .parquet or .csv."] = None,
    budget: Budget | None,
    ledger: str | None = None,
    new_ledger: charges.NewLedger = False,
    sums: str | None,
    accept: Collection[Accept],
    plan: Annotated[bool, "Show the cost, and read no ratings."] = False,
    reading: Reading,
) -> None:
    """Release a randomized data set, charged to a ledger."""
    chosen = _method(method, settings, domain)
    if plan:
        _print_plan(chosen, library.data_plan(domain, chosen, budget), domain)
        return
    if not (ratings and ledger and out):
        raise ConfigError(
            "a release needs RATINGS, --ledger and -o; to see only the cost, give --plan instead"
        )
    require_writable(out, ".parquet", ".csv")
    require_lines(out, domain.items)
    facts = charges.facts(domain, reading)
    with charges.charge(
        lambda _: library.data_recipe(facts, chosen, budget),
        lambda _: load(ratings, domain, reading),
        options.source_name(ratings),
        out=out,
        ledger=ledger,
        new_ledger=new_ledger,
        sums=sums,
        accept=accept,
    ) as made:
        _print_made(made.result, out, made.lines)


def _method(name: str, settings: list[str] | None, domain: Domain) -> Method:
    """The method of a name and of what ``--set`` says; its groups may be those of a file."""
    kind: Any = models.class_of(name, models.METHODS)
    chosen = options.settings_of(settings)
    groups = chosen.get("groups")
    if isinstance(groups, str) and groups != "ratings":
        release = groups.endswith(".safetensors")
        chosen["groups"] = Release.open(groups) if release else read(Path(groups), domain)
    return kind(**chosen)  # type: ignore[no-any-return]


def _print_made(data: ReleasedData, out: Path, lines: list[str]) -> None:
    statement, following = (
        data.statement,
        f"hushrec fit {quote(str(out))} --model item-knn -o model.safetensors",
    )
    blocks: list[Block] = [Paragraph(f"Wrote {out}, with its statement next to it."), *statement.first()]
    blocks += (block for block in statement.plain() if isinstance(block, Paragraph))
    console.show_blocks([*blocks, *map(Paragraph, lines), Commands("Next", [following])])


def _print_plan(method: Method, planned: Plan, domain: Domain) -> None:
    """Print a plan, with what one answer reveals."""
    local, beside, groups = method.local(planned, domain), method.beside(), method.groups_in(domain)
    extra: list[Block] = [answers_section(local, planned.epsilon)] if local else []
    noted = [groups, str(beside or "")]
    extra += [Paragraph(f"{line[0].upper()}{line[1:]}.") for line in noted if line]
    console.show(planned.document(extra))
