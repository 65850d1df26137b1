"""Every refusal of a charge that needs the data or the machine, in one order, and what a curator accepts."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal, get_args

from hushrec.data.anywhere import AnyPeople
from hushrec.data.dropped import Refusal
from hushrec.data.machine import machine
from hushrec.data.people import PublicFacts
from hushrec.data.spark.people import SparkPeople
from hushrec.errors import (
    ConfigError,
    DataError,
    MemoryExceeded,
    RecordsDropped,
    ReleaseError,
    UsersExceeded,
)
from hushrec.privacy.accounting.plan import Plan
from hushrec.sums.footprint import Footprint, in_bytes

Accept = Literal["dropped", "users", "rating", "changed", "share", "weak"]
"""The reasons for which a charge is refused unless you accept them.

*dropped*: more than a tenth of the records were dropped or changed when they were loaded, or there are none.
*users*: there are more than twice as many users as declared. *rating*: interactions have ratings other than
1, which are not used. *changed*: a stopped fit would go on with other rows than it was charged for. *share*:
later releases would have less than an equal share. *weak*: ε is above 8.
"""

_SEE = (
    "Nothing was charged. To see what was dropped or changed, and why, run hushrec check, or call "
    "hushrec.check"
)
_ACCEPT = 'If this is how it should be, accept it: accept="dropped", or --accept dropped'
_REFUSED: dict[Refusal, str] = {
    "nobody": f"no one has an item left after loading: nothing to measure. {_SEE}",
    "empty": f"there is no record, so a budget would buy noise alone. {_SEE}. {_ACCEPT}",
    "dropped": "more than a tenth of the records were dropped or changed when they were loaded, so a column, "
    f"the scale or the catalogue may be wrong. {_SEE}. {_ACCEPT}",
    "users": "there are more than twice as many users as the domain declares, so another column may stand in "
    "place of users; and δ is chosen for at most as many as are declared. Nothing was charged. To see how "
    "many there are, run hushrec check, or call hushrec.check. If all are real users, declare a larger "
    "bound from public knowledge: hushrec domain --max-users. Or accept it: "
    'accept="users", or --accept users',
    "rating": "the records have ratings other than 1, which this domain of interactions does not use, so a "
    "dislike counts as a like. Nothing was charged. If people rate, declare the scale and which ratings are "
    "likes: hushrec domain --scale LO HI STEP --likes RATING. If the ratings do not say whether a user liked "
    'an item, accept it: accept="rating", or --accept rating',
}
_THE_SAME = (
    "the prior is a baseline of these same people, without noise: no ε would cover what it tells of them. "
    "Nothing was charged. Leave it out, make the baseline of other people, whose data are public, or take a "
    "private release"
)
_ACCEPTED_BY: dict[Refusal, Accept | None] = {
    "nobody": None,
    "empty": "dropped",
    "dropped": "dropped",
    "users": "users",
    "rating": "rating",
}


def parse_accept(accept: str | Collection[str]) -> frozenset[str]:
    """The reasons that are accepted, as a set."""
    reasons = frozenset({accept} if isinstance(accept, str) else accept)
    if unknown := reasons - {*get_args(Accept)}:
        raise ConfigError(
            f"accept: {sorted(unknown)[0]!r} is nothing that a charge is refused for; choose among "
            f"{', '.join(get_args(Accept))}"
        )
    return reasons


def require_loaded(people: object) -> None:
    """Refuse what was not loaded under a domain."""
    if not hasattr(type(people), "facts"):  # a table may have a column of this name
        raise DataError(
            f"this takes what was loaded under a domain, not {type(people).__module__.partition('.')[0]}'s "
            f"{type(people).__name__}; load it first with hushrec.load"
        )


def require_rows(facts: PublicFacts, what: str) -> None:
    """Refuse people whose rows stay in a cluster, for what needs all of them here.

    Args:
        what: what needs them.
    """
    if facts.sums_only:
        raise DataError(
            f"{what} needs all rows in the memory of one machine, but they are in a Spark cluster; load them "
            "here with hushrec.load"
        )


def require_classes(facts: PublicFacts) -> None:
    """Refuse data that does not say which of the domain's privacy classes each user is in."""
    if facts.domain.personal_epsilon and not facts.has_personal_epsilon:
        raise DataError(
            "the domain declares privacy classes, but the data have no column personal_epsilon that says who "
            "is in which; name the column with Reading(columns=…) or --column, or declare a domain without "
            "privacy classes"
        )


def admit(
    people: AnyPeople,
    plan: Plan,
    footprint: Footprint | None,
    accept: Collection[str] | None,
    *,
    public_people: Collection[str] = (),
    digest: Callable[[], str] | None = None,
) -> None:
    """Refuse, before the charge, what would waste it. This is the list of all such refusals, in their order.

    Args:
        people: what is to be charged for.
        plan: of the charge.
        footprint: memory that the work needs in addition to the people's rows; None for next to nothing.
        accept: what the curator accepts; None if the records may be anything.
        public_people: digests of people whose data the work takes for public facts.
        digest: of the people's rows, if it is computed in any case.

    Privacy: private: some refusals depend on the records. The curator sees them, readers of releases do not
    (``docs/load.md`` says what they can tell).
    """
    facts = people.facts
    require_classes(facts)
    if digest is None:
        people.verify()  # a damaged block would waste the charge
    elif digest() in public_people:
        raise ConfigError(_THE_SAME)
    if isinstance(people, SparkPeople):
        people.require_ready()
    if accept is not None:
        for reason in people.dropped.refused(facts.domain, people.n_users):
            if _ACCEPTED_BY[reason] not in accept:  # messages show no number: it is private
                raise (UsersExceeded if reason == "users" else RecordsDropped)(_REFUSED[reason])
    if footprint is not None:
        require_memory(plan.model, footprint, people)


def require_memory(model: str, footprint: Footprint, people: AnyPeople) -> None:
    """Refuse what needs more memory than this machine has, before it costs anything.

    Privacy: public, except for the refusal, which reveals as much as running out of memory would.
    """
    whole, free = machine()
    if footprint.bytes_held(*people.rows_held(footprint.gathered)) <= free:
        return
    lower = f"a smaller {footprint.lowered_by}" if footprint.lowered_by else "a smaller catalogue or rank"
    raise MemoryExceeded(
        f"{model} needs {footprint.room}; this machine has {in_bytes(whole)}, and too little is free. "
        f"Nothing was charged. Choose {lower}, another model (hushrec plan shows what each needs), "
        "or a machine with more memory"
    )


def require_writable(out: Path, *suffixes: str) -> None:
    """Refuse an output file, before anything is done, that could not be written afterwards."""
    if out.suffix not in suffixes:
        named = " or ".join(f"{out.name}{suffix}" for suffix in suffixes)
        raise ReleaseError(f"-o {out}: its ending says the format; name it {named}")
    if out.exists():
        raise ReleaseError(f"{out} exists; choose another file with -o")
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise ReleaseError(f"{out.parent} is not a writable folder; choose another file with -o")
