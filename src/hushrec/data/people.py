"""One protocol for the people of a population: in memory, in block files or in Spark."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, Self

from hushrec.data.domain import Domain
from hushrec.data.losses.dropped import Dropped

__all__ = ["People", "PublicFacts"]


class PublicFacts(NamedTuple):
    """What is public of people's data before any record is read.

    Attributes:
        domain: the public domain.
        has_personal_epsilon: whether a column says the ε that each user requests.
        sums_only: whether the rows stay in a cluster, and only sums over users come from there.

    Privacy: public.
    """

    domain: Domain
    has_personal_epsilon: bool = False
    sums_only: bool = False


class People(Protocol):
    """The users of one population with what each of them gave, as a fit needs them.

    ``Ratings`` and ``Interactions`` hold them in memory, ``Blocks`` in files, ``SparkFeedback`` in a cluster.

    Privacy: private, but for ``domain``, ``has_personal_epsilon`` and ``sums_only``.
    """

    @property
    def domain(self) -> Domain:
        """The public domain."""
        ...

    @property
    def has_personal_epsilon(self) -> bool:
        """Whether users request their own ε. Privacy: public, determined by the source's columns."""
        ...

    @property
    def sums_only(self) -> bool:
        """Whether only sums over users leave the place of the rows. Privacy: public."""
        ...

    @property
    def facts(self) -> PublicFacts:
        """All that is public of them. Privacy: public."""
        ...

    @property
    def dropped(self) -> Dropped:
        """How many records were read, and what was dropped or changed."""
        ...

    @property
    def n_users(self) -> int:
        """Number of users with at least one item."""
        ...

    @property
    def n_entries(self) -> int:
        """Number of ratings or interactions."""
        ...

    def held(self, gathered: bool) -> tuple[int, int]:
        """The most entries and users whose rows this machine's memory holds at once during a fit.

        Args:
            gathered: whether the fit brings all rows together.
        """
        ...

    def verify(self) -> None:
        """Refuse rows that are not what was loaded, or a cluster that is not ready to sum them.

        Raises:
            DataError: What differs, and what to do.
        """
        ...

    def digest(self) -> str:
        """Verify, and return the SHA-256, in hex, of all that a fit reads."""
        ...

    def capped(self, max_per_user: int) -> Self:
        """At most ``max_per_user`` entries of each user."""
        ...

    def blocks(self) -> Iterator[Any]:
        """``Ratings`` or ``Interactions``, block by block: each user is in exactly one."""
        ...

    def gathered(self) -> Any:
        """All rows in memory.

        Raises:
            DataError: They stay in a cluster.
        """
        ...
