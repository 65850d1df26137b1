"""The public domain: what everybody may know before any rating is opened.

A plan sees a domain and nothing else, so every size and every range that reaches a release comes from here.
None of it is ever inferred from ratings: a catalogue read off the ratings already tells that somebody rated
each of its items.
"""

import hashlib
import json
import math
import operator
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hushrec.arrays import Bytes, Floats
from hushrec.errors import DomainError

MAX_ID_BYTES = 256
MAX_LEVELS = 256

__all__ = ["MAX_ID_BYTES", "MAX_LEVELS", "Domain", "Scale"]


class Scale(NamedTuple):
    """The rating scale {lo, lo + step, …, hi}.

    Attributes:
        lo: the lowest rating.
        hi: the highest rating.
        step: the distance between neighbouring ratings.

    Privacy: public.
    """

    lo: float
    hi: float
    step: float

    @property
    def levels(self) -> int:
        """Number of different ratings, (hi − lo)/step + 1."""
        return round(self.span / self.step) + 1

    @property
    def mid(self) -> float:
        """Middle of the scale, (lo + hi)/2: ratings shifted by it have the smallest largest size."""
        return (self.lo + self.hi) / 2

    @property
    def span(self) -> float:
        """Width of the scale, hi − lo."""
        return self.hi - self.lo

    def nearest(self, ratings: Floats) -> Bytes:
        """Number of steps above ``lo`` of the nearest rating on the scale; halves go up.

        Args:
            ratings: finite values, any shape, on the rating scale or off it.

        Returns:
            uint8 steps of the same shape; values out of the scale go to its nearer end.

        Privacy: private in, private out.
        """
        steps = np.floor((ratings - self.lo) / self.step + 0.5)
        return np.clip(steps, 0, self.levels - 1).astype(np.uint8)


class Domain(BaseModel):
    """The declared, public frame of a population's ratings.

    Args:
        items: the catalogue: unique ids, strings or integers, in the order that gives items their index.
        scale: ``(lo, hi, step)``; hi − lo must be a whole number of steps, at most 255.
        cap: how many ratings of one user count at most, for the privacy unit ``user``.
        max_users: a public upper bound on the number of users.

    Raises:
        DomainError: a field is missing or wrong.

    Privacy: public. Every field must come from public knowledge, never from the ratings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[str, ...]
    scale: Scale
    cap: int = Field(ge=1)
    max_users: int = Field(ge=1)

    def __init__(
        self,
        items: Iterable[str | int],
        *,
        scale: Sequence[float],
        max_users: int,
        cap: int = 500,
    ) -> None:
        try:
            super().__init__(items=items, scale=scale, cap=cap, max_users=max_users)
        except ValidationError as error:
            raise DomainError(_explain(error)) from None

    @field_validator("items", mode="before")
    @classmethod
    def _unique_ids(cls, items: Any) -> tuple[str, ...]:
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise ValueError("give the item ids as a list, an array or a column")
        ids = tuple(_item_id(item, position) for position, item in enumerate(items))
        if not ids:
            raise ValueError("the catalogue is empty; a domain needs at least one item")
        if len(set(ids)) != len(ids):
            (twice, _), *_ = Counter(ids).most_common(1)
            raise ValueError(f"id {twice!r} occurs more than once; list every item once")
        return ids

    @field_validator("scale")
    @classmethod
    def _whole_steps(cls, scale: Scale) -> Scale:
        lo, hi, step = scale
        if not all(map(math.isfinite, scale)) or hi <= lo or step <= 0:
            raise ValueError(
                f"({lo:g}, {hi:g}, {step:g}) is no scale; give (lo, hi, step), lo < hi, step > 0"
            )
        steps = (hi - lo) / step
        if abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"{hi:g} − {lo:g} is not a whole number of steps of {step:g}")
        if scale.levels > MAX_LEVELS:
            raise ValueError(f"{scale.levels} levels are more than {MAX_LEVELS}; choose a larger step")
        return scale

    @property
    def n_items(self) -> int:
        """Size of the catalogue."""
        return len(self.items)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Index of every item id."""
        return {item: position for position, item in enumerate(self.items)}

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of the canonical JSON: sorted keys, no spaces, UTF-8."""
        text = json.dumps(self._fields(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, one item a line."""
        Path(path).write_text(
            json.dumps(self._fields(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a domain that ``save`` wrote.

        Raises:
            DomainError: the file is missing, is not JSON, or does not describe a domain.
        """
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DomainError(f"{path} cannot be read as a domain: {error}") from None
        expected = set(cls.model_fields)
        if not isinstance(fields, dict) or set(fields) != expected:
            raise DomainError(
                f"{path} is no domain: it must have exactly the fields {', '.join(sorted(expected))}"
            )
        return cls(**fields)

    @classmethod
    def from_catalogue(
        cls,
        path: str | Path,
        *,
        scale: Sequence[float],
        max_users: int,
        cap: int = 500,
        column: str | None = None,
    ) -> Self:
        """A domain whose items are listed in a public file: see ``hushrec.data.catalogue``.

        Args:
            path: CSV, TSV or Parquet with a header, MovieLens ``movies.dat`` or ``u.item``, Netflix
                ``movie_titles.txt``, or a text file with one id a line.
            scale: ``(lo, hi, step)``.
            max_users: a public upper bound on the number of users.
            cap: how many ratings of one user count at most.
            column: the column of the ids in a file with a header; the first one by default.

        Raises:
            DomainError: the file cannot be read as a list of item ids.
        """
        from hushrec.data.catalogue import read_items  # polars takes 0.15 s to import: not for every plan

        return cls(read_items(Path(path), column), scale=scale, max_users=max_users, cap=cap)

    def _fields(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def __repr__(self) -> str:
        lo, hi, step = self.scale
        return (
            f"Domain({self.n_items} items, scale {lo:g} to {hi:g} by {step:g}, "
            f"cap {self.cap}, at most {self.max_users} users)"
        )

    __str__ = __repr__


def _item_id(item: Any, position: int) -> str:
    try:
        if isinstance(item, bool):
            raise TypeError
        text = item if isinstance(item, str) else str(operator.index(item))
    except TypeError:
        raise ValueError(f"ids are strings or integers, not {type(item).__name__} (at {position})") from None
    text = unicodedata.normalize("NFC", text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError(f"the id at position {position} is not valid Unicode") from None
    if not 1 <= size <= MAX_ID_BYTES or "\0" in text:
        raise ValueError(
            f"the id at position {position} must have 1 to {MAX_ID_BYTES} bytes, none of them NUL"
        )
    return text


def _explain(error: ValidationError) -> str:
    """One line a field, in our words instead of pydantic's."""
    lines = []
    for detail in error.errors(include_url=False):
        field = ".".join(map(str, detail["loc"]))
        lines.append(f"{field}: {detail['msg'].removeprefix('Value error, ')}")
    return "wrong domain: " + "; ".join(lines)
