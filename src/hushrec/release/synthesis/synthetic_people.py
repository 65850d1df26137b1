"""Synthetic people of a release: any number of rows, drawn from what the file says.

Privacy: post-processing.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (draws from a public model, no release noise)
from numpy.typing import NDArray

from hushrec.arrays import Ints
from hushrec.documents import words
from hushrec.documents.words import Clause
from hushrec.errors import ReleaseError
from hushrec.figures import is_number, whole
from hushrec.progress import Progress, fraction, telling
from hushrec.release.artefact import Release
from hushrec.release.predictors.block_scores import Rows
from hushrec.release.synthesis.choices import Choices
from hushrec.release.synthesis.lengths import SPREAD, Lengths, lengths_with
from hushrec.release.synthesis.rated_people import RatedPeople
from hushrec.release.synthesis.simulated_moments import calibrated
from hushrec.release.synthesis.user_moments import popularity_moments, user_moments

FORMAT = 1
"""Version of the facts."""
MOST_PEOPLE = 10**9
"""Largest number of people."""
_MOST_ROWS = 1 << 28
"""Largest expected number of rows that are made in memory."""
_CELLS = 1 << 22
"""People times items of a block; part of what the rows are."""
_MEAN_ITEMS = 50.0
"""Mean number of items where the release does not say it."""
_RATED = frozenset({"factors", "factors and people", "neighbours", "dense neighbours"})


class _Drawer(Protocol):
    def drawn(self, lengths: Ints, rng: Generator) -> Any: ...


class SyntheticPeople:
    """People who never existed, drawn from a release. The same seed gives the same people.

    More people tell no more about anybody: whatever is drawn follows from the release and the seed.

    Args:
        release: any but those of people's randomized rows.
        n_users: number of people. Models that are trained on them fit sampling noise unless it is several
            times the number of real people.
        seed: of the draws.
        mean_items: mean number of items of a person; by default what the release says, or 50.

    Attributes:
        lengths: the distribution of a person's number of items.

    Raises:
        ReleaseError: The release holds no model of people, its numbers are unusable, or there are fewer
            than 1 or more than 10⁹ people.

    Privacy: post-processing of a release.
    """

    def __init__(
        self, release: Release, n_users: int, *, seed: int = 0, mean_items: float | None = None
    ) -> None:
        n_users, seed = whole(n_users, "n_users", 1, ReleaseError), whole(seed, "seed", 0, ReleaseError)
        if n_users > MOST_PEOPLE:
            raise ReleaseError(f"synthesize from 1 to {MOST_PEOPLE:,} people: n_users is {n_users:,}")
        most = max(len(release.items) / 2, 1)
        if mean_items is not None and not (is_number(mean_items) and 1 <= mean_items <= most):
            raise ReleaseError("mean_items must be 1 or more, and at most half the number of items")
        self.release, self.n_users, self.seed = release, n_users, seed
        try:
            with np.errstate(all="ignore"):
                self._drawer, self.lengths = _drawer(release, mean_items)
        except (np.linalg.LinAlgError, ArithmeticError):
            raise ReleaseError("the release's numbers are unusable; fetch it again") from None

    @property
    def n_rows(self) -> int:
        """About how many rows there are."""
        return round(self.n_users * self.lengths.mean)

    def blocks(self) -> Iterator[Rows]:
        """Draw all people, block by block, in order.

        Yields:
            Positions of each one's items in ``release.items``, ascending, and their ratings, or 1.
        """
        size = max(_CELLS // max(len(self.release.items), 1), 1)
        lengths = default_rng([self.seed, 0]).permutation(self.lengths.quantiles(self.n_users))
        with fraction("drawing synthetic people") as reached:
            for number, start in enumerate(range(0, self.n_users, size), 1):
                drawn = self._drawer.drawn(lengths[start : start + size], default_rng([self.seed, number]))
                yield drawn[0] if isinstance(self._drawer, Choices) else drawn
                reached.reach(min(start + size, self.n_users), self.n_users)

    def columns(self, *, progress: Progress | None = None) -> dict[str, NDArray[Any]]:
        """Return the table as columns for pandas or polars: ``user_id``, ``item_id``, and ``rating``, if any.

        Raises:
            ReleaseError: The table is too large for memory.
        """
        if self.n_rows > _MOST_ROWS:
            raise ReleaseError(
                f"about {self.n_rows:,} rows are too many for memory; write them to a file "
                "(hushrec synthesize)"
            )
        with telling(progress):
            blocks = list(self.blocks())
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])
        width = len(str(self.n_users))
        ids = np.array([f"{number:0{width}d}" for number in range(1, self.n_users + 1)], dtype=object)
        items = np.array(self.release.items, dtype=object)
        columns = {
            "user_id": np.repeat(ids, counts),
            "item_id": items[np.concatenate([block.items for block in blocks])],
        }
        if self.release.feedback == "ratings":
            columns["rating"] = np.concatenate([block.values for block in blocks])
        return columns

    def sayings(self) -> tuple[str, ...]:
        """Say what the rows are, what they are good for and what not."""
        return tuple(words.clause(clause) for clause in self._clauses())

    def facts(self) -> dict[str, Any]:
        """Everything about the rows, as JSON values: what they are, and the release with its statement."""
        return {
            "format": FORMAT,
            "kind": "synthetic people",
            "says": list(self.sayings()),
            "n_users": self.n_users,
            "seed": self.seed,
            "mean_items": round(self.lengths.mean, 2),
            "spread_of_log_items": SPREAD,
            "model": self.release.model,
            "dimensions": self.release.dimensions,
            "sha256": hashlib.sha256(self.release.to_bytes()).hexdigest(),
            "statement": self.release.statement.to_json(),
        }

    def _clauses(self) -> Iterator[Clause]:
        yield Clause("synthetic.nobody")
        yield Clause("synthetic.unprotected" if self.release.statement.unprotected else "synthetic.guarantee")
        yield Clause("synthetic.equal")
        if self.release.kind == "item scores":
            yield Clause("synthetic.counts")
        elif self.release.feedback == "ratings":
            yield Clause("synthetic.ratings", {"n": self.release.dimensions})
        else:
            yield Clause("synthetic.pairs", {"n": self.release.dimensions})
        yield Clause("synthetic.assumed", {"mean": round(self.lengths.mean, 1)})
        yield Clause("synthetic.use")


def _drawer(release: Release, mean_items: float | None) -> tuple[_Drawer, Lengths]:
    """Return what draws the people of a kind of release, and their numbers of items."""
    n_items = len(release.items)
    declared = lengths_with(min(mean_items or _MEAN_ITEMS, n_items / 2), math.inf, n_items)
    if release.kind in _RATED:
        return RatedPeople(release, declared), declared
    if release.kind == "linear items":
        moments = user_moments(release)
        if mean_items is not None:
            moments = moments._replace(lengths=declared)
    elif release.kind == "item scores":
        moments = popularity_moments(release.tensors["item_scores"], declared)
    else:
        raise ReleaseError(
            f"a release of {release.model} holds rows of a released data set, not a model of people; use "
            "that data set as it is"
        )
    return calibrated(moments), moments.lengths
