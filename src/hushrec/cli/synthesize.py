"""``hushrec synthesize``: synthetic people, drawn from a release."""

from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.curator.admit import require_writable
from hushrec.curator.write_people import write_people
from hushrec.progress import progress_bar
from hushrec.release.artefact import Release
from hushrec.release.synthesis.synthetic_people import SyntheticPeople


@options.of(SyntheticPeople)
def synthesize(
    release: Release,
    *,
    n_users: Annotated[int, "Number of people; take several times that of the real ones."] = 20_000,
    out: options.Out,
    **others: Any,
) -> None:
    """Draw synthetic people to train recommenders on.

    Nothing is charged: the rows follow from the release, and any number of them tells no more than it does.
    """
    require_writable(out, ".parquet", ".csv")
    with console.bars():
        people = release.synthesize(n_users, **others)
    write_people(people, out, progress=progress_bar(console.err()))
    console.say(
        f"Wrote {out}: {n_users:,} synthetic people with {people.lengths.mean:,.1f} items each on average"
    )
    for sentence in people.sayings():
        console.say(f"  {sentence}")
