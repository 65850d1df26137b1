"""Which column holds which part of a rating.

Privacy: column names are treated as public; cells are never read here.
"""

from collections.abc import Mapping, Sequence

from hushrec.errors import DataError

ROLES = ("user_id", "item_id", "rating", "timestamp", "epsilon")
_OPTIONAL = ("timestamp", "epsilon")
_KNOWN = {
    "userid": "user_id",
    "user": "user_id",
    "itemid": "item_id",
    "item": "item_id",
    "movieid": "item_id",
    "rating": "rating",
    "timestamp": "timestamp",
    "epsilon": "epsilon",
    "privacy": "epsilon",
}

__all__ = ["ROLES", "Columns", "by_name", "by_position", "headerless"]

Columns = Mapping[str, str | int]


def headerless(columns: Columns | None) -> bool:
    """Whether the mapping gives positions, which means that the file has no header.

    Raises:
        DataError: the mapping has an unknown key, or mixes names and positions.
    """
    columns = columns or {}
    if unknown := sorted(set(columns) - set(ROLES)):
        raise DataError(f"columns= has the unknown key {unknown[0]!r}; the keys are {', '.join(ROLES)}")
    numbers = {isinstance(column, int) for column in columns.values()}
    if len(numbers) > 1:
        raise DataError("columns= mixes names and positions; give names if there is a header, else positions")
    return True in numbers


def by_position(columns: Columns | None, width: int, source: str) -> dict[str, int]:
    """Position of each role in a file without a header: as mapped, or user, item, rating, timestamp.

    The position of the requested ε is never guessed.

    Args:
        columns: role to position from 0, or None.
        width: number of fields in a line.
        source: the file, for errors.

    Raises:
        DataError: a required field is missing.
    """
    found = dict(zip(ROLES[:4], range(width), strict=False))
    if columns:
        found = {role: int(column) for role, column in columns.items()}
    missing = [role for role in ROLES[:3] if role not in found]
    if missing or not all(0 <= position < width for position in found.values()):
        raise DataError(
            f"{source}: a line has {width} field(s), which is too few for user_id, item_id and rating; check "
            'format= and separator=, or give positions: columns={"user_id": 0, "item_id": 1, "rating": 2}'
        )
    return found


def by_name(columns: Columns | None, names: Sequence[str], source: str) -> dict[str, int]:
    """Position of each role in a table with named columns.

    A role that is not mapped is recognised by its usual names, in any case: ``user_id``, ``userId``,
    ``UserID``, ``user``; ``item_id``, ``movieId``, ``item``; ``rating``; and, optionally, ``timestamp`` and
    ``epsilon`` or ``privacy``.

    Args:
        columns: role to column name; roles left out are recognised.
        names: the columns of the table.
        source: the file or table, for errors.

    Raises:
        DataError: a column is missing or ambiguous. Names the existing columns, unless they look like data.
    """
    if headerless(columns):
        raise DataError(f"{source} has named columns; give names in columns=, not positions")
    found = {}
    for role in ROLES:
        wanted = (columns or {}).get(role)
        matches = [
            place for place, name in enumerate(names) if name == (wanted if wanted is not None else role)
        ]
        if wanted is None and (not matches or role == "epsilon"):  # of two ε columns, neither may be ignored
            matches = [place for place, name in enumerate(names) if _KNOWN.get(_folded(name)) == role]
        if len(matches) == 1:
            found[role] = matches[0]
        elif matches or wanted is not None or role not in _OPTIONAL:
            what = "more than one column for" if matches else "no column for"
            raise DataError(f"{source}: {what} {role}; {_advice(names)}")
    return found


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _advice(names: Sequence[str]) -> str:
    # The first line of a file without a header holds someone's rating, which must not be printed.
    if any(name[:1] in "+-.,0123456789" for name in names):
        return (
            "the first line looks like data, not like a header; if there is no header, give positions: "
            'columns={"user_id": 0, "item_id": 1, "rating": 2}'
        )
    if not any(word in _folded(name) for name in names for word in _KNOWN):
        return (
            "no column has a usual name, and the names are not shown, since they may be private; say "
            'which is which: columns={"user_id": ..., "item_id": ..., "rating": ...}'
        )
    listed = ", ".join(names)
    return f'it has {listed}; say which is which: columns={{"user_id": ..., "item_id": ..., "rating": ...}}'
