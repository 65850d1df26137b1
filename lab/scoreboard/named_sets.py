"""The domain of a data set, with a crowd that is declared to the next of 1, 2, 5, 10, … people and ratings.

The catalogue is the publisher's range of ids, or the items of the file where ids are not a range.

Privacy: private: a table of ratings is read.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

import hushrec as hr
from lab.experiments import datasets

__all__ = ["NamedSet", "round_near"]


@dataclass(frozen=True)
class NamedSet:
    """A public data set, read once.

    Attributes:
        name: one of ``lab.experiments.datasets.NAMED``.
        folder: of data sets.

    Privacy: private.
    """

    name: str
    folder: Path | None = None

    @cached_property
    def table(self) -> pl.DataFrame:
        """``user, item, rating``."""
        return datasets.table(self.name, self.folder)

    def ratings(self, *, roster: bool = False, described: bool = False, declared: bool = True) -> hr.People:
        """The ratings under a domain of the set.

        Args:
            roster: whether the users are a public list.
            described: whether the publisher's titles and genres belong to the domain.
            declared: whether a crowd is declared, or the bound on users alone.
        """
        ratings: hr.People = hr.load(self.table, self._domain(roster, described, declared))
        return ratings

    def _domain(self, roster: bool, described: bool, declared: bool) -> hr.Domain:
        known = dict(datasets.NAMED[self.name].frame)
        if ends := known.pop("items", None):
            items = [str(item) for item in range(ends[0], ends[1] + 1)]
        else:
            items = sorted(self.table["item"].unique())
        users = sorted(self.table["user"].unique())
        return hr.Domain(
            items,
            max_per_user=len(items),
            expected_users=round_near(len(users)) if declared else None,
            expected_records=round_near(self.table.height) if declared else None,
            users=users if roster else None,
            **known,
            **(self._described(set(items)) if described else {}),
        )

    def _described(self, items: set[str]) -> dict[str, Any]:
        """Titles and features of the items that the publisher lists."""
        said = hr.Domain.from_catalogue(datasets.catalogue(self.name, self.folder), max_users=1)
        told = {"titles": said.titles or (), **(said.features or {})}
        by_id = {
            name: {item: text for item, text in zip(said.items, texts, strict=True) if item in items}
            for name, texts in told.items()
        }
        return {"titles": by_id.pop("titles"), "features": by_id}


def round_near(number: int) -> int:
    """The nearest of 1, 2, 5, 10, … by ratio: what one would say of a number that is about known."""
    steps: list[int] = [n * 10**k for k in range(19) for n in (1, 2, 5)]
    return min(steps, key=lambda step: abs(math.log(step / max(number, 1))))
