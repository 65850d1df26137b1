"""``hushrec domain``: declare what is public."""

from pathlib import Path
from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import read_list
from hushrec.errors import DomainError
from hushrec.privacy.accounting.plan import usual_delta


@options.of(Domain.from_catalogue, Domain)
def domain(
    *,
    items: Annotated[Path, "The public catalogue: csv, tsv, parquet, movies.dat, u.item, or a list."],
    scale: tuple[float, float, float] | None,
    interactions: Annotated[bool, "People give items without ratings: clicks, purchases."] = False,
    out: Annotated[Path, "The file to write."] = Path("domain.json"),
    **others: Any,
) -> None:
    """Declare what is public: items, scale, cap, number of users.

    People give ratings (--scale), likes (--scale and --likes) or items without ratings (--interactions).
    Take all of it from public knowledge, never from the ratings. Only models that publish a vector for every
    user need --users.
    """
    if (scale is None) != interactions:
        raise DomainError("say what people give: either --scale LO HI STEP for ratings, or --interactions")
    declared = Domain.from_catalogue(items, scale=scale, **others)
    declared.save(out)
    console.say(f"Wrote {out}: {declared}")
    console.say(f"{declared.n_items:,} items; the first ids: {' and '.join(declared.items[:2])}")
    listed = read_list(items, others["column"], others["separator"])
    titles_column = (others["titles"] or listed.titles_column()) if declared.titles else None
    taken = {listed.id_column, titles_column, *(declared.features or {})}
    if left := [name for name in listed.names if name not in taken]:
        titles = "" if declared.titles else "--titles COLUMN takes titles, "
        console.say(
            f"Not taken along: {', '.join(left)}; {titles}--feature COLUMN what items have in common: public "
            "texts cost no ε, and lists of a small crowd may need them"
        )
    console.say(
        f"Next: hushrec plan --domain {out} --epsilon 1 --delta {usual_delta(declared.max_users):.0e} --unit "
        "user --adjacency add-remove"
    )
