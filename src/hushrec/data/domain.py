"""The public domain: what everyone may know before any rating is read.

A plan sees only the domain, so every size and range that reaches a release comes from here. The domain is
never inferred from ratings: a catalogue collected from the ratings already reveals that someone rated each
of its items.
"""

import hashlib
import json
import math
import operator
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from hushrec.arrays import Bytes, Floats
from hushrec.data.privacy_classes import classes
from hushrec.errors import DomainError
from hushrec.figures import above

MAX_ID_BYTES = 256
MAX_VALUES = 256

__all__ = ["MAX_ID_BYTES", "MAX_VALUES", "Domain", "Scale"]


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
    def n_values(self) -> int:
        """Number of distinct ratings, (hi − lo)/step + 1."""
        return round(self.span / self.step) + 1

    @property
    def mid(self) -> float:
        """Middle of the scale, (lo + hi)/2; centring there minimises the largest absolute rating."""
        return (self.lo + self.hi) / 2

    @property
    def span(self) -> float:
        """Width of the scale, hi − lo."""
        return self.hi - self.lo

    @property
    def star(self) -> float:
        """A quarter of the width (one star on a 1-to-5 scale): the unit of constants within algorithms."""
        return self.span / 4

    def nearest(self, ratings: Floats) -> Bytes:
        """Number of steps from ``lo`` to the nearest rating on the scale; halves round up.

        Args:
            ratings: finite values of any shape, on or off the rating scale.

        Returns:
            uint8 steps of the same shape; values outside the scale map to its nearer end.

        Privacy: private in, private out.
        """
        steps = np.floor((ratings - self.lo) / self.step + 0.5)
        return np.clip(steps, 0, self.n_values - 1).astype(np.uint8)


class Domain(BaseModel):
    """The declared public facts about a population's ratings.

    Args:
        items: the catalogue: unique ids, strings or integers; their order gives each item its index.
        scale: ``(lo, hi, step)``; hi − lo must be a whole number of steps, at most 255.
        cap: the most ratings of one user that count, for the privacy unit ``user``.
        max_users: a public upper bound on the number of users.
        users: the roster, if the list of users is public: unique ids, strings or integers, in any order;
            stored in ascending order of their UTF-8 bytes, as in ``Ratings.users``. Only models that publish
            a vector per person need it. Only ratings of people on the roster are read.
        privacy_classes: privacy classes that people choose from, name to ε ≥ 0, such as
            ``{"strict": 0.5, "default": 2.0}``; ratings may then name a class in place of an ε.

    Raises:
        DomainError: a field is missing or wrong.

    Privacy: public. Every field must come from public knowledge, never from the ratings: a roster is a list
    of accounts, not a list of people who have rated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: tuple[str, ...]
    scale: Scale
    cap: int = Field(ge=1)
    max_users: int = Field(ge=1)
    users: tuple[str, ...] | None = None
    privacy_classes: Mapping[str, float] | None = None

    def __init__(
        self,
        items: Iterable[str | int],
        *,
        scale: Sequence[float],
        max_users: int,
        cap: int = 500,
        users: Iterable[str | int] | None = None,
        privacy_classes: Mapping[str, float] | None = None,
    ) -> None:
        try:
            super().__init__(
                items=items,
                scale=scale,
                cap=cap,
                max_users=max_users,
                users=users,
                privacy_classes=privacy_classes,
            )
        except ValidationError as error:
            raise DomainError(_explain(error)) from None

    @field_validator("items", mode="before")
    @classmethod
    def _unique_items(cls, items: Any) -> tuple[str, ...]:
        ids = _ids(items)
        if not ids:
            raise ValueError("the catalogue is empty; a domain needs at least one item")
        if len(set(ids)) != len(ids):
            (twice, _), *_ = Counter(ids).most_common(1)
            raise ValueError(f"id {twice!r} occurs more than once; list every item once")
        return ids

    @field_validator("users", mode="before")
    @classmethod
    def _roster(cls, users: Any, info: ValidationInfo) -> tuple[str, ...] | None:
        # Messages never name a person: a list taken from the ratings by mistake is private.
        if users is None:
            return None
        ids = _ids(users)
        if not ids:
            raise ValueError("the list of people is empty; leave it out if it is not public")
        if len(set(ids)) != len(ids):
            raise ValueError("an id occurs more than once; list every person once, without ratings")
        if len(ids) > info.data.get("max_users", len(ids)):
            raise ValueError(f"{len(ids):,} people are listed, more than max_users; declare a larger bound")
        return tuple(sorted(ids))  # Python compares text by code points, which matches UTF-8 byte order

    @field_validator("privacy_classes", mode="before")
    @classmethod
    def _classes(cls, privacy_classes: Any) -> dict[str, float] | None:
        return None if privacy_classes is None else classes(privacy_classes)

    @field_validator("scale")
    @classmethod
    def _whole_steps(cls, scale: Scale) -> Scale:
        lo, hi, step = scale
        if not all(map(math.isfinite, scale)) or hi <= lo or step <= 0:
            raise ValueError(
                f"({lo:g}, {hi:g}, {step:g}) is not a scale; give (lo, hi, step), lo < hi, step > 0"
            )
        if not 1e-12 <= hi - lo <= 1e12:
            raise ValueError(
                f"the scale's width {hi - lo:g} is not between 1e-12 and 1e12; give the scale in other units"
            )
        steps = (hi - lo) / step
        if abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"{hi:g} − {lo:g} is not a whole number of steps of {step:g}")
        if scale.n_values > MAX_VALUES:
            raise ValueError(f"{scale.n_values} values are more than {MAX_VALUES}; choose a larger step")
        return scale

    @property
    def n_items(self) -> int:
        """Size of the catalogue."""
        return len(self.items)

    @property
    def n_users(self) -> int:
        """Number of people on the roster, 0 without one."""
        return len(self.users or ())

    @cached_property
    def positions(self) -> dict[str, int]:
        """Index of each item id."""
        return {item: position for position, item in enumerate(self.items)}

    def require_roster(self) -> None:
        """Raise an error unless a roster is declared.

        Raises:
            DomainError: the domain has no roster.
        """
        if self.users is None:
            raise DomainError(
                "this model publishes a vector for every person, so the list of people must be public: "
                "declare it with Domain(users=[...]) or hushrec domain --users FILE"
            )

    @cached_property
    def user_positions(self) -> dict[str, int]:
        """Index of each person on the roster; empty without a roster."""
        return {user: position for position, user in enumerate(self.users or ())}

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of the canonical JSON: sorted keys, no spaces, UTF-8, without None fields."""
        text = json.dumps(self._fields(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, one id per line."""
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
        optional = {"users", "privacy_classes"}
        needed = set(cls.model_fields) - optional
        if not isinstance(fields, dict) or set(fields) - optional != needed:
            raise DomainError(
                f"{path} is not a domain: it must have exactly the fields {', '.join(sorted(needed))}, "
                "and may have users and privacy_classes"
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
        users: str | Path | None = None,
        user_column: str | None = None,
        privacy_classes: Mapping[str, float] | None = None,
    ) -> Self:
        """A domain whose items, and optionally users, come from public files: see ``hushrec.data.catalogue``.

        Args:
            path: CSV, TSV or Parquet with a header, MovieLens ``movies.dat`` or ``u.item``, Netflix
                ``movie_titles.txt``, or a ``.txt`` file with one id a line.
            scale: ``(lo, hi, step)``.
            max_users: a public upper bound on the number of users.
            cap: the most ratings of one user that count.
            column: the column of the ids in a file with a header; the first one by default.
            users: a public list of accounts, a file of the same kinds, such as MovieLens ``users.dat`` or
                ``u.user``; none by default.
            user_column: the column of the ids in that file.
            privacy_classes: privacy classes, name to ε.

        Raises:
            DomainError: a file cannot be read as a list of ids.
        """
        from hushrec.data.catalogue import read_ids  # importing polars takes 0.15 s, which few plans need

        if users is None and user_column is not None:
            raise DomainError("user_column= names a column of the file users=, which is missing; give users=")
        roster = None if users is None else read_ids(Path(users), user_column)
        items = read_ids(Path(path), column)
        return cls(
            items, scale=scale, max_users=max_users, cap=cap, users=roster, privacy_classes=privacy_classes
        )

    def _fields(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        lo, hi, step = self.scale
        roster = f", roster of {self.n_users:,} people" if self.users else ""
        listed = ", ".join(
            f"{name} ε = {above(epsilon)}" for name, epsilon in (self.privacy_classes or {}).items()
        )
        asked = f", classes {listed}" if listed else ""
        return (
            f"Domain({self.n_items} items, scale {lo:g} to {hi:g} by {step:g}, "
            f"cap {self.cap}, at most {self.max_users} users{roster}{asked})"
        )

    __str__ = __repr__


def _ids(given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError("give the ids as a list, an array or a column")
    return tuple(_id(one, position) for position, one in enumerate(given))


def _id(given: Any, position: int) -> str:
    try:
        if isinstance(given, bool):
            raise TypeError
        text = given if isinstance(given, str) else str(operator.index(given))
    except TypeError:
        raise ValueError(f"ids are strings or integers, not {type(given).__name__} (at {position})") from None
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
    """One line per field, in our words instead of pydantic's."""
    lines = []
    for detail in error.errors(include_url=False):
        field = ".".join(map(str, detail["loc"]))
        lines.append(f"{field}: {detail['msg'].removeprefix('Value error, ')}")
    return "wrong domain: " + "; ".join(lines)
