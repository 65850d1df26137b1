"""The choice of the column for each part of a rating or interaction, and advice where one is missing.

Privacy: column names are treated as public, unless the first line looks like a person's record. Cells are
never shown: only the separator of a line that may be a record is named.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hushrec.data.reading import Columns
from hushrec.errors import DataError

_MARKS = {
    "\t": ("tabs", 'format="tsv"'),
    ";": ("semicolons", 'separator=";"'),
    "::": ('"::" and has no header', 'format="dat"'),
    "|": ('"|"', 'separator="|"'),
    ",": ("commas", 'format="csv"'),
}
"""Separators, each with its name and the fix for a line that it divides; the first that occurs counts."""
_SHOWN = 12  # names in an error: chosen by hand


def divided_by(line: str) -> tuple[str, str]:
    """Return the separator that a line holds, and its name; both empty if it holds none."""
    return next(((mark, name) for mark, (name, _) in _MARKS.items() if mark in line), ("", ""))


def divided(line: str) -> str:
    """Advise on a line that was read as one field but holds another separator; empty if it holds none."""
    for mark, (name, fix) in _MARKS.items():
        if mark in line:
            return f"its lines are one field, and seem to be divided by {name}: give {fix}"
    return ""


def example_positions(required: Sequence[str]) -> str:
    """Write an example of a mapping to positions."""
    return _mapping({role: str(place) for place, role in enumerate(required)})


def _mapping(cells: Mapping[str, str]) -> str:
    """Write a mapping of roles to columns, as typed in Python and on the command line."""
    in_shell = " ".join(
        f"--column {role}={'NAME' if cell == '...' else cell}" for role, cell in cells.items()
    )
    in_python = ", ".join(f'"{role}": {cell}' for role, cell in cells.items())
    return f"Reading(columns={{{in_python}}}) ({in_shell})"


def named(names: Sequence[str], required: Sequence[str], words: set[str]) -> str:
    """Advise on a table that lacks a column.

    Args:
        required: the roles that a table must have.
        words: usual names of columns, in lower case and without underscores.
    """
    if len(names) == 1 and (fix := divided(names[0])):
        return f"{fix}; --format and --separator on the command line"
    # The first line of a file without a header holds someone's record, which must not be printed.
    if any(name[:1] in "+-.,0123456789" for name in names):
        return (
            "the first line looks like data, not like a header; if there is no header, give positions: "
            f"{example_positions(required)}"
        )
    which = "say which is which: " + _mapping(dict.fromkeys(required, "..."))
    if not any(word in name.replace("_", "").lower() for name in names for word in words):
        return (
            "no column has a usual name, and the names are not shown, since they may be private; "
            f"{which}; or, if there is no header, give positions: {example_positions(required)}"
        )
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"it has {', '.join(names[:_SHOWN])}{more}; {which}"


Roles = tuple[str, ...]
RATED: Roles = ("user_id", "item_id", "rating", "timestamp", "personal_epsilon")
UNRATED: Roles = ("user_id", "item_id", "timestamp", "personal_epsilon")
COUNTED: Roles = ("user_id", "item_id", "count", "timestamp", "personal_epsilon")
"""The roles of the columns of ratings, of interactions, and of interactions with counts."""
UNUSED = "unused_rating"
"""A stand-in for a role: the rating of interactions, which do not use it."""
_OPTIONAL = ("count", "timestamp", "personal_epsilon", UNUSED)
_KNOWN = {
    "userid": "user_id",
    "user": "user_id",
    "itemid": "item_id",
    "item": "item_id",
    "movieid": "item_id",
    "rating": "rating",
    "count": "count",
    "timestamp": "timestamp",
    "personalepsilon": "personal_epsilon",
    "epsilon": "personal_epsilon",
    "privacy": "personal_epsilon",
}

NONE: Mapping[str, Any] = MappingProxyType({})


def headerless(columns: Columns, roles: Roles = RATED) -> bool:
    """Return True if the mapping gives positions, which means that the file has no header."""
    keys = [role for role in roles if role != UNUSED]
    if unknown := sorted(set(columns) - set(keys)):
        raise DataError(
            f"columns= has the unknown key {unknown[0]!r}; the keys for this domain are {', '.join(keys)}"
        )
    numbers = {isinstance(column, int) for column in columns.values()}
    if len(numbers) > 1:
        raise DataError("columns= mixes names and positions; give names if there is a header, else positions")
    return True in numbers


def of_folders(constants: Mapping[str, str | None], names: Sequence[str]) -> dict[str, str | None]:
    """Return the columns that only a file's folders state; those that the file has too are left out."""
    return {name: cell for name, cell in constants.items() if name not in names}


def by_position(
    columns: Columns,
    width: int,
    source: str,
    roles: Roles = RATED,
    constants: Mapping[str, str | None] = NONE,
    *,
    line: str = "",
) -> dict[str, int]:
    """Return the position of each role in a file without a header: mapped, or user, item, rating, timestamp.

    The positions of a count and of the requested ε are never guessed.

    Args:
        columns: role to position from 0.
        width: number of fields in a line.
        source: the file, for errors.
        line: the line, if it is one field: the error names the separator that it holds instead.
        constants: columns that the file's folders state, none of which may have a role: it would be ignored.
    """
    if folder_columns := sorted(name for name in constants if _KNOWN.get(_folded(name)) in roles):
        raise DataError(
            f"{source}: its folders state the column {folder_columns[0]}, but the file has no header; "
            "add a header, or rename the folder"
        )
    usual = [UNUSED if role not in roles and role == "rating" else role for role in RATED[:4]]
    positions = {role: place for place, role in enumerate(usual) if role in roles and place < width}
    if columns:
        positions = {role: int(column) for role, column in columns.items()}
    *others, last = required = _required(roles)
    missing = [role for role in required if role not in positions]
    if missing or not all(0 <= position < width for position in positions.values()):
        raise DataError(
            f"{source}: a line has {width} field(s), which is too few for {', '.join(others)} and {last}; "
            f"{divided(line) or 'check format= and separator='}, or give positions: "
            f"{example_positions(required)}"
        )
    return positions


def by_name(
    columns: Columns,
    names: Sequence[str],
    source: str,
    roles: Roles = RATED,
) -> dict[str, int]:
    """Return the position of each role in a table with named columns.

    A role that is not mapped is recognised by its usual names, in any case: ``user_id``, ``userId``,
    ``UserID``, ``user``; ``item_id``, ``movieId``, ``item``; ``rating``; and, optionally, ``count``,
    ``timestamp`` and ``personal_epsilon``, ``epsilon`` or ``privacy``.

    Args:
        columns: role to column name; roles left out are recognised.
        names: the columns of the table.
        source: the file or table, for errors.
        roles: the roles that are read; other columns are ignored.
    """
    if headerless(columns, roles):
        raise DataError(f"{source} has named columns; give names in columns=, not positions")
    positions: dict[str, int] = {}
    for role in roles:
        if role == UNUSED:
            continue
        mapped = columns.get(role)
        matches = [
            place for place, name in enumerate(names) if name == (mapped if mapped is not None else role)
        ]
        if mapped is None and (
            not matches or role == "personal_epsilon"
        ):  # of two ε columns, neither may be ignored
            matches = [place for place, name in enumerate(names) if role_of(name) == role]
        if len(matches) == 1:
            positions[role] = matches[0]
        elif matches or mapped is not None or role not in _OPTIONAL:
            problem = "more than one column for" if matches else "no column for"
            # Many titles contain "count", and a title is not a header.
            fix = named(names, _required(roles), set(_KNOWN) - {"count"})
            raise DataError(f"{source}: {problem} {role}; {fix}")
    left = {place: name for place, name in enumerate(names) if place not in positions.values()}
    if UNUSED in roles:
        unused = [place for place, name in left.items() if name == UNUSED or role_of(name) == "rating"]
        positions |= dict(zip([UNUSED], unused, strict=False))
    return positions


def role_of(name: str) -> str | None:
    """Return the role that a column of this name usually has, None if it is not a usual name."""
    return _KNOWN.get(_folded(name))


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _required(roles: Roles) -> Roles:
    return tuple(role for role in roles if role not in _OPTIONAL)
