"""``hushrec card``: one page about a release, for whoever answers for privacy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console
from hushrec.cli.verify import checked, sha256
from hushrec.errors import ConfigError, ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hushrec.pages.cards.subject import Subject

_DATA_SETS = ".parquet", ".csv"


def card(
    release: Annotated[Path, typer.Argument(help="A release, or a released data set.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The card: a name in .html or .md.")],
    audit: Annotated[
        Path | None, typer.Option(help="What hushrec audit --json printed, of the release's model and ε.")
    ] = None,
    accuracy: Annotated[
        Path | None,
        typer.Option(
            help="What hushrec evaluate --json printed, of this release. NOT private: the card says so."
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The owner's public key, to check the signature by.")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="The ledger's history, as hushrec ledger export writes it: checked.")
    ] = None,
) -> None:
    """Write a release's card: promise, evidence, checklist."""
    from hushrec.pages.card import Given, html, markdown
    from hushrec.pages.card import card as made_of

    if out.suffix not in (".html", ".md"):
        raise ConfigError(f"the card is a page of HTML or Markdown; name it {out.stem}.html or {out.stem}.md")
    subject = _data(release, key) if release.suffix in _DATA_SETS else _model(release, key)
    given = Given(
        audit=(audit.name, _text(audit)) if audit else None,
        accuracy=(accuracy.name, _text(accuracy)) if accuracy else None,
        history=_recorded(history, release) if history else "",
        options=_options(subject),
    )
    page = made_of(subject, given)
    out.write_text(html(page) if out.suffix == ".html" else markdown(page), encoding="utf-8")
    console.out().print(f"Wrote {out}", soft_wrap=True)


def _model(path: Path, key: Path | None) -> "Subject":
    from hushrec.pages.cards.subject import Subject
    from hushrec.release.artefact import Release

    return Subject.of(Release.open(path, key=key), path.name, sha256(path))


def _data(path: Path, key: Path | None) -> "Subject":
    from hushrec.local.released import ReleasedData
    from hushrec.pages.cards.subject import Subject, on_scale

    if key is not None:
        raise ConfigError("data sets are not signed; leave out --key")
    opened = ReleasedData.open(path)
    domain = opened.ratings.domain
    return Subject(
        sort="data set",
        maker=opened.method,
        settings=opened.settings,
        n_items=domain.n_items,
        given=on_scale(domain.scale),
        holds=f"{opened.n_people:,} people, {opened.ratings.n_ratings:,} cells",
        statement=opened.statement,
        named=path.name,
        sha256=sha256(path),
    )


def _recorded(history: Path, release: Path) -> str:
    """What the check of a ledger's history found; an altered one is refused."""
    found = checked(history, release)
    return (
        f"{history.name} holds {found.records:,} records, all as they were hashed, and records this file, "
        f"byte for byte, as release {(found.release_index or 0) + 1}."
    )


def _options(subject: "Subject") -> "tuple[tuple[str, str], ...] | None":
    """The settings that are not the model's defaults; None for what is unknown.

    A name is looked up among hushrec's own alone: a file must not have a module of its choice imported.
    """
    from hushrec import registry

    if subject.maker not in (known := (*registry.MODELS, *registry.PUBLISHED_MODELS)):
        return None
    try:
        default = registry.class_of(subject.maker, known)().settings()
        return tuple((name, str(value)) for name, value in _changed(subject.settings, default))
    except (ConfigError, KeyError, TypeError):  # a file may name anything as a setting
        return None


def _changed(
    settings: "Mapping[str, Any]", default: "Mapping[str, Any]", outer: str = ""
) -> "Iterator[tuple[str, Any]]":
    for name, value in settings.items():
        usual = default[name]
        if isinstance(value, dict) and isinstance(usual, dict):
            yield from _changed(value, usual, f"{outer}{name}.")
        elif value != usual:
            yield f"{outer}{name}", value


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReleaseError(
            f"{path} cannot be read as text; give what the command printed with --json"
        ) from None
