"""Advice on missing columns: another separator, one row per record, names or positions.

Privacy: column names are treated as public, unless the first line looks like a person's record. Cells are
never shown: only the separator of a line that may be a record is named.
"""

import json
from collections.abc import Mapping, Sequence

_MARKS = {
    "\t": 'tabs: give format="tsv"',
    ";": 'semicolons: give separator=";"',
    "::": '"::" and has no header: give format="dat"',
    "|": '"|": give separator="|"',
    ",": 'commas: give format="csv"',
}
"""Separators, each with the fix for a line that it divides; the first that occurs counts."""
_WIDE = 8  # columns; a table of records has fewer: chosen by hand
_SHOWN = 12  # names in an error: chosen by hand

__all__ = ["divided", "named", "positions"]


def divided(line: str) -> str:
    """Advise on a line that was read as one field but holds another separator; empty if it holds none."""
    for mark, fix in _MARKS.items():
        if mark in line:
            return f"its lines are one field, and seem to be divided by {fix}"
    return ""


def positions(required: Sequence[str]) -> str:
    """Write an example of a mapping to positions."""
    return _mapping({role: str(place) for place, role in enumerate(required)})


def _mapping(cells: Mapping[str, str]) -> str:
    """Write a mapping of roles to columns, as typed in Python and on the command line."""
    in_shell = " ".join(
        f"--column {role}={'NAME' if cell == '...' else cell}" for role, cell in cells.items()
    )
    in_python = ", ".join(f'"{role}": {cell}' for role, cell in cells.items())
    return f"Reading(columns={{{in_python}}}) ({in_shell})"


def named(
    names: Sequence[str], required: Sequence[str], missing: Sequence[str], words: set[str], user: str = ""
) -> str:
    """Advise on a table that lacks a column.

    Args:
        required: the roles that a table must have.
        missing: those roles that no column name stands for.
        words: usual names of columns, in lower case and without underscores.
        user: the column of the users, if it is known.
    """
    if len(names) == 1 and (fix := divided(names[0])):
        return f"{fix}; --format and --separator on the command line"
    sheet = len(names) >= _WIDE and set(required) - {"user_id"} <= set(missing)
    wide = _unpivoted(required, user) if sheet else ""
    if wide and "user_id" not in missing:
        return wide
    # The first line of a file without a header holds someone's record, which must not be printed.
    if any(name[:1] in "+-.,0123456789" for name in names):
        which = "the first line looks like data, not like a header; if there is no header, give positions: "
        return "; or, ".join(filter(None, [which + positions(required), wide]))
    which = "say which is which: " + _mapping(dict.fromkeys(required, "..."))
    if not any(word in name.replace("_", "").lower() for name in names for word in words):
        unshown = "no column has a usual name, and the names are not shown, since they may be private; "
        headless = f"if there is no header, give positions: {positions(required)}"
        return "; or, ".join(filter(None, [unshown + which, headless, wide]))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "; or, ".join(filter(None, [f"it has {', '.join(names[:_SHOWN])}{more}; {which}", wide]))


def _unpivoted(required: Sequence[str], user: str) -> str:
    """Advise on turning a sheet with a column for each item into one row per record."""
    value, selection = ("rating", "") if "rating" in required else ("given", '.filter(pl.col("given") > 0)')
    index = json.dumps(user or "USER", ensure_ascii=False)
    where = "" if user else ", where USER is the column of the users"
    return (
        "if it is a wide sheet with one column per item, make one row per record of it first, with polars: "
        f'table.unpivot(index={index}, variable_name="item_id", value_name="{value}")'
        f".drop_nulls(){selection}{where}"
    )
