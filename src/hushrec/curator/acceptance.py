"""Whether what loading dropped or changed stops a release; checked before the charge."""

from hushrec.data.feedback import Feedback
from hushrec.data.packed.blocks import Blocks
from hushrec.errors import RecordsDropped

_SEE = (
    "Nothing was charged. To see what was dropped or changed, and why, run hushrec check, or call "
    "hushrec.check"
)


def require_accepted(ratings: Feedback | Blocks, *, accepted: bool) -> None:
    """Refuse to spend a budget if much was dropped or changed, which a wrong column or scale does.

    More than a tenth of the records is much (``Dropped.lost`` says which count). Messages show no number:
    how many there are is private.

    Args:
        ratings: what is to be charged for.
        accepted: whether the curator accepts what was dropped or changed. Without any user there is nothing
            to accept.

    Raises:
        RecordsDropped: too much was dropped or changed, or nobody is left.

    Privacy: private: the refusal depends on the records. The curator sees it, readers of releases do not
    (``docs/check.md`` says what it can tell).
    """
    if not ratings.n_users:
        raise RecordsDropped(f"nobody has an item left after loading: nothing to measure. {_SEE}")
    if ratings.dropped.too_many(ratings.domain) and not accepted:
        raise RecordsDropped(
            "more than a tenth of the records were dropped or changed when they were loaded, so a column, "
            f"the scale or the catalogue may be wrong. {_SEE}. If this is how it should be, accept it: "
            "accept_dropped=True, or --accept-dropped"
        )
