"""The file that a card or a statement is of, as a reader sees it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hushrec.release.artefact import Release
from hushrec.release.signing.signature import UNSIGNED, Signature
from hushrec.release.statement import Statement

__all__ = ["Subject", "on_scale"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a file is, from public facts alone.

    Attributes:
        sort: "release", or "data set".
        maker: name of the model or method.
        settings: of the model or method.
        n_items: number of items of the declared catalogue.
        given: what people give, as the domain declares it.
        holds: what else a file of this sort holds, such as people who are listed; empty if nothing.
        taste: what is left of people's tastes, as a sentence; empty for a data set.
        named: name of the file, if there is one.
        sha256: of the file's bytes, hex, if there is one.
        signature: whether the file is signed, and by whom.
    """

    sort: str
    maker: str
    settings: Mapping[str, Any]
    n_items: int
    given: str
    holds: str
    statement: Statement
    taste: str = ""
    named: str = ""
    sha256: str = ""
    signature: Signature = UNSIGNED

    @classmethod
    def of(cls, release: Release, named: str = "", sha256: str = "") -> Self:
        """What a release is.

        Args:
            named: name of its file.
            sha256: of the file's bytes.
        """
        return cls(
            sort="release",
            maker=release.model,
            settings=release.config,
            n_items=len(release.items),
            given=_given(release),
            holds=f"{len(release.users):,} people listed" if release.users else "",
            statement=release.statement,
            taste=release.taste,
            named=named,
            sha256=sha256,
            signature=release.signature,
        )

    @property
    def promises(self) -> bool:
        """Whether the file promises anything, be it on a condition."""
        said = self.statement
        return math.isfinite(said.epsilon) and not said.caveat.startswith("NOT PRIVATE")

    @property
    def lists_people(self) -> bool:
        """Whether a release has a row for everybody on a public list."""
        return self.sort == "release" and bool(self.holds)

    @property
    def about(self) -> str:
        """The file in one line."""
        items = f"{self.n_items:,} items"
        if self.sort == "data set":
            parts = f"data set by {self.maker}", self.holds, items, self.given
        else:
            parts = self.maker, items, self.holds, self.given
        return ", ".join(filter(None, parts))


def on_scale(scale: tuple[float, float, float]) -> str:
    """A scale of ratings in words."""
    lo, hi, step = scale
    return f"scale {lo:g} to {hi:g} by {step:g}"


def _given(release: Release) -> str:
    if release.likes is not None and release.scale is not None:
        return f"likes: ratings of at least {release.likes:g} on the {on_scale(release.scale)}"
    if release.scale is not None:
        return on_scale(release.scale)
    return "interactions" if release.counts is None else f"interactions counted up to {release.counts}"
