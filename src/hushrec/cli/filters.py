"""Which items ``hushrec recommend`` may list: a list of ids, and conditions on public features."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.arrays import Bools, Floats
    from hushrec.data.features import ItemFeatures


def allowed_items(
    items: Sequence[str],
    allowed: Path | None,
    where: Sequence[str],
    features: Path | None,
    texts: Mapping[str, Sequence[str]] | None = None,
) -> set[str] | None:
    """The ids that may be listed, or None if there is no filter.

    Args:
        items: the release's catalogue.
        allowed: a file of ids, as ``read_ids`` takes it.
        where: conditions on the features, which must all hold.
        features: a file of public features, as ``hushrec.data.features.read`` takes it.
        texts: features that the release itself carries, for conditions without a file.
    """
    if bool(where) != (features is not None) and not (where and texts):
        raise DataError(
            "--where and --features go together, unless the release carries features: --where genres=Drama "
            "--features items.csv"
        )
    left = None
    if allowed is not None:
        from hushrec.data.readers.catalogue import read_ids

        left = set(read_ids(allowed))
    if where:
        from hushrec.data.domain import Domain
        from hushrec.data.features import of_texts, read

        known = read(features, Domain(items=items, max_users=1)) if features else of_texts(texts or {})
        for condition in where:
            holds = {item for item, held in zip(items, _holds(known, condition), strict=True) if held}
            left = holds if left is None else left & holds
    return left


def _holds(features: "ItemFeatures", condition: str) -> "Bools":
    """For which items a condition holds: NAME, a feature that is not 0, or NAME=NUMBER."""
    name, _, text = condition.rpartition("=")
    number: float | None = None
    if condition not in features.names:
        try:
            number = float(text)
        except ValueError:
            name = ""
        if name not in features.names:
            raise DataError(
                f"no feature is called {condition!r}; there are {_some(features.names)}. "
                "Columns of numbers are compared, as in --where year=1994"
            )
    place = features.names.index(condition if number is None else name)
    column: Floats = features.matrix[:, [place]].toarray()[:, 0]
    held: Bools = column != 0 if number is None else column == number
    return held


def _some(names: Iterable[str]) -> str:
    first = list(names)[:8]
    return ", ".join(map(repr, first)) + (" and others" if len(first) == 8 else "")
