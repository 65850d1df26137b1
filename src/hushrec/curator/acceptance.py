"""Every refusal that needs the data: checked before a charge, and before a ledger or a checkpoint exists."""

from hushrec.curator.memory import require_memory
from hushrec.data.feedback import Feedback
from hushrec.data.losses.dropped import Refusal
from hushrec.data.packed.blocks import Blocks
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import RecordsDropped, UsersExceeded
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.statistics.footprint import Footprint

_SEE = (
    "Nothing was charged. To see what was dropped or changed, and why, run hushrec check, or call "
    "hushrec.check"
)
_ACCEPT = "If this is how it should be, accept it: accept_dropped=True, or --accept-dropped"


_REFUSED: dict[Refusal, str] = {
    "nobody": f"nobody has an item left after loading: nothing to measure. {_SEE}",
    "empty": f"there is no record, so a budget would buy noise alone. {_SEE}. {_ACCEPT}",
    "dropped": "more than a tenth of the records were dropped or changed when they were loaded, so a column, "
    f"the scale or the catalogue may be wrong. {_SEE}. {_ACCEPT}",
    "users": "there are more than twice as many users as the domain declares, so another column may stand in "
    "place of users; and δ is chosen for at most as many as are declared. Nothing was charged. To see how "
    "many there are, run hushrec check, or call hushrec.check. If there are so many people, declare a larger "
    "bound from public knowledge: hushrec domain --max-users. Or accept it: accept_users=True, or "
    "--accept-users",
}


def pays(account: Ledger, entropy: Entropy | None) -> bool:
    """Whether a charge spends a population's budget: not in memory, nor for a seeded experiment.

    Privacy: public.
    """
    return account.kept and (entropy is None or entropy.private)


def admit(
    people: Feedback | Blocks | SparkFeedback,
    model: str,
    footprint: Footprint | None,
    *,
    spends: bool,
    accept_dropped: bool = False,
    accept_users: bool = False,
) -> None:
    """Refuse what would waste a charge, or what this machine has too little memory for.

    Args:
        people: what is to be charged for.
        model: name of the model or method.
        footprint: what it needs in addition to the people; None for next to nothing.
        spends: whether a population's budget is spent (``pays``), and the refusal is not seen by others as a
            device's is; otherwise only memory is asked for.
        accept_dropped, accept_users: as for ``fit``.

    Privacy: private: the refusal depends on the records. The curator sees it, readers of releases do not
    (``docs/check.md`` says what it can tell).
    """
    if spends:
        require_accepted(people, accept_dropped=accept_dropped, accept_users=accept_users)
    if footprint is not None:
        require_memory(model, footprint, people)


def require_accepted(
    people: Feedback | Blocks | SparkFeedback, *, accept_dropped: bool, accept_users: bool
) -> None:
    """Refuse to spend a budget on a file whose columns, scale, catalogue or bound on users may be wrong.

    More than a tenth of the records dropped or changed is too much (``Dropped.lost`` says which count), and
    so are more than twice as many users as declared. Messages show no number: how many there are is private.

    Args:
        people: what is to be charged for.
        accept_dropped: whether the curator accepts what was dropped or changed, or that there are no records.
            If there are records and nobody is left, there is nothing to accept.
        accept_users: whether the curator accepts so many users.

    Privacy: private: the refusal depends on the records.
    """
    accepted = {"empty": accept_dropped, "dropped": accept_dropped, "users": accept_users}
    for reason in people.dropped.refused(people.domain, people.n_users):
        if not accepted.get(reason):
            raise (UsersExceeded if reason == "users" else RecordsDropped)(_REFUSED[reason])
