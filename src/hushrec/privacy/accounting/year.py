"""A year of releases: those of one model on one ledger, which take over each other's sums."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hushrec.privacy.accounting.budget import Budget


@dataclass(frozen=True, slots=True)
class Year:
    """What a release takes over from earlier ones, and what all of them together may cost.

    A release that takes over sums states the ε of every charge whose noise is inside, with its own. ``whole``
    shapes the sums, so that all of the year measure alike; each release's own budget decides its noise.

    Args:
        whole: what all releases of the year may cost.
        sums: SHA-256 (hex) of what decides how the sums are formed, catalogue and noise apart: only equal
            ones are combined.
        releases: indexes of the earlier releases whose sums are inside, in order.
        spent: the cost of their charges, in units of 1e-12: μ², or ε at δ = 0.
        left_out: indexes of made releases of the same sums that are not inside.
    """

    whole: Budget
    sums: str
    releases: tuple[int, ...] = ()
    spent: int = 0
    left_out: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "whole": self.whole.model_dump(),
            "sums": self.sums,
            "releases": list(self.releases),
            "spent": self.spent,
            "left_out": list(self.left_out),
        }

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        """The year that ``to_json`` described."""
        whole, indexes = Budget(**facts["whole"]), (facts["releases"], facts["left_out"])
        releases, left_out = (tuple(map(int, listed)) for listed in indexes)
        return cls(whole, str(facts["sums"]), releases, int(facts["spent"]), left_out)
