"""What a release does not promise, and what it is for: the words of a model card (Mitchell et al. 2019)."""

from hushrec.pages.cards.document import Block, Facts, Points
from hushrec.pages.cards.subject import Subject
from hushrec.release import sentence

__all__ = ["not_promised", "uses"]


def not_promised(subject: Subject) -> tuple[Block, ...]:
    """What no reader may take the statement to mean, as docs/known-limits.md says at more length."""
    said = subject.statement
    if not subject.promises:
        return (Points(("Anything. The file may reveal what any single person gave.",)),)
    points = []
    if unprotected := sentence.covered(said.unit, said.adjacency):
        points.append(unprotected.replace("rating", "interaction") if said.interactions else unprotected)
    if subject.lists_people:
        points.append(
            "This file has a row for everybody on a public list. The row tells their taste; protected is any "
            "single rating in it."
        )
    points += [
        "Facts about everybody are not hidden: what the file says of people in general may be true of you, "
        "whether you took part or not.",
        "One person with several accounts is less protected: losses of several units add up.",
        "What was declared public is published as it is: the catalogue, and whatever is listed as assumed.",
        "The curator, who holds all data, is trusted. The promise is against readers of what was published.",
        "Time, memory and hardware of a fit, its logs, and figures from held-out data are outside it.",
        "What a person does with a recommendation is new data, and is not covered.",
        "Publication cannot be undone: a person who is deleted is left out of the next release, not of this.",
    ]
    return (Points(tuple(points)),)


def uses(subject: Subject) -> tuple[Block, ...]:
    """Intended and other uses, and what to know before one of them."""
    if not subject.promises:
        intended = "Tests and experiments with data that are public. It is not for publication."
    elif subject.sort == "data set":
        intended = "Counts, means and any other algorithm, by any reader, on randomized rows."
    else:
        intended = (
            "Lists of items for one person, made on their own device from what they gave themselves, which "
            "is sent to nobody; lists of similar items, the same for everybody."
        )
    outside = (
        "Decisions about a person, beyond what to suggest to them. Finding out who is in the data, or what "
        "they gave. People and data other than those of the ledger below."
    )
    caveats = " ".join(
        filter(
            None,
            (
                subject.taste,
                "Noise hides rare items and the tastes of small groups first, so these are served worst.",
            ),
        )
    )
    rows = ("intended use", intended), ("out of scope", outside), ("caveats", caveats)
    return (Facts(rows),)
