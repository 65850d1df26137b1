"""``hushrec ledger verify``: whether releases are as a history recorded them, or known to a ledger."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console
from hushrec.uris import is_address

_SQLITE = b"SQLite format 3\0"


def verify(
    history: Annotated[
        str,
        typer.Argument(
            metavar="HISTORY|LEDGER",
            help="The history, as hushrec ledger export writes it, or the ledger itself: its file, or "
            "postgresql://host/database[?ledger=NAME].",
        ),
    ],
    releases: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RELEASE", help="Releases or released data sets of it; of a ledger, also folders."
        ),
    ] = None,
) -> None:
    """Check an exported history, or a ledger, by its releases.

    Of a history: its hashes, and that a release is the one that it records. Of a ledger: that it knows of its
    releases; one that was restored from a backup does not.
    """
    from hushrec.curator.verify import verify, verify_ledger

    screen = console.out()
    if _is_ledger(history):
        ledger, heads = verify_ledger(history, releases or [])
        screen.print(
            f"{ledger.place}: knows all {len(heads):,} releases of it, the latest at record "
            f"{max(head.seq for head in heads)} of {ledger.head.seq}",
            soft_wrap=True,
        )
        return
    path = Path(history)
    recorded = [verify(path, release) for release in releases or (None,)]
    screen.print(
        f"{history}: {recorded[0].records:,} records of ledger {recorded[0].ledger}, all as they were "
        "hashed.",
        soft_wrap=True,
    )
    for release, one in zip(releases or (), recorded, strict=False):
        most = "" if one.max_releases is None else f" of at most {one.max_releases:,}"
        screen.print(
            f"{release}: release {(one.release_index or 0) + 1:,}{most} in this history, byte for byte as it "
            "was recorded.",
            soft_wrap=True,
        )


def _is_ledger(named: str) -> bool:
    """Whether an argument is a ledger: the address of one, or a file of SQLite."""
    if is_address(named):
        return True
    try:
        with Path(named).open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
