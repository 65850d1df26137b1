"""Which data an experiment is about, and how they are divided: two tables of its TOML file."""

import hashlib
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from hushrec import files
from hushrec.data.domain import Domain, FeedbackKind
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.data.split import held_out_people, holdout, kfold
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import ConfigError
from hushrec.settings import Frozen
from lab.experiments import datasets

Range = tuple[int, int]
"""First and last of a range of integer ids."""
Shares = Annotated[
    tuple[tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(gt=0, le=1)]], ...],
    BeforeValidator(lambda value: tuple(value.items()) if isinstance(value, dict) else value),
]
"""ε to the share of people who ask for it."""


class Place(NamedTuple):
    """Where a grid finds what it names: what the paths in it are relative to, and the folder of data sets."""

    beside: Path
    data: Path | None = None


class Frame(Frozen):
    """The public frame of a file whose ids are ranges of integers. All of it is public knowledge.

    Args:
        items: first and last item id.
        scale: lowest rating, highest rating, step; without it, people give interactions.
        likes: the lowest rating that is a like, if only likes are used, as interactions.
        counts: the largest number of times that an item counts, if interactions are counted.
        max_users: a public upper bound on the number of users.
        max_per_user: how many ratings, or interactions, of one user count at most.
        users: first and last user id, where it is public who may take part.
    """

    items: Range
    scale: tuple[float, float, float] | None = None
    likes: float | None = None
    counts: int | None = None
    max_users: int
    max_per_user: int = 500
    users: Range | None = None

    def domain(self) -> Domain:
        """The declared domain."""
        given = self.model_dump(exclude={"items", "users"})
        return Domain(_ids(self.items), **given, users=_ids(self.users) if self.users else None)


class Generated(Frozen):
    """Made-up ratings: the arguments of ``hushrec.synthetic.netflix_like``. Everybody in them is known."""

    users: int
    items: int
    ratings: int
    seed: int


class GeneratedInteractions(Frozen):
    """Made-up interactions: the arguments of ``hushrec.synthetic.interactions``."""

    users: int
    items: int
    interactions: int
    seed: int


class Data(Frozen):
    """Where the ratings, or interactions, come from.

    Args:
        name: a public data set, one of ``lab.experiments.datasets.SETS``. Its items, scale and number of
            users are known; a table of the domain adds to them, or replaces them.
        ratings: or a file that ``hushrec.load`` reads, of what the domain declares; relative to the grid's
            folder.
        generated: or made-up ratings or interactions.
        domain: of the file: a table, or a file that ``hushrec domain`` wrote.
        folder: of named data sets; by default they are where ``python -m lab data get`` keeps them.
        personal_epsilon: ε → the fraction of people who ask for it, drawn by their ids: an experiment's own
            choice, in place of what the file says.
    """

    name: str | None = None
    ratings: Path | None = None
    generated: Generated | GeneratedInteractions | None = None
    domain: Path | Frame | None = None
    personal_epsilon: Shares = ()
    folder: Path | None = None

    @field_validator("ratings", "domain", "folder")
    @classmethod
    def _beside_the_grid(cls, value: Path | Frame | None, info: ValidationInfo) -> Path | Frame | None:
        return info.context.beside / value if isinstance(value, Path) and info.context else value

    @model_validator(mode="before")
    @classmethod
    def _what_is_known(cls, given: Any, info: ValidationInfo) -> Any:
        if not isinstance(given, dict) or "name" not in given:
            return given
        name, domain = given["name"], given.get("domain", {})
        if name not in datasets.SETS:
            raise ValueError(f"there is no data set {name!r}; there are {', '.join(datasets.SETS)}")
        if isinstance(domain, dict):
            given = {**given, "domain": {**datasets.SETS[name].frame, **domain}}
        return given if info.context is None else {"folder": info.context.data, **given}

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.name, self.ratings, self.generated).count(None) != 2:
            raise ValueError("give one of name, ratings and generated")
        if (self.generated is None) == (self.domain is None):
            raise ValueError("ratings need a domain, and generated ratings bring their own")
        if self.personal_epsilon and not math.isclose(sum(share for _, share in self.personal_epsilon), 1):
            raise ValueError("personal_epsilon: the fractions of people add to 1")
        return self

    @property
    def title(self) -> str:
        """How figures and tables call the data."""
        if self.generated is None:
            return self.name or self.path().name
        users, items, given, _ = dict(self.generated).values()
        return f"{given:,} made-up {self.feedback} by {users:,} users of {items:,} items"

    def digest(self) -> str:
        """SHA-256, in hex, of the file, or of how the ratings are made up."""
        if self.generated:
            said = self.model_dump_json(exclude={"name", "folder"})
            return hashlib.sha256(said.encode()).hexdigest()
        path = self.path()
        with files.refusing(f"data.ratings: {path}", "read", ConfigError, "correct the path"):
            found = files.sha256(path)
        return (
            f"{found}, personal_epsilon {json.dumps(self.personal_epsilon)}"
            if self.personal_epsilon
            else found
        )

    def path(self) -> Path:
        """The file of what is not made up."""
        return self.ratings or datasets.find(str(self.name), self.folder)

    def domain_of(self) -> Domain:
        """The public frame."""
        if isinstance(self.domain, Path):
            return Domain.open(self.domain)
        return self.domain.domain() if self.domain else self.load().domain

    @property
    def feedback(self) -> FeedbackKind:
        """What people give."""
        if self.generated:
            return "ratings" if isinstance(self.generated, Generated) else "interactions"
        return self.domain_of().feedback

    def load(self) -> People:
        """The ratings or interactions."""
        ratings = self._load()
        if not self.personal_epsilon:
            return ratings
        digests = (hashlib.sha256(user.encode()).digest() for user in ratings.users.to_pylist())
        places = np.array([int.from_bytes(digest[:6]) for digest in digests], dtype=np.float64) / 2**48
        epsilons, split = np.array(self.personal_epsilon).T
        return ratings.with_personal_epsilon(
            epsilons[np.searchsorted(np.cumsum(split)[:-1], places, side="right")]
        )

    def _load(self) -> People:
        if isinstance(self.generated, GeneratedInteractions):
            return interactions(**dict(self.generated))
        if self.generated:
            made = netflix_like(**dict(self.generated))
            frame = made.domain
            known = Domain(
                frame.items,
                scale=frame.scale,
                max_users=frame.max_users,
                max_per_user=frame.max_per_user,
                users=made.users.to_pylist(),
            )
            return replace(made, domain=known)
        loaded: People = load(self.path(), self.domain_of())
        return loaded


class Parts(NamedTuple):
    """The parts of one split.

    Attributes:
        train: what models are fitted to.
        fold_in: what the users of the test part fold in; the training part unless they are held out whole.
        test: what is predicted or found.
    """

    train: People
    fold_in: People
    test: People


_KEYS = {
    "kfold": {"folds"},
    "holdout": {"fraction", "splits"},
    "people": {"people", "fraction", "least", "splits"},
}
"""Kind of split → the keys that go with it alone."""


class Split(Frozen):
    """How ratings, or interactions, are divided in training and test parts.

    Args:
        kind: ``kfold``; ``holdout`` of independent random parts; or ``people``, who are held out whole, as in
            ``hushrec.data.split.held_out_people``.
        folds: of kfold.
        fraction: of holdout: the test part, a tenth by default. Of people: the part of their items that is to
            be found, a fifth by default.
        people: how many are held out.
        least: how many items those who are held out have at least.
        splits: of holdout and people: how many.
        seed: of the choice.
        only: numbers of the splits to run, from 0; all of them by default.
    """

    kind: Literal["kfold", "holdout", "people"]
    folds: int = Field(10, ge=2, le=255)
    fraction: float = Field(0.1, gt=0, lt=1)
    people: int = Field(500, ge=1)
    least: int = Field(5, ge=2)
    splits: int = Field(5, ge=1)
    seed: int = 0
    only: tuple[int, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _fraction_of_people(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("kind") == "people":
            return {"fraction": 0.2, **given}
        return given

    @model_validator(mode="after")
    def _known(self) -> Self:
        foreign = set().union(*_KEYS.values()) - _KEYS[self.kind]
        if given := foreign & self.model_fields_set:
            raise ValueError(f"{sorted(given)[0]} does not go with kind = {self.kind!r}")
        if any(not 0 <= number < self.count for number in self.only):
            raise ValueError(f"only: the splits are numbered 0 to {self.count - 1}")
        return self

    @property
    def count(self) -> int:
        """Number of splits."""
        return self.folds if self.kind == "kfold" else self.splits

    @property
    def numbers(self) -> tuple[int, ...]:
        """The splits to run."""
        return self.only or tuple(range(self.count))

    def entropy(self, number: int, seed: int) -> int:
        """Seed of a draw of noise. The first on a holdout is the holdout's own number, a seed already."""
        return 1000 * number + seed if self.kind == "kfold" else number + 1_000_000 * seed

    def __str__(self) -> str:
        how = f"{self.folds} folds" if self.kind == "kfold" else f"holdout {self.fraction:g}"
        if self.kind == "people":
            how = f"{self.people} people with at least {self.least}, {self.fraction:g} to be found"
        return f"{how}, seed {self.seed}"

    def parts(self, feedback: People, number: int) -> Parts:
        """The parts of one split."""
        if self.kind == "people":
            seed = self.seed + number
            return Parts(
                *held_out_people(feedback, self.people, seed, fraction=self.fraction, least=self.least)
            )
        if self.kind == "kfold":
            train, test = next(itertools.islice(kfold(feedback, self.folds, self.seed), number, None))
        else:
            train, test = holdout(feedback, self.fraction, self.seed + number)
        return Parts(train, train, test)


def _ids(ends: Range) -> list[str]:
    return [str(number) for number in range(ends[0], ends[1] + 1)]
