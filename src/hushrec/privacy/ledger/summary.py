"""What a notebook, or one line of text, shows of a ledger."""

from collections.abc import Iterator
from itertools import groupby

from hushrec import markup
from hushrec.escapes import escaped
from hushrec.figures import above, left, reading
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.routes import spelled


def line(name: str, history: History) -> str:
    """Name, total, what is left, and how many releases were charged."""
    return (
        f"{_name(name)}: {history.total}; ε = {left(history.remaining)} left, "
        f"{len(history.charges)} of {history.max_releases} releases"
    )


def html(name: str, history: History) -> markup.Html:
    """The same as HTML, with what the owner declares, how the total reads, and every release that was
    charged and its ε by itself."""
    shown = [
        *history.declared.items(),
        ("total", str(history.total)),
        ("over all releases", reading(history.total.epsilon)),
        ("left", f"ε = {left(history.remaining)}"),
        ("releases charged", f"{len(history.charges)}, at most {history.max_releases}"),
    ]
    if held := spelled(history.spent, history.route):
        shown.append(("holds", held))
    table = markup.Html()
    if history.charges:
        heads = "release", "model", "state", "measurements", "ε by itself"
        table = markup.folded("Releases", markup.table(heads, _charges(history), left=3))
    return markup.block(f"Ledger {_name(name)}", markup.facts(shown), table)


def _charges(history: History) -> Iterator[tuple[str, ...]]:
    for _, entries in groupby(history.entries(), key=lambda entry: entry.charge):
        first, *others = entries
        cost = sum((entry.spent for entry in others), first.spent)
        state = first.state + (f" ({first.caveat})" if first.caveat else "")
        measured = str(1 + len(others))
        yield (
            str(first.release_index),
            first.model,
            state,
            measured,
            above(cost.epsilon(history.total.delta)),
        )


def _name(name: str) -> str:
    return escaped(name) or "in memory"
