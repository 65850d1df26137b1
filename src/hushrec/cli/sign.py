"""``hushrec sign``: the owner's signature of a release."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, keys, options


def sign(
    release: Annotated[Path, typer.Argument(help="A release.")],
    key: Annotated[Path, typer.Option("--key", help="The owner's private key.")],
    version: Annotated[
        int | None,
        typer.Option(
            min=0, help="Number of the release, which may only grow; by default its entry in the ledger."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Sign a release, so that users can tell whose it is.

    Writes NAME.dsse.json beside it, which users check by the owner's key file. The passphrase of the key is
    asked for, or taken from HUSHREC_KEY_PASSPHRASE.
    """
    from hushrec.curator.sign import sign
    from hushrec.release.artefact import Release

    written = sign(release, key, passphrase=keys.passphrase(key), version=version)
    opened = Release.open(release)
    if opened.statement.caveat:
        console.err().print(
            f"What you signed, the statement included, says: {opened.statement.caveat}", soft_wrap=True
        )
    if json:
        console.print_json({"file": written.name, **opened.signature.to_json()})
        return
    console.out().print(
        f"Wrote {written}: release number {opened.signature.version:,}. Publish it beside {release.name}",
        soft_wrap=True,
    )
