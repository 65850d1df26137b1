"""``hushrec keys``: the owner's keys, the key file that users pin, and signatures of releases."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec import files
from hushrec.cli import console, options
from hushrec.cli.groups import Group
from hushrec.errors import ReleaseError

if TYPE_CHECKING:
    from hushrec.release.signing.keys import PrivateKey

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Make, show or rotate the owner's keys, and sign by them.",
)
PASSPHRASE = "HUSHREC_KEY_PASSPHRASE"
"""The variable that holds the passphrase of a private key."""
_LARGEST = 1 << 20
"""Bytes in a key or key file."""


@dataclass(frozen=True, kw_only=True)
class Pinned(Group):
    """The key file and the files that check a signature."""

    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="PUB", help="The owner's key file: check the signature by it."),
    ] = None
    seen: Annotated[
        Path | None,
        typer.Option(
            "--seen",
            metavar="FILE",
            help="Where the latest number is kept, so that older releases are refused; by default next "
            "to the key file, as PUB.seen.json.",
        ),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """As the library takes them."""
        beside = self.key and self.key.with_name(f"{self.key.name}.seen.json")
        return {"key": self.key, "seen": self.seen or beside}


@app.command()
def new(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The private key to write, .key; the public one is .pub.")
    ],
) -> None:
    """Make a private key and its public key.

    Asks for a passphrase, or takes it from HUSHREC_KEY_PASSPHRASE. Without a terminal and without this
    variable, the private key is not encrypted.
    """
    from hushrec.release.signing.keys import PrivateKey, grouped

    options.require_suffix(out, "-o", ".key")
    public = out.with_suffix(".pub")
    for path in (out, public):
        if path.exists():
            raise ReleaseError(f"{path} exists, and a key is never replaced; choose another name with -o")
    passphrase = os.environ.get(PASSPHRASE, "")
    if not passphrase and sys.stdin.isatty():
        passphrase = typer.prompt(
            "Passphrase, empty for none",
            default="",
            show_default=False,
            hide_input=True,
            confirmation_prompt=True,
            err=True,
        )
    key = PrivateKey.new()
    fix = "choose another name with -o"
    files.write(out, key.to_pem(passphrase), ReleaseError, fix=fix, mode=0o600, new=True)
    files.write(public, key.public.pem, ReleaseError, fix=fix, mode=0o644, new=True)
    protected = "encrypted by your passphrase" if passphrase else "not encrypted"
    console.out().print(
        f"Wrote {out}, {protected}: keep it, and a copy of it, where only you can read it", soft_wrap=True
    )
    console.out().print(f"Wrote {public}: publish it, with its fingerprint", soft_wrap=True)
    console.out().print(f"Fingerprint: {grouped(key.public.id)}", soft_wrap=True)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A key file, or a private key.")],
    json: options.Json = False,
) -> None:
    """Show the fingerprint of a key, and the rotations of a key file."""
    from hushrec.release.signing.key_file import KeyFile
    from hushrec.release.signing.keys import grouped

    text = _read(file)
    private = "PRIVATE KEY-----" in text
    keys = KeyFile((opened(file).public,)) if private else KeyFile.from_text(text)
    if json:
        listed = zip(keys.keys, keys.starts, strict=True)
        entries = [{"key_id": key.id, "from_version": start} for key, start in listed]
        console.print_json({"file": file.name, "private": private, "keys": entries})
        return
    kind = "private key, known to its owner alone" if private else "key file"
    console.out().print(f"{file.name}: {kind}", soft_wrap=True)
    console.out().print(f"Fingerprint: {grouped(keys.pinned.id)}", soft_wrap=True)
    for key, start in zip(keys.keys[1:], keys.starts[1:], strict=True):
        console.out().print(f"From release number {start:,} on: {grouped(key.id)}", soft_wrap=True)


@app.command()
def rotate(
    file: Annotated[Path, typer.Argument(help="The key file that users pin; a line is added to it.")],
    new: Annotated[Path, typer.Argument(help="The public key that replaces the present one.")],
    key: Annotated[Path, typer.Option("--key", help="The private key in use, which signs the rotation.")],
    from_version: Annotated[
        int, typer.Option(min=0, help="Number of the first release that the other key signs.")
    ],
) -> None:
    """Replace the owner's key by another one, for users who pinned the first.

    Users who fetch the key file again accept the other key from that release on, and refuse the old key's
    signatures of it and of later releases.
    """
    from hushrec.release.signing.key_file import KeyFile
    from hushrec.release.signing.keys import PublicKey, grouped

    keys = KeyFile.from_text(_read(file))
    keys = keys.rotated(opened(key), PublicKey.from_pem(_read(new)), from_version)
    files.write(file, keys.to_text(), ReleaseError, fix="give a key file that you may replace")
    console.out().print(
        f"{file}: from release number {from_version:,} on, {grouped(keys.keys[-1].id)}; publish this file in "
        "place of the one before",
        soft_wrap=True,
    )


@app.command()
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

    Writes NAME.dsse.json next to it, which users check by the owner's key file. The passphrase of the key is
    asked for, or taken from HUSHREC_KEY_PASSPHRASE.
    """
    from hushrec.curator.sign import sign
    from hushrec.release.artefact import Release

    written = sign(release, key, passphrase=passphrase(key), version=version)
    signed = Release.open(release)
    if not signed.statement.private:
        console.err().print(
            f"What you signed, the statement included, says: {signed.statement.sentence}", soft_wrap=True
        )
    if json:
        console.print_json({"file": written.name, **signed.signature.to_json()})
        return
    console.out().print(
        f"Wrote {written}: release number {signed.signature.version:,}. Publish it next to {release.name}",
        soft_wrap=True,
    )


def opened(path: Path) -> "PrivateKey":
    """A private key; its passphrase is taken from the environment, or asked for."""
    from hushrec.release.signing.keys import PrivateKey

    return PrivateKey.from_pem(_read(path), passphrase(path))


def passphrase(path: Path) -> str:
    """The passphrase of a private key, "" if it has none."""
    from hushrec.release.signing.keys import is_encrypted

    mode = path.stat().st_mode & 0o777 if path.exists() and os.name == "posix" else 0
    if mode & 0o077:
        console.err().print(
            f"Users other than the owner can access {path} (mode {mode:o}): chmod 600 {path}", soft_wrap=True
        )
    if not is_encrypted(_read(path)):
        return ""
    secret = os.environ.get(PASSPHRASE, "")
    if not secret and sys.stdin.isatty():
        secret = str(typer.prompt("Passphrase", hide_input=True, err=True))
    return secret


def _read(path: Path) -> str:
    return files.read_text(path, ReleaseError, fix="name a key or a key file", largest=_LARGEST)
