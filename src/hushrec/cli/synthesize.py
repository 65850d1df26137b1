"""``hushrec synthesize``: synthetic people, drawn from a release."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options


@options.explained("hushrec.release.synthesis.synthetic_people:SyntheticPeople")
def synthesize(
    release: Annotated[Path, typer.Argument(help="A release.")],
    *,
    n: Annotated[
        int, typer.Option("-n", min=1, help="Number of people; take several times that of the real ones.")
    ] = 20_000,
    mean_items: Annotated[float | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same people.")] = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="The table to write, .parquet or .csv.")],
) -> None:
    """Draw synthetic people to train recommenders on.

    Nothing is charged: the rows follow from the release, and any number of them tells no more than it does.
    """
    from hushrec.curator.admit import require_writable
    from hushrec.curator.write_people import write_people
    from hushrec.progress import progress_bar
    from hushrec.release.artefact import Release

    require_writable(out, ".parquet", ".csv")
    with console.bars():
        people = Release.open(release).synthesize(n, seed=seed, mean_items=mean_items)
    write_people(people, out, progress=progress_bar(console.err()))
    console.say(
        f"Wrote {out}: {n:,} synthetic people with {people.lengths.mean:,.1f} items each on average",
    )
    for sentence in people.sayings():
        console.say(f"  {sentence}")
