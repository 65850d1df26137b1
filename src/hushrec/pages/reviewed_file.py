"""The file that a card or a statement is of, as a reader sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from hushrec.documents.words import Clause, Said, Words
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement

__all__ = ["ReviewedFile", "on_scale"]


@dataclass(frozen=True, slots=True)
class ReviewedFile:
    """A reviewed file, from public facts alone.

    Attributes:
        sort: ``release`` or ``data_set``.
        maker: name of the model or method.
        settings: of the model or method.
        n_items: number of items of the declared catalogue.
        gives: what people give, as the domain declares it.
        holds: the people who are listed, or the rows of a data set; None if there are none.
        taste: says what is left of people's tastes; None for a data set.
        named: name of the file, if there is one.
        sha256: of the file's bytes, hex, if there is one.
        signed_by: the public key by which its signature was checked; empty if it was not.
    """

    sort: str
    maker: str
    settings: Mapping[str, Any]
    n_items: int
    gives: Clause
    holds: Clause | None
    statement: Statement
    taste: Callable[[Words], Said] | None = None
    named: str = ""
    sha256: str = ""
    signed_by: str = ""

    @classmethod
    def of(cls, release: Release, named: str = "", sha256: str = "") -> Self:
        """Describe a release.

        Args:
            named: name of its file.
            sha256: of the file's bytes.
        """
        return cls(
            sort="release",
            maker=release.model,
            settings=release.settings,
            n_items=len(release.items),
            gives=release.gives,
            holds=Clause("card.about.listed", {"n": len(release.users)}) if release.users else None,
            statement=release.statement,
            taste=release.tastes,
            named=named,
            sha256=sha256,
            signed_by=release.signed_by,
        )

    @property
    def promises(self) -> bool:
        """Whether the file promises anything, be it on a condition."""
        return not self.statement.unprotected

    @property
    def lists_people(self) -> bool:
        """Whether a release has a row for each person on a public list."""
        return self.sort == "release" and self.holds is not None

    def about(self, words: Words) -> Said:
        """Say what the file is, in one line."""
        items, gives = words("card.about.items", n=self.n_items), words.clause(self.gives)
        holds = words.clause(self.holds) if self.holds else ""
        if self.sort == "data_set":
            return words.join([words("card.about.data_set", maker=self.maker), holds, items, gives], ", ")
        return words.join([self.maker, items, holds, gives], ", ")


def on_scale(scale: tuple[float, float, float]) -> Clause:
    """A scale of ratings."""
    return Clause("card.about.scale", dict(zip(("lo", "hi", "step"), scale, strict=True)))
