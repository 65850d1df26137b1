"""Which items ``hushrec recommend`` may list: a list of ids, and conditions on public features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import options
from hushrec.cli.groups import Group
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.arrays import Bools, Floats
    from hushrec.data.features import ItemFeatures


@dataclass(frozen=True, kw_only=True)
class Filters(Group):
    """Which items may be listed."""

    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="An item not to recommend; may be repeated.")
    ] = None
    allowed: options.Allowed = None
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE",
            help="Recommend only items with this feature: genres=Drama or year=1994; may be repeated.",
        ),
    ] = None
    features: Annotated[
        Path | None,
        typer.Option(
            help="Public features of items, for --only: a table, or MovieLens' movies.dat or u.item.",
            exists=True,
            dir_okay=False,
        ),
    ] = None

    def ids(self, items: Sequence[str], texts: Mapping[str, Sequence[str]]) -> set[str] | None:
        """The ids that may be listed, or None if all of them.

        Args:
            items: the release's catalogue.
            texts: features that the release itself carries, for conditions without a file.
        """
        if bool(self.only) != (self.features is not None) and not (self.only and texts):
            raise DataError(
                "--only and --features go together, unless the release carries features: --only "
                "genres=Drama --features items.csv"
            )
        left = None
        if self.allowed is not None:
            from hushrec.data.readers.catalogue import read_ids

            left = set(read_ids(self.allowed))
        if self.only:
            from hushrec.data.domain import Domain
            from hushrec.data.features import of_texts, read

            table = read(self.features, Domain(items, max_users=1)) if self.features else of_texts(texts)
            for condition in self.only:
                holds = {
                    item for item, applies in zip(items, _holds(table, condition), strict=True) if applies
                }
                left = holds if left is None else left & holds
        return left


def _holds(features: "ItemFeatures", condition: str) -> "Bools":
    """For which items a condition holds: NAME, a feature that is not 0, or NAME=NUMBER."""
    name, _, text = condition.rpartition("=")
    number: float | None = None
    if condition not in features.names:
        try:
            number = float(text)
        except ValueError:
            name = ""
        if name not in features.names:
            raise DataError(
                f"no feature is called {condition!r}; there are {_some(features.names)}. "
                "Columns of numbers are compared, as in --only year=1994"
            )
    place = features.names.index(condition if number is None else name)
    column: Floats = features.matrix[:, [place]].toarray()[:, 0]
    mask: Bools = column != 0 if number is None else column == number
    return mask


def _some(names: Iterable[str]) -> str:
    first = list(names)[:8]
    return ", ".join(map(repr, first)) + (" and others" if len(first) == 8 else "")
