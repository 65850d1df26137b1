"""The checklist of a card, by the factors of the differential privacy pyramid of NIST SP 800-226.

Guidelines for Evaluating Differential Privacy Guarantees, March 2025: the names are those of its pyramid
and of its chapter on deployment. The answers are the statement's own facts; the boxes are what no software
answers.
"""

from collections.abc import Iterator

from hushrec.figures import above, below
from hushrec.pages.cards.document import Block, Check, Text
from hushrec.pages.cards.subject import Subject
from hushrec.release.statement import Statement

__all__ = ["INTRODUCTION", "hazards"]

INTRODUCTION = (
    "By the factors that NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (March "
    "2025), names; each rests on those below it. The text is what the file and hushrec answer, and a box is "
    "for a person to tick. The words are not NIST's, and this is not a certificate."
)
_NEIGHBOURS = {
    "add-remove": "Neighbours differ by one unit that is added or removed (unbounded differential privacy).",
    "replace": "Neighbours differ by the content of one unit (bounded differential privacy): that it is "
    "there is not protected.",
    "replace-items": "Neighbours differ by which items one person's ratings are of: their number and their "
    "stars are not protected.",
}


def hazards(subject: Subject, *, audited: bool, measured: bool) -> tuple[Block, ...]:
    """The checklist.

    Args:
        audited: whether the card holds an audit.
        measured: whether it holds figures of accuracy.
    """
    return Text(INTRODUCTION), *_checks(subject, audited=audited, measured=measured)


def _checks(subject: Subject, *, audited: bool, measured: bool) -> Iterator[Check]:
    said = subject.statement
    yield Check(
        "Privacy parameters: ε and δ",
        _parameters(subject),
        ("Somebody decided that this ε, and the total, suit these people and this use.",),
    )
    what = {"user": "everything that one person gave", "rating": f"one single {_one(said)}"}[said.unit]
    yield Check(
        "Unit of privacy",
        f"The unit is {said.unit}: {what}. {_NEIGHBOURS[said.adjacency]}",
        (
            "One id is one person: nobody has several accounts, or this is accepted."
            if said.unit == "user"
            else "Protecting single ones is enough, although one person may have given many.",
        ),
    )
    yield Check(
        "Algorithms and correctness",
        _algorithms(said),
        (
            "Somebody other than the author read the audit above."
            if audited
            else "The model was audited with these settings, and the result was read.",
            *(("The author's bounds were reviewed.",) if "AUTHOR'S CLAIM" in said.caveat else ()),
        ),
    )
    yield Check(
        "Utility",
        "The card holds figures of accuracy, which no ε covers."
        if measured
        else "The card holds no figures of accuracy: they are measured on private data.",
        ("The file is good enough for its use, and no settings were chosen on these data to make it so.",),
    )
    yield Check(
        "Bias",
        "Noise does not depend on how many people a figure is about, so it hides rare items and small groups "
        "first.",
        ("Somebody looked at how small groups and rare items are served.",),
    )
    yield Check(
        "Query model, and other releases of the same data",
        f"Data release: everything that is measured was planned before any data were read. {_composed(said)}",
        (
            "There is no other ledger of these people, and nothing else is published from their data.",
            "Who may raise the total is settled.",
        ),
    )
    yield Check("Trust models", *_trust(said))
    yield Check(
        "Side channels, and challenges of implementing mechanisms",
        _channels(subject),
        (
            "Nobody outside watches how long a fit takes, or reads its logs and errors.",
            "Settings were not tuned on these data, or the tuning was charged.",
        ),
    )
    yield Check(
        "Data security and access control",
        "Ledgers, checkpoints and blocks are made readable by their owner alone; checkpoints and blocks are "
        "as private as the data.",
        ("Few can read the data, the ledger and the checkpoints, and it is known who.",),
    )
    yield Check(
        "Data collection exposure",
        "Differential privacy protects against readers of the file, not against a breach of the data.",
        (
            "No more is collected than is needed, and it is kept no longer.",
            "Somebody answers people who ask to be deleted.",
        ),
    )


def _one(said: Statement) -> str:
    return "interaction" if said.interactions else "rating"


def _parameters(subject: Subject) -> str:
    if not subject.promises:
        return "No finite ε is promised."
    said = subject.statement
    mu = said.reading.mu
    of_mu = "" if mu is None else f", μ ≤ {above(mu, 3)} (Gaussian differential privacy)"
    return (
        f"ε = {above(said.epsilon)} at δ = {above(said.delta)}{of_mu}. It is computed from what was "
        "measured, and rounded up."
    )


def _algorithms(said: Statement) -> str:
    mechanisms = dict.fromkeys(line.mechanism for line in said.measurements if line.mechanism != "exact")
    if not mechanisms:
        return "No noise was added."
    derived = "declared by their author" if "AUTHOR'S CLAIM" in said.caveat else "derived in hushrec"
    drawn = ", ".join(mechanisms).capitalize()
    return f"{drawn}, with the sensitivities in the table above, which are {derived}."


def _composed(said: Statement) -> str:
    ledger = said.ledger
    if not ledger:
        return "No kept ledger was charged, so nothing is known of other releases."
    index, planned = ledger.get("release_index", 0) + 1, ledger.get("max_releases", 1)
    spent = ""
    if "total_epsilon" in ledger:
        spent = (
            f"; ε = {above(ledger.get('spent_epsilon'))} of a total of {below(ledger['total_epsilon'])} is "
            "spent with it"
        )
    return f"The ledger adds up all releases, and refuses more: this is {index} of at most {planned}{spent}."


def _trust(said: Statement) -> tuple[str, tuple[str, ...]]:
    known = "The people know who holds their data, and agreed to it."
    if said.local:
        own = "Rows were randomized on people's own devices, or who randomized them is trusted."
        return "Local model: each row is randomized by itself, before anything is done with it.", (own, known)
    central = (
        "Central model: the curator sees all data, and readers see this file alone. A reader's own items "
        "stay on their device."
    )
    return central, (known,)


def _channels(subject: Subject) -> str:
    if not subject.promises:
        return "The noise of this file, if any, protects nobody."
    said = subject.statement
    if any(line.mechanism == "posterior sample" for line in said.measurements):
        return "The Markov chain runs in floating point, and the promise holds only if it converged."
    return (
        "Sums are integers, and noise is sampled exactly, from the operating system's entropy: floating "
        "point comes after the noise. Errors and progress show public numbers alone."
    )
