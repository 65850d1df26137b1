"""``hushrec pilot``: tell about how large the crowd is, charged to the ledger."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import account, console, options, sources


def pilot(
    ratings: Annotated[
        list[str],
        typer.Argument(help="The private ratings or interactions, or a packed folder, as for fit."),
    ],
    domain: options.DomainFile,
    ledger: account.LedgerOfMany,
    out: Annotated[Path, typer.Option("--out", "-o", help="The domain to write, with both numbers.")],
    release_index: options.ReleaseIndex = None,
    accept_dropped: options.AcceptDropped = False,
    accept_users: options.AcceptUsers = False,
    accept_weak: account.AcceptWeak = False,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Count users and ratings under noise, for 2 % of the total.

    Only where nobody knows publicly about how many there are: hushrec domain --expected-users
    --expected-ratings costs nothing. The domain that is written declares both numbers, for plan and fit.
    """
    from hushrec.curator.choices.pilot import pilot as charged
    from hushrec.curator.choices.pilot import pilot_plan
    from hushrec.curator.statements import measured
    from hushrec.data.domain import Domain
    from hushrec.figures import above
    from hushrec.privacy.ledger.ledger import Ledger

    declared, named = Domain.open(domain), sources.named(ratings, query)
    options.require_writable(out, ".json")
    opened = Ledger.open(ledger)
    totals, planned = pilot_plan(declared, opened.total)
    with console.bars():
        private = sources.packed_or_loaded(named, declared, sources.Form(column, format, separator, decimal))
    console.print_confidential(console.names(named), private)

    def charge(_: bool, weak: bool) -> Domain:
        return charged(
            private,
            opened,
            release_index=release_index,
            accept_dropped=accept_dropped,
            accept_users=accept_users,
            accept_weak=weak,
        )

    found = account.confirmed(charge, False, accept_weak)
    if release_index is None:  # others may have charged the ledger since
        mine = (e.release_index for e in opened.entries() if e.key == planned.key(opened.id, e.release_index))
        release_index = max(mine)
    options.save(found, out, fix=account.again(release_index))
    screen = console.out()
    screen.print(console.measurements(measured((totals.users, totals.given), planned), fold=True))
    screen.print()
    screen.print(f"Total: true ε = {above(planned.epsilon)} at δ = {above(planned.budget.delta)}")
    console.print_ledger(opened)
    screen.print(
        f"Wrote {out}: about {found.expected_users:,} users and {found.expected_ratings:,} {found.feedback}. "
        f"Next: hushrec fit --domain {out} --epsilon auto",
        soft_wrap=True,
    )
