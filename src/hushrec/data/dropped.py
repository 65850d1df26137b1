"""Counts of the records of a source that were read, dropped or changed, in numbers and in words."""

from dataclasses import dataclass, fields
from typing import Literal, Self

from hushrec.data.declarations import MAX_ID_BYTES
from hushrec.data.domain import Domain

_MOST = 10  # more than one record in ten is too much: chosen by hand
_TIMES = 2  # more than twice the declared bound of users is too much: chosen by hand

Refusal = Literal["nobody", "empty", "dropped", "users", "rating"]
"""The reasons to refuse a charge."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A reason why records were dropped or changed, and their number.

    Attributes:
        reason: name of the field of ``Dropped``.
        text: the fault and the repair, in words.

    Privacy: private.
    """

    reason: str
    count: int
    text: str


@dataclass(frozen=True, slots=True, repr=False)
class Dropped:
    """Numbers of the records of a source that were dropped or changed, for the curator only.

    Attributes:
        user_id: dropped, user id is empty, too long, contains NUL, or is not on the domain's roster.
        item_id: dropped, item is not in the catalogue.
        rating: dropped, rating or count is missing, unparsable or not finite, or the count is below 1.
        other_type: dropped, the user's or the item's id is a cell of another type, such as 7.0 or a date.
        personal_epsilon: dropped, record lacks a valid requested ε although the source has a column for
            it; the user's other records, if any, stay and request ε = 0.
        duplicate: dropped, the same user gave the item again; counts add up, so none of them is dropped.
        clamped: kept, rating moved to the nearer end of the scale, or count to the largest that counts.
        rounded: kept, rating moved to the nearest step, or count to the nearest whole number.
        timestamp: kept, timestamp is missing, unreadable, or outside [0, 2^40] Unix seconds, to whose
            nearer end it moved: 0 if missing or unreadable. Counted only if the source has a column of them.
        records: all that were read, 0 if the rows come from no source.
        unused: kept, the record has a rating other than 1, which interactions without likes do not use.

    Privacy: private. ``repr`` shows no counts; ``str`` shows all of them and says that they are confidential.
    """

    user_id: int = 0
    item_id: int = 0
    rating: int = 0
    personal_epsilon: int = 0
    duplicate: int = 0
    clamped: int = 0
    rounded: int = 0
    timestamp: int = 0
    records: int = 0
    unused: int = 0
    other_type: int = 0

    def __add__(self, other: Self) -> Self:
        both = (getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        return type(self)(*both)

    @property
    def lost_records(self) -> int:
        """The records that were dropped because they lack a valid part."""
        return self.user_id + self.item_id + self.other_type + self.rating + self.personal_epsilon

    def lost(self, domain: Domain) -> int:
        """Count the records that were dropped or changed because they do not fit the domain.

        For interactions, neither a repeated item counts, nor a count above the largest that the domain lets
        count: a log of events has many of both. For ratings, which people rarely give twice, repeats count.
        """
        lost = self.lost_records + self.rounded + self.timestamp
        if domain.rating_scale is not None:
            lost += self.duplicate
        return lost if domain.counts else lost + self.clamped

    def too_many(self, domain: Domain) -> bool:
        """Return True if more than a tenth of the records were dropped or changed."""
        return _MOST * self.lost(domain) > self.records

    def refused(self, domain: Domain, n_users: int) -> tuple[Refusal, ...]:
        """Return every reason to refuse a charge for the remaining records; empty if there is none.

        Returns:
            ``"nobody"``: there were records, and no user has an item left; this cannot be accepted. "empty":
            there was no record. "dropped": too many were dropped or changed. "users": more than twice as many
            users as the domain declares are left. "rating": some ratings are not used, so that a dislike
            counts as a like.
        """
        if not n_users:
            return ("nobody",) if self.records else ("empty",)
        excesses: dict[Refusal, bool] = {
            "dropped": self.too_many(domain),
            "users": n_users > _TIMES * domain.max_users,
            "rating": self.unused > 0,
        }
        return tuple(reason for reason, holds in excesses.items() if holds)

    def losses(self, domain: Domain) -> list[Loss]:
        """Return the reasons that occurred, with counts and words."""
        possible = [Loss(reason, getattr(self, reason), text) for reason, text in _texts(domain).items()]
        return [loss for loss in possible if loss.count]

    def __repr__(self) -> str:
        return "Dropped(confidential)"

    def __str__(self) -> str:
        counts = ", ".join(f"{field.name} {getattr(self, field.name)}" for field in fields(self))
        return f"confidential, not for publication: {counts}"


def fraction(count: int, records: int) -> str:
    """Write a count as a percentage of all records.

    Privacy: private in, private out.
    """
    ratio = count / records if records else 0.0
    return "less than 0.1 %" if 0 < ratio < 0.001 else f"{100 * ratio:.1f} %"


def _texts(domain: Domain) -> dict[str, str]:
    """Return the fault of the records and its repair, by reason."""
    wrong = f"the user id is empty, over {MAX_ID_BYTES} bytes or holds NUL"
    texts = {
        "user_id": f"dropped: {wrong}" + (", or is not on the roster" if domain.users else ""),
        "item_id": "dropped: the item is not in the catalogue",
        "other_type": "dropped: an id is of another type: a number with a fraction, a truth value or a date",
        "rating": "dropped: the rating is missing or not a number",
        "personal_epsilon": "dropped: the requested ε is neither a number from 0 nor a class of the domain",
        "duplicate": "merged: the user gave the item again; the last by timestamp counts, else the largest",
        "clamped": f"changed: the rating is outside the scale {domain.rating_scale}; its nearer end counts",
        "rounded": f"changed: the rating is not on the scale {domain.rating_scale}; its nearest value counts",
        "timestamp": "changed: the timestamp is missing, or neither ISO 8601 nor Unix seconds from 1970 on; "
        "it counts as the earliest, or, if too large, as the latest",
        "unused": "kept: the rating is not used and is other than 1, so a dislike counts as a like",
    }
    if domain.rating_scale is None:
        texts |= {
            "rating": "dropped: the count is missing, not a number, or below 1",
            "duplicate": "merged: the user gave the item again; an item counts once",
            "clamped": f"changed: the count is above {domain.counts}, the largest that counts",
            "rounded": "changed: the count is not a whole number; the nearest counts",
        }
    return texts
