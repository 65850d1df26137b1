"""Checks of the facts that a domain declares, and their short description for ``repr`` and notebooks.

Privacy: public.
"""

import math
import operator
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushrec.arrays import Bytes, Floats
from hushrec.settings import is_unordered
from hushrec.text import above, is_number, one_line

if TYPE_CHECKING:
    from pydantic import ValidationError


def domain_text(domain: Any) -> str:
    """Describe a ``Domain`` in one line: catalogue, feedback, bounds, expected numbers, roster."""
    feedback, records = "interactions", "interactions"
    if domain.likes is not None:
        records = "likes"
        feedback = f"likes: ratings of at least {domain.likes:g} on the scale {domain.rating_scale}"
    elif domain.rating_scale is not None:
        feedback, records = f"scale {domain.rating_scale}", "ratings"
    elif domain.counts is not None:
        feedback = f"interactions counted up to {domain.counts}"
    roster = f", roster of {domain.n_users:,} people" if domain.users else ""
    listed = ", ".join(
        f"{name} ε = {above(epsilon)}" for name, epsilon in (domain.personal_epsilon or {}).items()
    )
    personal_epsilon = f", classes {listed}" if listed else ""
    hints = "".join(
        f", about {number:,} {what}"
        for number, what in ((domain.expected_users, "users"), (domain.expected_records, records))
        if number
    )
    return (
        f"{domain.n_items} items, {feedback}, cap {domain.max_per_user}, "
        f"at most {domain.max_users} users{hints}{roster}{personal_epsilon}{', titles' * bool(domain.titles)}"
    )


MAX_ID_BYTES = 256
"""The longest id, in UTF-8: chosen by hand."""
MAX_VALUES = 256
"""The most ratings on a scale, because a rating is stored as the uint8 number of its steps."""
MAX_TEXT_BYTES = 1 << 25
"""The most bytes of all titles, or of all values of one feature: chosen by hand."""


class Scale(NamedTuple):
    """The rating scale {lo, lo + step, …, hi}.

    Attributes:
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
        return self.hi - self.lo

    @property
    def star(self) -> float:
        """A quarter of the width (one star on a 1-to-5 scale): the unit of constants within algorithms."""
        return self.span / 4

    def nearest(self, ratings: Floats) -> Bytes:
        """Return the number of steps from ``lo`` to the nearest rating on the scale; halves round up.

        Args:
            ratings: finite values of any shape, on or off the rating scale.

        Returns:
            uint8 steps of the same shape; values outside the scale map to its nearer end.

        Privacy: private in, private out.
        """
        steps = np.floor((ratings - self.lo) / self.step + 0.5)
        return np.clip(steps, 0, self.n_values - 1).astype(np.uint8)

    def holds(self, rating: float) -> bool:
        """Return True if this is one of the scale's ratings."""
        if not self.lo <= rating <= self.hi:
            return False
        steps = (rating - self.lo) / self.step
        return abs(steps - round(steps)) <= 1e-6

    def require_valid(self) -> None:
        """Refuse a scale that is not a whole number of steps, or has too many of them."""
        lo, hi, step = self
        if not all(map(math.isfinite, self)) or hi <= lo or step <= 0:
            raise ValueError(
                f"({lo:g}, {hi:g}, {step:g}) is not a scale; give (lo, hi, step), lo < hi, step > 0"
            )
        if not 1e-12 <= hi - lo <= 1e12:
            raise ValueError(
                f"the scale's width {hi - lo:g} is not between 1e-12 and 1e12; give the scale in other units"
            )
        steps = (hi - lo) / step
        if steps >= MAX_VALUES:
            raise ValueError(f"{steps + 1:g} values are more than {MAX_VALUES}; choose a larger step")
        if abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"{hi:g} − {lo:g} is not a whole number of steps of {step:g}")

    def __str__(self) -> str:
        return f"{self.lo:g} to {self.hi:g} by {self.step:g}"


def scale_of(scale: Any) -> Scale:
    """Return a scale of three numbers in their order."""
    parts = tuple(scale) if isinstance(scale, Iterable) and not is_unordered(scale) else ()
    if len(parts) != len(Scale._fields) or not all(map(_is_float, parts)):
        raise ValueError("this is not a scale; give (lo, hi, step), three finite numbers in this order")
    valid = Scale(*map(float, parts))
    valid.require_valid()
    return valid


def numeric(value: Any) -> Any:
    """Return what is given for a number; refuse text and truth values, which pydantic would convert."""
    if value is not None and not is_number(value):
        raise ValueError("give a finite number, not text or a truth value")
    return value


def ids_of(ids: Any) -> tuple[str, ...]:
    """Return ids as text in Unicode NFC, in their order."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise ValueError("give the ids as a list, an array or a column")
    return tuple(_id(one, position) for position, one in enumerate(ids))


def catalogue_of(items: Any) -> tuple[str, ...]:
    """Return the ids of a catalogue as ``ids_of`` does; refuse a set, an empty one, and repeated ids."""
    if is_unordered(items):
        raise ValueError(
            "the order of the items is part of a domain's identity, and a set has another one in each "
            "process; give them in one order, such as sorted(items)"
        )
    ids = ids_of(items)
    if not ids:
        raise ValueError("the catalogue is empty; a domain needs at least one item")
    if (repeat := again(ids)) is not None:
        one, other = repeat
        raise ValueError(f"the id at positions {one} and {other} occurs more than once; list every item once")
    return ids


def again(ids: Sequence[str]) -> tuple[int, int] | None:
    """Find the first id that repeats: its first and its second position, or None if no id does."""
    seen: dict[str, int] = {}
    for position, one in enumerate(ids):
        if (before := seen.setdefault(one, position)) != position:
            return before, position
    return None


def roster_of(people: Any, most: int) -> tuple[str, ...]:
    """Return the ids of people, at most the declared bound, in ascending order of their UTF-8 bytes."""
    ids = ids_of(people)
    if not ids:
        raise ValueError("the list of people is empty; leave it out if it is not public")
    if len(set(ids)) != len(ids):
        raise ValueError("an id occurs more than once; list every person once, without ratings")
    if len(ids) > most:
        raise ValueError(f"{len(ids):,} people are listed, more than max_users; declare a larger bound")
    return tuple(sorted(ids))  # Python compares text by code points, which matches UTF-8 byte order


def titles_of(titles: Any, items: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the titles of items, as ``texts_of`` does."""
    return texts_of(titles, items, "titles")


def texts_of(cells: Any, items: tuple[str, ...], what: str) -> tuple[str, ...] | None:
    """Return one printable line for each item, "" where there is none; None if there are none at all.

    Args:
        cells: texts by id, in which other items are ignored; or in the order of ``items``.
        what: name of the texts, for errors.
    """
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable) or is_unordered(cells):
        raise ValueError(f"give {what} by id, {{id: text}}, or one for each item in the catalogue's order")
    if isinstance(cells, Mapping):
        by_id = dict(zip(ids_of(cells), cells.values(), strict=True))
        if by_id and by_id.keys().isdisjoint(items):
            raise ValueError(f"no id of the {what} is in the catalogue; give them by the same ids")
        cells = [by_id.get(item, "") for item in items]
    texts = tuple("" if text is None else text for text in cells)
    if len(texts) != len(items):
        raise ValueError(f"{len(texts):,} {what} are given for {len(items):,} items; give one each, or by id")
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{what} must be text")
    texts = tuple(map(one_line, texts))
    if sum(map(len, map(str.encode, texts))) > MAX_TEXT_BYTES:
        raise ValueError(f"the {what} are longer than {MAX_TEXT_BYTES >> 20} MiB together; shorten them")
    return texts if any(texts) else None


def features_of(features: Any, items: tuple[str, ...]) -> dict[str, tuple[str, ...]] | None:
    """Return texts about each item by name, as ``texts_of`` does, in the order of the names.

    None if there are none. A plan commits to facts in the order of the features, so that order must not be
    the caller's, which may be that of a set.
    """
    if not isinstance(features, Mapping):
        raise ValueError("give features by name, each by id: {'genres': {'7': 'Drama|War'}}")
    by_name = {}
    for name, texts in features.items():
        if not isinstance(name, str) or not name or one_line(name) != name:
            raise ValueError("the name of a feature must be one line of printable text")
        if (lines := texts_of(texts, items, name)) is not None:
            by_name[name] = lines
    return dict(sorted(by_name.items())) or None


def classes(epsilons: Any) -> dict[str, float]:
    """Map names, normalised to Unicode NFC, to ε.

    A name must not be a number, so that a cell that holds a name or an ε has one meaning.
    """
    if not isinstance(epsilons, Mapping) or not epsilons:
        raise ValueError('give classes as {"strict": 0.5, "default": 2}, or leave them out')
    by_name = {_name(name): _epsilon(name, epsilon) for name, epsilon in epsilons.items()}
    if len(by_name) != len(epsilons):
        raise ValueError("two names are the same text; give every class a name of its own")
    return by_name


def explain(error: "ValidationError") -> str:
    """Describe the errors in a domain's fields, in our words instead of pydantic's."""
    lines = []
    for detail in error.errors(include_url=False):
        field = ".".join(map(str, detail["loc"]))
        lines.append(f"{field}: {detail['msg'].removeprefix('Value error, ')}")
    return "wrong domain: " + "; ".join(lines)


def _id(value: Any, position: int) -> str:
    try:
        if isinstance(value, bool):
            raise TypeError
        text = value if isinstance(value, str) else str(operator.index(value))
    except TypeError:
        raise ValueError(f"ids are strings or integers, not {type(value).__name__} (at {position})") from None
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


def _name(value: Any) -> str:
    if not isinstance(value, str) or value != value.strip():
        raise ValueError("names of classes must be text without blanks at either end")
    name = unicodedata.normalize("NFC", value)
    size = len(name.encode(errors="replace"))
    # Privacy statements list the names, so names that are invisible or break lines are refused.
    if not 1 <= size <= MAX_ID_BYTES or not name.isprintable() or _is_number(name):
        raise ValueError(
            f"{name!r} is not a name of a class: give 1 to {MAX_ID_BYTES} printable bytes, not a number"
        )
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_float(value: Any) -> bool:
    """Whether it is a finite number that a float can hold."""
    return is_number(value) and abs(value) <= sys.float_info.max


def _epsilon(name: Any, value: Any) -> float:
    if not _is_float(value) or value < 0:
        raise ValueError(f"the ε of class {name!r} must be a finite number, 0 or more")
    return float(value)


USUAL = 50
"""Ratings or interactions per person that are assumed where nothing is declared: chosen by hand."""


class Crowd(NamedTuple):
    """A declared crowd, by which models divide a budget and choose clips, ranks and epochs.

    Attributes:
        users: about how many people take part.
        ratings: about how many ratings, or interactions, they give in all.
        declared: True if both were declared; otherwise they follow from the bound on users.
    """

    users: float
    ratings: float
    declared: bool

    @property
    def each(self) -> float:
        """Ratings, or interactions, per person."""
        return self.ratings / self.users

    def in_words(self, feedback: str) -> str:
        """Describe the numbers of people and of entries per person; say so if they are assumed.

        Args:
            feedback: ratings or interactions.
        """
        size = f"{self.users:,.0f} users with {self.each:,.3g} {feedback} each"
        if self.declared:
            return f"about {size}"
        return f"{size} (assumed: declare expected_users and expected_records)"

    @classmethod
    def of(cls, users: int | None, ratings: int | None, max_users: int, most: int) -> "Crowd":
        """Return the declared crowd, with missing numbers derived from the bounds.

        Args:
            users, ratings: as declared, or None.
            max_users: the bound on the number of people.
            most: the most ratings of one person that count.
        """
        people = float(users or max_users)
        n_ratings = float(ratings or people * min(USUAL, most))
        return cls(people, n_ratings, users is not None and ratings is not None)
