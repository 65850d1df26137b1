"""One protocol for the people of a population: in memory, in block files or in Spark."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, Self

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped


class PublicFacts(NamedTuple):
    """The public facts of people's data before any record is read.

    Attributes:
        domain: the public domain.
        has_personal_epsilon: True if a column holds the ε that each user requests.
        sums_only: True if the rows stay in a cluster, and only sums over users come from there.

    Privacy: public.
    """

    domain: Domain
    has_personal_epsilon: bool = False
    sums_only: bool = False


class People(Protocol):
    """The users of one population with their ratings or interactions, as a fit needs them.

    ``Ratings`` and ``Interactions`` hold them in memory, ``Blocks`` in files, ``SparkFeedback`` in a cluster.

    Privacy: private, except ``domain``, ``has_personal_epsilon`` and ``sums_only``.
    """

    @property
    def domain(self) -> Domain:
        """The public domain."""
        ...

    @property
    def has_personal_epsilon(self) -> bool:
        """True if users request their own ε. Privacy: public, determined by the source's columns."""
        ...

    @property
    def sums_only(self) -> bool:
        """True if only sums over users leave the place of the rows. Privacy: public."""
        ...

    @property
    def facts(self) -> PublicFacts:
        """All public facts. Privacy: public."""
        ...

    @property
    def dropped(self) -> Dropped:
        """The numbers of records that were read, dropped and changed."""
        ...

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        ...

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        ...

    def rows_held(self, gathered: bool) -> tuple[int, int]:
        """Return the most entries and users whose rows this machine's memory holds at once during a fit.

        Args:
            gathered: True if the fit brings all rows together.
        """
        ...

    def verify(self) -> None:
        """Refuse rows that are not what was loaded, or a cluster that is not ready to sum them.

        Raises:
            DataError: rows differ, or the cluster is not ready.
        """
        ...

    def digest(self) -> str:
        """Verify, and return the SHA-256, in hex, of all that a fit reads."""
        ...

    def capped(self, max_per_user: int) -> Self:
        """Keep at most ``max_per_user`` entries of each user."""
        ...

    def blocks(self) -> Iterator[Any]:
        """Yield ``Ratings`` or ``Interactions`` block by block; each user is in exactly one."""
        ...

    def gathered(self) -> Any:
        """Return all rows in memory.

        Raises:
            DataError: the rows stay in a cluster.
        """
        ...
