"""Nearest users, without noise: for released data that was randomized before, and as a baseline."""

from typing import ClassVar, Literal

from pydantic import Field

from hushrec.data.anywhere import AnyPeople
from hushrec.models.base import Noiseless
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.release.kinds import DISTANCES, LARGEST_COUNT
from hushrec.release.statement import placeholder_statement


class UserKNN(Noiseless):
    """Mean rating by the K nearest users who rated the item (Du, Leighton & Patel 2019, §IV.B).

    r̂_ui = Σ_{v ∈ N} r_vi/n, N the n ≤ K users nearest to u among those who rated i. A user is the vector of
    their ratings, 0 where they rated nothing; the target item is left out. The release holds the ratings
    themselves, so publish it only if you may publish the ratings.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    glance: ClassVar = {
        "measures": "everything exactly: for released data",
        "predicts by": "ratings of the nearest users in released data: not private on its own",
        "noise": "none",
        "lists users": "no",
        "paper": "Du, Leighton & Patel 2019, §IV.B",
        "page": "not_private",
    }
    n_neighbours: int = Field(default=50, ge=1, le=LARGEST_COUNT)
    """K."""
    distance: Literal["squared", "cosine", "pearson"] = "squared"
    """``squared`` for ‖a − b‖², ``cosine`` for the cosine of the angle, ``pearson`` for the cosine after
    a user's mean is subtracted from their ratings (unrated items stay 0).
    """

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Release the ratings, as rows without names.

        Privacy: private, unless the ratings are public.
        """
        ratings = people.gathered()
        domain = ratings.domain
        lo, hi, step = domain.scale
        assert ratings.values is not None
        index = DISTANCES.index(self.distance)
        return Release(
            model=type(self).__name__,
            settings=self.settings(),
            kind="people's rows",
            items=domain.items,
            scale=(lo, hi, step),
            constants={"neighbours": float(self.n_neighbours), "distance": float(index)},
            tensors={"row_starts": ratings.indptr, "row_items": ratings.items, "row_steps": ratings.values},
            statement=placeholder_statement(),
        )
