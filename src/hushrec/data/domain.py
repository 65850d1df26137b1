"""The public domain: the facts that are public before any rating is read.

A plan sees only the domain, so every size and range that reaches a release comes from here. The domain is
never inferred from ratings: a catalogue collected from the ratings already reveals that someone rated each
of its items.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from hushrec import files
from hushrec.data.declarations import (
    Crowd,
    Scale,
    catalogue_of,
    classes,
    domain_text,
    explain,
    features_of,
    numeric,
    roster_of,
    scale_of,
    titles_of,
)
from hushrec.documents import html
from hushrec.errors import DataError, DomainError

__all__ = ["Domain", "FeedbackKind", "Scale"]

FeedbackKind = Literal["ratings", "interactions"]
"""The kind of data: ratings on a scale, or interactions without one, such as clicks, purchases or likes."""
_NEEDED = {"items", "max_per_user", "max_users"}
_DESCRIBING = {"titles", "features"}
_HINTS = {"expected_users", "expected_records"}
_NUMERIC = BeforeValidator(numeric)
_OPTIONAL = {"scale", "likes", "counts", "users", "personal_epsilon", *_HINTS, *_DESCRIBING}


def _if_given(check: Callable[..., Any], *earlier: str) -> BeforeValidator:
    """Check a value, if there is one, by earlier fields; if these are wrong, that is reported already."""

    def checked(value: Any, info: ValidationInfo) -> Any:
        if value is None or not all(name in info.data for name in earlier):
            return None
        return check(value, *(info.data[name] for name in earlier))

    return BeforeValidator(checked)


class Domain(BaseModel):
    """The declared public facts about a population's ratings or interactions.

    With a scale alone, people give ratings; without one, interactions: an item is given or not. With a scale
    and ``likes``, they rate, but only which items they like is used: interactions again.

    Args:
        items: the catalogue: unique ids, strings or integers; their order gives each item its index, so a set
            is refused. Sort what has no order of its own, such as the distinct ids of a table.
        scale: ``(lo, hi, step)`` of ratings; hi − lo must be a whole number of steps, at most 255.
        likes: the lowest rating on the scale that is a like.
        counts: the largest number of times, 2 to 255, that an item given repeatedly counts; without a scale
            only. By default, how often an item is given does not matter.
        max_users: a public upper bound on the number of users.
        max_per_user: the most ratings or interactions of one user that count, for the unit ``user``.
        users: the roster, if the list of users is public: unique ids, strings or integers, in any order;
            stored in ascending order of their UTF-8 bytes, as in ``People.users``. Only models that publish
            a vector per person need it. Only ratings of people on the roster are read.
        personal_epsilon: privacy classes that people choose from, name to ε ≥ 0, such as
            ``{"strict": 0.5, "default": 2.0}``; ratings may then name a class in place of an ε.
        titles: public titles of the items, by id or in the order of ``items``, "" if there is none. Each is
            kept as one printable line of at most 512 bytes. Releases carry them to people's devices.
        features: other public texts about the items by name, as titles: ``{"genres": {"7": "Drama|War"}}``;
            kept in the order of the names.
        expected_users, expected_records: about how many people give about how many ratings, interactions
            or, with ``likes``, likes in all. Models divide their budget by both.

    Raises:
        DomainError: a field is missing or wrong.

    Privacy: public. Every field must come from public knowledge, never from the ratings: a roster is a list
    of accounts, not a list of people who have rated. Titles and features say what to expect of
    items, and cost nothing: a domain with corrected ones is the same population, has the same digest, and is
    equal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    items: Annotated[tuple[str, ...], BeforeValidator(catalogue_of)]
    rating_scale: Annotated[Scale | None, _if_given(scale_of)] = Field(alias="scale")
    likes: Annotated[float | None, _NUMERIC]
    counts: Annotated[int | None, _NUMERIC] = Field(ge=2, le=255)
    max_per_user: Annotated[int, _NUMERIC] = Field(ge=1)
    max_users: Annotated[int, _NUMERIC] = Field(ge=1)
    users: Annotated[tuple[str, ...] | None, _if_given(roster_of, "max_users")]
    personal_epsilon: Annotated[Mapping[str, float] | None, _if_given(classes)]
    titles: Annotated[tuple[str, ...] | None, _if_given(titles_of, "items")]
    features: Annotated[Mapping[str, tuple[str, ...]] | None, _if_given(features_of, "items")]
    expected_users: Annotated[int | None, _NUMERIC] = Field(ge=1)
    expected_records: Annotated[int | None, _NUMERIC] = Field(ge=1)

    def __init__(
        self,
        items: Iterable[str | int],
        *,
        scale: Sequence[float] | None = None,
        likes: float | None = None,
        counts: int | None = None,
        max_users: int,
        max_per_user: int = 500,
        users: Iterable[str | int] | None = None,
        personal_epsilon: Mapping[str, float] | None = None,
        titles: Mapping[Any, str] | Iterable[str] | None = None,
        features: Mapping[str, Mapping[Any, str] | Iterable[str]] | None = None,
        expected_users: int | None = None,
        expected_records: int | None = None,
    ) -> None:
        try:
            super().__init__(
                items=items,
                scale=scale,
                likes=likes,
                counts=counts,
                max_per_user=max_per_user,
                max_users=max_users,
                users=users,
                personal_epsilon=personal_epsilon,
                titles=titles,
                features=features,
                expected_users=expected_users,
                expected_records=expected_records,
            )
        except ValidationError as error:
            raise DomainError(explain(error)) from None

    @field_validator("likes")
    @classmethod
    def _on_the_scale(cls, likes: float | None, info: ValidationInfo) -> float | None:
        if likes is None or "rating_scale" not in info.data:  # the scale is wrong, which is reported already
            return likes
        scale = info.data["rating_scale"]
        if scale is None:
            raise ValueError("likes are ratings from a threshold on; declare the scale of the ratings too")
        if not scale.holds(likes):
            raise ValueError(f"{likes:g} is not on the scale {scale}; give the lowest rating that is a like")
        return likes

    @field_validator("counts")
    @classmethod
    def _without_scale(cls, counts: int | None, info: ValidationInfo) -> int | None:
        if counts is not None and info.data.get("rating_scale") is not None:
            raise ValueError("ratings are not counted; leave out scale for interactions, or leave out counts")
        return counts

    @property
    def feedback(self) -> FeedbackKind:
        return "ratings" if self.rating_scale is not None and self.likes is None else "interactions"

    @property
    def scale(self) -> Scale:
        """The scale of the ratings.

        Raises:
            DomainError: people give interactions, which have no scale; if they are likes, the scale of the
                ratings that they come from is ``rating_scale``.
        """
        if self.rating_scale is None or self.likes is not None:
            raise DomainError(
                "this domain declares interactions, which have no scale; declare a domain with a scale and "
                "without likes, or choose what works on interactions"
            )
        return self.rating_scale

    def require(self, feedback: FeedbackKind, *, by: str, instead: str = "") -> None:
        """Raise an error unless people give this kind of feedback.

        Args:
            feedback: the kind that is needed.
            by: name of the model, function or command that needs it, for the error.
            instead: an alternative, for the error; by default one that works on this domain's kind.

        Raises:
            DataError: the domain declares the other kind.
        """
        if feedback == self.feedback:
            return
        other = "a domain with a scale and without likes"
        if feedback == "interactions":
            other = "which ratings are likes (likes=), or a domain without a scale"
        raise DataError(
            f"{by} works on {feedback}, and this domain declares {self.feedback}; choose "
            f"{instead or f'one that works on {self.feedback}'}, or declare {other}"
        )

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def crowd(self) -> Crowd:
        """The expected numbers of people and ratings."""
        most = min(self.max_per_user, self.n_items)
        return Crowd.of(self.expected_users, self.expected_records, self.max_users, most)

    @property
    def n_users(self) -> int:
        """Number of people on the roster, 0 without one."""
        return len(self.users or ())

    @cached_property
    def positions(self) -> dict[str, int]:
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
        """SHA-256, in hex, of the canonical JSON: sorted keys, no spaces, UTF-8, without None fields.

        Titles, features and the expected crowd are left out, so that ledgers take a domain with corrected
        ones for the same population. Every plan contains the consequences of the crowd, by its measurements.
        """
        frame = {name: value for name, value in self._fields().items() if name not in _DESCRIBING | _HINTS}
        text = json.dumps(frame, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, one id per line.

        Raises:
            DomainError: the file cannot be written.
        """
        text = json.dumps(self._fields(), ensure_ascii=False, indent=1) + "\n"
        files.write(Path(path), text, DomainError, fix="choose another file with -o")

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a domain that ``save`` wrote.

        Raises:
            DomainError: the file is missing, is not JSON, or does not describe a domain.
        """
        text = files.read_text(Path(path), DomainError, fix="name what hushrec domain wrote")
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise DomainError(f"{path} cannot be read as a domain: {error}") from None
        if not isinstance(fields, dict) or set(fields) - _OPTIONAL != _NEEDED:
            raise DomainError(
                f"{path} is not a domain: it must have the fields {', '.join(sorted(_NEEDED))}, and may have "
                f"{', '.join(sorted(_OPTIONAL))}"
            )
        return cls(**fields)

    @classmethod
    def from_catalogue(
        cls,
        path: str | Path,
        *,
        column: str | None = None,
        users: str | Path | None = None,
        user_column: str | None = None,
        titles: str | None = None,
        features: Sequence[str] | None = None,
        separator: str | None = None,
        **declared: Any,
    ) -> Self:
        """Make a domain whose items, and optionally users, come from public files.

        Args:
            path: CSV, TSV or Parquet with a header, MovieLens ``movies.dat`` or ``u.item``, or a
                ``.txt`` file with one id a line.
            column: the column of the ids in a file with a header; the first one by default.
            users: a public list of accounts, a file of the same kinds; none by default.
            user_column: the column of the ids in that file.
            titles: the column of the titles; by default ``title`` or ``name``, if there is one.
            features: columns of public texts to take along; by default ``genres`` and ``year``, if there.
            separator: of the columns of csv and tsv, one character; by default the comma and the tab.
            declared: everything else, such as ``scale`` and ``max_users``, as for ``Domain``.

        Raises:
            DomainError: a file cannot be read as a list of ids, or is one of ratings or clicks, from which no
                catalogue may be taken.
        """
        # Importing pyarrow and DuckDB takes 0.15 s, which few plans need.
        from hushrec.data.readers.catalogue import read_list

        if users is None and user_column is not None:
            raise DomainError("user_column= names a column of the file users=, which is missing; give users=")
        roster = None if users is None else read_list(Path(users), user_column, separator).ids
        catalogue = read_list(Path(path), column, separator)
        catalogue.require_items()
        return cls(
            catalogue.ids,
            users=roster,
            titles=catalogue.titles(titles),
            features=catalogue.features(features),
            **declared,
        )

    def _fields(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Domain({domain_text(self)})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html.note("Domain, public", domain_text(self))
