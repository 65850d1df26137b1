"""Whether what loading dropped or changed stops a release; checked before the charge."""

from hushrec.data.feedback import Feedback
from hushrec.data.packed.blocks import Blocks
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import RecordsDropped
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy

_SEE = (
    "Nothing was charged. To see what was dropped or changed, and why, run hushrec check, or call "
    "hushrec.check"
)
_ACCEPT = "If this is how it should be, accept it: accept_dropped=True, or --accept-dropped"


_REFUSED = {
    "nobody": f"nobody has an item left after loading: nothing to measure. {_SEE}",
    "empty": f"there is no record, so a budget would buy noise alone. {_SEE}. {_ACCEPT}",
    "dropped": "more than a tenth of the records were dropped or changed when they were loaded, so a column, "
    f"the scale or the catalogue may be wrong. {_SEE}. {_ACCEPT}",
}


def pays(account: Ledger, entropy: Entropy | None) -> bool:
    """Whether a charge spends a population's budget: not in memory, nor for a seeded experiment.

    Privacy: public.
    """
    return account.path is not None and (entropy is None or entropy.private)


def require_accepted(ratings: Feedback | Blocks | SparkFeedback, *, accepted: bool) -> None:
    """Refuse to spend a budget if much was dropped or changed, which a wrong column or scale does.

    More than a tenth of the records is much (``Dropped.lost`` says which count). Messages show no number:
    how many there are is private.

    Args:
        ratings: what is to be charged for.
        accepted: whether the curator accepts what was dropped or changed, or that there are no records. If
            there are records and nobody is left, there is nothing to accept.

    Raises:
        RecordsDropped: too much was dropped or changed, or nobody is left.

    Privacy: private: the refusal depends on the records. The curator sees it, readers of releases do not
    (``docs/check.md`` says what it can tell).
    """
    refused = ratings.dropped.refused(ratings.domain, ratings.n_users)
    if refused == "nobody" or (refused and not accepted):
        raise RecordsDropped(_REFUSED[refused])
