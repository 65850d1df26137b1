"""``hushrec estimate-crowd``: tell about how large the crowd is, charged to the ledger."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from hushrec.cli import charges, console, options
from hushrec.cli.groups import grouped
from hushrec.cli.sources import Given


@grouped
def estimate_crowd(
    ratings: Annotated[
        list[str],
        typer.Argument(help="The private ratings or interactions, or a packed folder, as for fit."),
    ],
    domain: options.DomainFile,
    ledger: charges.LedgerOfMany,
    out: Annotated[Path, typer.Option("--out", "-o", help="The domain to write, with both numbers.")],
    charge: charges.Charge,
    source: Given,
) -> None:
    """Count users and ratings under noise, for 2 % of the total.

    Only where their rough number is not public: hushrec domain --expected-users
    --expected-records costs nothing. The domain that is written declares both numbers, for plan and fit.
    """
    from hushrec.curator.charging import Request
    from hushrec.curator.choices.estimate_crowd import Counting
    from hushrec.data.domain import Domain
    from hushrec.documents.document import Block, Commands, Paragraph
    from hushrec.documents.measured import table_of
    from hushrec.documents.words import english

    declared = Domain.open(domain)
    request = Request(Counting, ledger=ledger, out=out, **charge.terms())
    with charges.charged(
        request,
        charges.facts(declared, source.reading.columns),
        lambda _: source.load(ratings, declared),
        source.described(ratings),
    ) as (work, estimated):
        users, records = f"{estimated.expected_users:,}", f"{estimated.expected_records:,}"
        blocks: list[Block] = [
            Paragraph(f"Wrote {out}: about {users} users and {records} {estimated.feedback}"),
            Paragraph(work.plan.guarantee.loss(english)),
            table_of(work.plan.measured(), english),
            Paragraph(charges.left(charges.opened(request))),
            Commands("Next", [f"hushrec fit --domain {quote(str(out))} --epsilon auto"]),
        ]
        console.show_blocks(blocks)
