"""Items as people call them: ids, or titles that are found in a release.

Privacy: what people give stays on their device; it is named on standard error alone.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from unicodedata import normalize

from hushrec.cli import console
from hushrec.errors import DataError
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.client import Client

_SHOWN = 10  # ids that an error lists at most; chosen by hand


def item_ids(client: "Client", names: Iterable[str]) -> dict[str, str]:
    """The id of the item that each name means; the name itself where it means none of the catalogue.

    Standard error says which item a title was taken for, and which titles are unknown.
    """
    ids_by_name, unknown = {}, []
    for name in dict.fromkeys(names):
        ids = client.find(name) or [name]
        if len(ids) > 1:
            raise DataError(_ambiguous(client, name, ids))
        (ids_by_name[name],) = ids
        if ids[0] != name:
            console.err().print(f"{escaped(name)}: {client.title(ids[0])} ({ids[0]})", soft_wrap=True)
        elif not client.find(name):
            unknown.append(name)
    if unknown:
        console.err().print(
            f"Ignored, not in this release's catalogue: {escaped(', '.join(sorted(unknown)))}", soft_wrap=True
        )
    return ids_by_name


def _ambiguous(client: "Client", name: str, ids: list[str]) -> str:
    """Say which items a name may mean, and how to name each alone."""
    choices = [f"{item} ({client.title(item)})" for item in ids[:_SHOWN]]
    choices += [f"{len(ids) - _SHOWN:,} more"] * (len(ids) > _SHOWN)
    clear = [client.find(client.title(item)) == [item] for item in ids[:_SHOWN]]
    message = f"{name!r} may be {', '.join(choices)}"
    if normalize("NFC", name) != ids[0]:
        return f"{message}: give an id{', or the title in full, as it stands here' * all(clear)}"
    message += f", as it is the id of {ids[0]} and the title of the rest"
    if clear[0]:
        return f"{message}: give the title of {ids[0]} in full, as it stands here, or the id of another"
    return f"{message}: give the id of another; {ids[0]} itself is named by its id in Python, hushrec.Client"


def item_json(client: "Client", item: str) -> dict[str, str | None]:
    """An item in JSON: its id, and its title or null."""
    title = client.title(item)
    return {"id": item, "title": title if client.release.titles and title != item else None}
