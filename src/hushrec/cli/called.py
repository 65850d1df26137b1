"""Items as people call them: ids, or titles that are found in a release.

Privacy: what people give stays on their device; it is named on standard error alone.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hushrec.cli import console
from hushrec.errors import DataError
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.client import Client

_SHOWN = 10


def called(client: "Client", names: Iterable[str]) -> dict[str, str]:
    """The id of each name that means one item of the catalogue; others are left out.

    What a title was taken for, and what is left out, is said on standard error.
    """
    found, unknown = {}, []
    for name in dict.fromkeys(names):
        ids = client.find(name)
        if len(ids) > 1:
            choices = [f"{item} ({client.title(item)})" for item in ids[:_SHOWN]]
            choices += [f"{len(ids) - _SHOWN:,} more"] * (len(ids) > _SHOWN)
            clear = all(client.find(client.title(item)) == [item] for item in ids[:_SHOWN])
            full = ", or the title in full, as it stands here" * clear
            raise DataError(f"{name!r} may be {', '.join(choices)}: give an id{full}")
        if not ids:
            unknown.append(name)
            continue
        (found[name],) = ids
        if ids[0] != name:
            console.err().print(f"{escaped(name)}: {client.title(ids[0])} ({ids[0]})", soft_wrap=True)
    if unknown:
        console.err().print(
            f"Ignored, not in this release's catalogue: {escaped(', '.join(sorted(unknown)))}", soft_wrap=True
        )
    return found


def by_id(client: "Client", own: Mapping[str, float] | list[str]) -> dict[str, float] | list[str]:
    """What a user gave, by ids."""
    ids = called(client, own)
    if own and not ids:
        raise DataError(
            "nothing of what was given is in this release's catalogue, by id or title; check the spelling, "
            "or give nothing to list what is popular"
        )
    if isinstance(own, Mapping):
        return {ids[name]: value for name, value in own.items() if name in ids}
    return [ids[name] for name in own if name in ids]


def one(client: "Client", name: str) -> str:
    """The id of an item that must be there."""
    return called(client, [name]).get(name, name)


def said(client: "Client", item: str) -> dict[str, str | None]:
    """An item in JSON: its id, and its title or null."""
    title = client.title(item)
    return {"id": item, "title": title if client.release.titles and title != item else None}
