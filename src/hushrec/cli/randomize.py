"""``hushrec randomize``: a data set of randomized ratings, charged to a ledger, or of many devices."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import charges, console, options
from hushrec.cli.options import Given, grouped
from hushrec.errors import ConfigError, ReleaseError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.models.du_leighton_patel.method import Method
    from hushrec.models.du_leighton_patel.released_data import ReleasedData
    from hushrec.privacy.accounting.plan import Plan


@grouped
def randomize(
    ctx: typer.Context,
    ratings: Annotated[
        list[str] | None,
        typer.Argument(
            help="The private ratings, in files, patterns or folders: "
            "user_id, item_id, rating[, timestamp]. With --collect, the reports."
        ),
    ] = None,
    *,
    domain: Annotated[Path | None, typer.Option(help="The domain, as hushrec domain writes it.")] = None,
    method: options.MethodOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The data set to write, .parquet or .csv.")
    ] = None,
    epsilon: float | None = None,
    terms: options.BudgetOptions,
    charge: charges.Charge,
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
    source: Given,
) -> None:
    """Release a randomized data set, charged to a ledger."""
    if collect:
        because = "--collect combines data sets that are randomized and charged already"
        options.require_only(ctx, because, "collect ratings out")
        _collect(ratings, out)
        return
    if domain is None or method.method is None:
        raise ConfigError("give --domain and --method; to combine data sets of many devices, give --collect")
    from hushrec.curator.admit import require_writable
    from hushrec.curator.randomize import data_plan, data_recipe
    from hushrec.data.domain import Domain
    from hushrec.models.du_leighton_patel.released_data import require_lines

    if json and not plan:
        raise ConfigError("--json is of the cost alone: give --plan as well, or leave it out")
    declared = Domain.open(domain)
    chosen = method.build(declared)
    budget = terms.with_epsilon(epsilon, "δ = 0 is usual here: a pure ε")
    if plan:
        _print_plan(chosen, data_plan(declared, chosen, budget), declared, json=json)
        return
    if not (ratings and charge.ledger and out):
        raise ConfigError(
            "a release needs RATINGS, --ledger and -o; to see only the cost, give --plan instead"
        )
    records = ratings
    require_writable(out, ".parquet", ".csv")
    require_lines(out, declared.items)
    facts = charges.facts(declared, source.reading.columns)
    following = f"hushrec fit {quote(str(out))} --model item-knn -o model.safetensors"
    written = f"Wrote {out}, with its statement next to it."
    with charges.charged(
        charge,
        out,
        lambda _: data_recipe(facts, chosen, budget),
        lambda _: source.load(records, declared, "memory"),
        source.described(records),
    ) as made:
        _print_made(made.result, following, written, *made.lines)


def _collect(reports: list[str] | None, out: Path | None) -> None:
    """Combine the data sets of many devices into one."""
    from hushrec.curator.admit import require_writable
    from hushrec.files import refusing
    from hushrec.models.du_leighton_patel.released_data import ReleasedData

    if not (reports and out):
        raise ConfigError("--collect needs the data sets to combine, and -o")
    require_writable(out, ".parquet", ".csv")
    with console.working("reading reports"):
        together = ReleasedData.collect(ReleasedData.open(path) for path in reports)
    with refusing(out, "written", ReleaseError, "choose another file with -o"):
        together.save(out)
    following = f"hushrec show {quote(str(out))}"
    _print_made(together, following, f"Wrote {out}: {together.n_people:,} people.")


def _print_made(data: "ReleasedData", following: str, written: str, *lines: str) -> None:
    from hushrec.documents.document import Block, Commands, Paragraph

    statement = data.statement
    blocks: list[Block] = [Paragraph(written), *statement.first()]
    blocks += (block for block in statement.plain() if isinstance(block, Paragraph))
    blocks += map(Paragraph, lines)
    console.show_blocks([*blocks, Commands("Next", [following])])


def _print_plan(method: "Method", planned: "Plan", domain: "Domain", *, json: bool) -> None:
    """Print a plan, with what one answer reveals."""
    from dataclasses import asdict, replace

    from hushrec.documents.document import Block, Paragraph
    from hushrec.documents.sentences import answers_section

    local, beside, groups = method.local(planned, domain), method.beside(), method.groups_in(domain)
    extra: list[Block] = [answers_section(local, planned.epsilon)] if local else []
    noted = [groups, str(beside or "")]
    extra += [Paragraph(f"{line[0].upper()}{line[1:]}.") for line in noted if line]
    document = planned.document(extra)
    more = {
        "local": asdict(local) if local else None,
        "groups": groups,
        "beside": beside and beside.to_json(),
    }
    console.show(replace(document, facts={**document.facts, **more}), json=json)
