"""Small made-up worlds, and their neighbours: extreme ones and random ones. Nothing here is private."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from numpy.random import Generator, default_rng  # noqa: TID251  (chooses made-up ratings, not release noise)

from hushrec.data.domain import Domain, FeedbackKind
from hushrec.data.load import load
from hushrec.data.people import People
from hushrec.errors import ConfigError

Given = Mapping[str, Mapping[int, int]]
"""User → item index → rating in steps of the scale above its low end, or count above one."""
Pair = tuple[Given, Given]
ITEMS, CAP = 16, 5
"""Items, and ratings per user, of a made-up world: small, so that a fit takes little time; chosen by hand."""
WIDE = 64
"""Items of a wide world, and its cap where no domain is given: so large a cap is reached; chosen by hand."""
BROAD = 128
"""Items of a broad world, and its cap: enough for every branch of a plan to be taken; chosen by hand."""
_NAMED = "light", "usual", "other", "heavy", "extreme", "new"
_SILENT = tuple(f"user {k}" for k in range(6))
USERS = len(_NAMED) + len(_SILENT)


@dataclass(frozen=True)
class World:
    """A public domain with a few users on its roster, most of whom may have no ratings.

    Args:
        domain: the domain; ``World.of`` makes it.

    Privacy: public, made up.
    """

    domain: Domain

    @classmethod
    def wide(cls, domain: Domain | None = None, feedback: FeedbackKind = "ratings") -> "World":
        """Make a world of more items, whose users may rate them all unless a given domain caps them.

        Args:
            domain, feedback: as in ``of``.
        """
        return cls.of(domain, feedback, WIDE, WIDE)

    @classmethod
    def broad(cls, domain: Domain | None = None, feedback: FeedbackKind = "ratings") -> "World":
        """Make a world of even more items.

        Args:
            domain, feedback: as in ``of``.
        """
        return cls.of(domain, feedback, BROAD, BROAD)

    @classmethod
    def of(
        cls,
        domain: Domain | None = None,
        feedback: FeedbackKind = "ratings",
        items: int = ITEMS,
        max_per_user: int = CAP,
    ) -> "World":
        """Make a world on the first items of a domain, with their features, its scale or counts and its cap.

        Args:
            domain: the domain; by default a made-up one. Likes become interactions without ratings.
            feedback: the kind of feedback in the made-up domain.
            items: number of items, or all that a given domain has if they are fewer.
            max_per_user: the most ratings of a user in the made-up domain.
        """
        if domain is None:
            scale = (1, 5, 1) if feedback == "ratings" else None
            # A model may measure less for a crowd that is declared small.
            domain = Domain(range(items), scale=scale, max_per_user=max_per_user, max_users=10_000)
        features = {name: texts[:items] for name, texts in (domain.features or {}).items()}
        return cls(
            Domain(
                domain.items[:items],
                features=features or None,
                # Likes become interactions: what a model of them sees is the same.
                scale=domain.scale if domain.feedback == "ratings" else None,
                counts=domain.counts,
                max_per_user=domain.max_per_user,
                max_users=max(domain.max_users, USERS),
                users=(*_NAMED, *_SILENT),
            )
        )

    @cached_property
    def everybody(self) -> Given:
        """A few users, from one with a single rating to one with ratings of twice the cap."""
        n, top = self.domain.n_items, self.top
        rows = {
            "light": {0: top},
            "usual": {0: 0, 1: top, 3: top // 2},
            "other": {1: top // 4, 2: top // 4},
            "heavy": {
                item: (item + 1) % 2 * top for item in range(max(2, min(2 * self.domain.max_per_user, n - 1)))
            },
            "extreme": {3: top, 4: top},
        }
        return {user: {item % n: steps for item, steps in row.items()} for user, row in rows.items()}

    @property
    def top(self) -> int:
        """The highest rating, or the largest count, in steps."""
        if self.domain.feedback == "ratings":
            return self.domain.scale.n_values - 1
        return (self.domain.counts or 1) - 1

    def ratings(self, people: Given) -> People:
        lo, _, step = self.domain.rating_scale or (1, 1, 1)
        value = "rating" if self.domain.feedback == "ratings" else "count"
        rows = [
            {"user_id": user, "item_id": self.domain.items[item], value: lo + step * steps}
            for user, row in people.items()
            for item, steps in row.items()
        ]
        columns = pa.schema([("user_id", pa.string()), ("item_id", pa.string()), (value, pa.float64())])
        loaded: People = load(pa.Table.from_pylist(rows, columns), self.domain)
        return loaded

    def pairs(self, unit: str, adjacency: str) -> dict[str, Pair]:
        """List neighbours with extreme differences, each with a name for the difference."""
        everybody, top = self.everybody, self.top
        alone, first = {"heavy": everybody["heavy"]}, {"light": everybody["light"]}
        # Rows that touch both ends: all items, with the highest or the lowest value.
        everything = dict.fromkeys(range(self.domain.n_items), top)
        nothing_good = dict.fromkeys(everything, 0)
        last = max(everybody["heavy"])
        if (unit, adjacency) == ("record", "add-remove"):
            # No cap applies to unit record: weights such as 1/√c have to hold for more ratings, too.
            full = {**everybody, "heavy": {**everything, **everybody["heavy"]}}
            return {
                "a rating": (everybody, without(everybody, "usual", max(everybody["usual"]))),
                "a user's only rating": (everybody, without(everybody, "light")),
                "one of a heavy user": (everybody, without(everybody, "heavy", last)),
                "one of a user above the cap": (full, without(full, "heavy", max(everything))),
                "one of an only user": (alone, without(alone, "heavy", last)),
                # Against nobody at all: every mean and every division by a count has to stand an empty world.
                "the only rating": (first, {}),
            }
        if (unit, adjacency) == ("record", "replace"):
            return {
                "a rating": (everybody, with_rating(everybody, "usual", 1 % self.domain.n_items, 0)),
                "a rating in the middle": (everybody, _turn_last(everybody, "usual", top)),
                "a user's only rating": (everybody, _turn_last(everybody, "light", top)),
                "a heavy user's": (everybody, _turn_last(everybody, "heavy", top)),
                "an only user's": (alone, _turn_last(alone, "heavy", top)),
                "the only rating": (first, _turn_last(first, "light", top)),
            }
        if (unit, adjacency) == ("user", "add-remove"):
            return {
                "a light user": (everybody, without(everybody, "light")),
                "a usual user": (everybody, without(everybody, "usual")),
                "a user above the cap": (everybody, without(everybody, "heavy")),
                "an extreme user": (everybody, without(everybody, "extreme")),
                "a user of the highest ratings": ({**everybody, "new": everything}, everybody),
                "a user of the lowest ratings": ({**everybody, "new": nothing_good}, everybody),
                "the only user": (first, {}),
                "the only user, above the cap": (alone, {}),
            }
        if (unit, adjacency) == ("user", "replace"):
            return {
                "a light user": (everybody, {**everybody, "light": everybody["heavy"]}),
                "a user above the cap": (everybody, {**everybody, "heavy": nothing_good}),
                "the highest and the lowest ratings": (
                    {**everybody, "heavy": everything},
                    {**everybody, "heavy": nothing_good},
                ),
                "the only user": (alone, {"heavy": nothing_good}),
            }
        raise ConfigError(f"no model protects a {unit} under {adjacency}; choose another unit or adjacency")

    def at_random(self, unit: str, adjacency: str, rng: Generator) -> Pair:
        """Draw up to six users with up to all of the items, and a neighbouring world."""
        people = {f"user {k}": self._row(rng) for k in range(int(rng.integers(1, 7)))}
        user = f"user {rng.integers(len(people))}"
        return people, self.neighbour(people, user, unit, adjacency, rng)

    def neighbour(self, people: Given, user: str, unit: str, adjacency: str, rng: Generator) -> Given:
        """Remove or replace one unit of a user's ratings."""
        item = int(rng.choice(list(people[user])))
        if unit == "user":
            return without(people, user) if adjacency == "add-remove" else {**people, user: self._row(rng)}
        if adjacency == "add-remove":
            return without(people, user, item)
        return with_rating(people, user, item, self._steps(rng))

    def change(self, people: Given, user: str, rng: Generator) -> Given:
        """Change a few ratings of this user, or of another one; no user loses their last rating."""
        # Mostly the user who differs; others matter where their rows decide a weight or a branch.
        changed_user = user if rng.random() < 0.7 else str(rng.choice(list(people)))
        row = dict(people[changed_user])
        match int(rng.integers(4)):
            case 0:
                row = self._row(rng)
            case 1:
                row = {item: self._steps(rng) for item in row}
            case 2:
                row = dict.fromkeys(range(self.domain.n_items), self._steps(rng))
            case _:
                for item in rng.integers(self.domain.n_items, size=int(rng.integers(1, 4))):
                    row[int(item)] = self._steps(rng)
        return {**people, changed_user: row}

    def _row(self, rng: Generator) -> dict[int, int]:
        n = self.domain.n_items
        return {int(item): self._steps(rng) for item in rng.permutation(n)[: rng.integers(1, n + 1)]}

    def _steps(self, rng: Generator) -> int:
        """Draw a rating, often one of the ends of the scale."""
        return int(rng.choice([0, self.top, int(rng.integers(self.top + 1))]))


def choices(seed: int) -> Generator:
    """Return the generator of a search's random choices.

    Privacy: public; it draws no noise.
    """
    return default_rng(seed)


def without(people: Given, user: str, item: int | None = None) -> Given:
    """Return people without one of a user's ratings, or without the user.

    Privacy: public, made up.
    """
    # A user without ratings is nobody: removing the only one removes the user.
    remaining = {i: steps for i, steps in people[user].items() if item not in (None, i)}
    others = {name: row for name, row in people.items() if name != user}
    return {**others, user: remaining} if remaining else others


def with_rating(people: Given, user: str, item: int, steps: int) -> Given:
    """Return people with one rating of a user added or changed.

    Privacy: public, made up.
    """
    return {**people, user: {**people.get(user, {}), item: steps}}


def _turn_last(people: Given, user: str, top: int) -> Given:
    """Move the last rating of a user to the end of the scale that is farther from it."""
    item = max(people[user])
    return with_rating(people, user, item, 0 if 2 * people[user][item] >= top else top)
