"""Nearest people, without noise: for data that was randomized when it was released, and as a baseline."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import Model
from hushrec.models.statements import unwritten
from hushrec.privacy.budget import Budget
from hushrec.privacy.mechanisms import Grant
from hushrec.privacy.plan import Plan
from hushrec.release.artefact import DISTANCES, LARGEST_COUNT, Release
from hushrec.statistics.query import Query


class UserKNN(Model):
    """Mean rating of the K nearest people among those who rated the item (Du, Leighton & Patel 2019, §IV.B).

    A person is the vector of his ratings, 0 where he rated nothing; the item that is asked about is left out.
    The release holds the ratings themselves, so it can be published only where they can.

    Args:
        neighbours: K.
        distance: ``squared`` for ‖a − b‖², ``cosine`` for the cosine of the angle, ``pearson`` for the same
            after subtracting from a person's ratings their mean, unrated ones staying 0.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    supports: ClassVar = frozenset()

    neighbours: int = Field(default=50, ge=1, le=LARGEST_COUNT)
    distance: Literal["squared", "cosine", "pearson"] = "squared"

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """There is none.

        Raises:
            BudgetUnsupported: Always.
        """
        raise BudgetUnsupported(
            "UserKNN shows the ratings themselves, so it takes no budget: release the data first with "
            "hushrec.release_data and fit on that, or choose a private model, such as CovarianceKNN"
        )

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """None: everything is exact."""
        return []

    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """None."""
        return {}

    def release(self, ratings: Ratings, budget: Budget, grant: Grant) -> Release:
        """The ratings, as nameless rows.

        Privacy: private, unless the ratings are public.
        """
        domain = ratings.domain
        lo, hi, step = domain.scale
        index = DISTANCES.index(self.distance)
        return Release(
            model=type(self).__name__,
            config=self.settings(),
            kind="people's rows",
            items=domain.items,
            scale=(lo, hi, step),
            constants={"neighbours": float(self.neighbours), "distance": float(index)},
            tensors={"row_starts": ratings.indptr, "row_items": ratings.items, "row_steps": ratings.steps},
            statement=unwritten(),
        )
