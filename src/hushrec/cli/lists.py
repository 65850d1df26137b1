"""``hushrec lists``: the curator's private lists, one for every user of a table."""

from pathlib import Path
from typing import Annotated

from hushrec.cli import console, options
from hushrec.curator.admit import require_writable
from hushrec.curator.recommend_all import recommend_all, recommend_on_spark, write_folder, write_lists
from hushrec.data.domain import Domain
from hushrec.data.load import Where, load, loaded_folder
from hushrec.data.readers.catalogue import read_list
from hushrec.data.reading import Reading
from hushrec.errors import DataError
from hushrec.progress import progress_bar
from hushrec.release.artefact import Release


@options.of(recommend_all)
def lists(
    release: Release,
    ratings: options.Ratings,
    *,
    domain: Domain,
    out: Annotated[Path, "The private lists to write, .parquet or .csv."],
    n: int,
    allowed: Path | None = None,
    where: Where | Path = "auto",
    reading: Reading,
) -> None:
    """Write a private list for every user of a table.

    For the curator alone: each list is made of its user's own rows, as on their own device. Show each user
    their own list, and never publish the file.
    """
    ids = None if allowed is None else read_list(allowed).ids
    if ids is not None and (unknown := set(ids) - set(release.items)):
        console.tell(f"Ignored, not in this release's catalogue: {len(unknown):,} ids of {allowed}")
    if domain.likes is not None and not loaded_folder(ratings):
        domain = domain.model_copy(update={"likes": None})  # what was not liked is not listed either
    if where == "spark":
        if out.exists():
            raise DataError(f"{out} exists; choose another folder with -o")
        with load(ratings, domain, reading, where="spark") as rows:
            write_folder(recommend_on_spark(release, rows, n, allowed=ids), str(out))
    else:
        require_writable(out, ".parquet", ".csv")
        with console.bars():
            people = load(ratings, domain, reading, where=where)
        console.print_confidential(options.source_name(ratings), people)
        write_lists(recommend_all(release, people, n, allowed=ids, progress=progress_bar(console.err())), out)
    console.say(
        f"Wrote {out}, for you alone: each list is made of its user's own rows, and no guarantee covers it. "
        f"Show each user their own list; never publish the {'folder' if out.is_dir() else 'file'}."
    )
