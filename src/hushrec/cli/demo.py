"""``hushrec demo``: the whole workflow once, on made-up clicks, as a user of the library would write it."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, NamedTuple

import hushrec as hr
from hushrec import files
from hushrec.cli import console, options
from hushrec.data.split import held_out_people
from hushrec.documents.document import Commands, Paragraph, Section, Table
from hushrec.errors import ConfigError
from hushrec.pages import site
from hushrec.text import above

METRICS = ("recall@20", "ndcg@100")
HEADS = ("ε", "recall@20", "of popularity", "nDCG@100", "of popularity")
_LENGTH = 10


class Size(NamedTuple):
    """How large the demonstration is: users, items, clicks, held-out users, the ε, and what two users like.

    Each of the two likes titles that go together, and with none of the other's.
    """

    users: int
    items: int
    clicks: int
    held_out: int
    epsilons: tuple[float, ...]
    tastes: tuple[tuple[str, ...], tuple[str, ...]]

    def make_clicks(self) -> "hr.People":
        """Make up the clicks. Privacy: public: no person made them."""
        return hr.synthetic.interactions(self.users, self.items, self.clicks, seed=7, titles=True)


FULL = Size(
    *(6_000, 800, 300_000, 1_000, (0.5, 1, 4, 8)),
    tastes=(
        ("Bright Garden", "Frozen Letter", "Gentle Piano"),
        ("Borrowed Piano", "Tender Passenger", "Restless Sister"),
    ),
)
QUICK = Size(
    *(2_000, 200, 40_000, 200, (1, 8)),
    tastes=(
        ("Restless Passenger", "Secret Staircase", "Silver Engine"),
        ("Tender Tailor", "Northern Summer", "Unsent Bridge"),
    ),
)


@options.of()
def demo(
    *,
    out: Annotated[Path, "The folder to make."] = Path("demo"),
    quick: Annotated[bool, "A tenth of the size, to see that it runs."] = False,
) -> None:
    """See what privacy costs, on made-up clicks.

    Fits a model at several ε, makes one private release, lists titles for two users, and writes a page.
    Offline, in under a minute.
    """
    size = QUICK if quick else FULL
    with files.refusing(out, "written", ConfigError, "remove it, or choose another folder with --out"):
        out.mkdir(parents=True)
    release_file, page, clicks = out / "release-eps1.safetensors", out / "page", size.make_clicks()
    with console.working("fitting clicks at several ε"):
        found = _measure(clicks, size)
    console.show_blocks(
        [
            Paragraph(
                f"{clicks.n_entries:,} made-up clicks by {size.users:,} people on {size.items:,} titles"
            ),
            Paragraph(f"PrivateEASE, unit user, adjacency add-remove, δ = {above(_budget(1).delta)}"),
            Table("What lists find", HEADS, found),
            Paragraph(
                f"Lists of {size.held_out:,} people whose clicks the fit did not see; higher is better. "
                "Popularity: the most popular titles for everybody, at the same ε. NOT PRIVATE: the noise is "
                "seeded, and accuracy is measured on held-out data."
            ),
        ]
    )
    with console.working("making the release"):
        ledger = hr.Ledger.create(out / "ledger.db", _budget(1))
        release = hr.fit(clicks, hr.PrivateEASE(), _budget(1), ledger=ledger)
        release.save(release_file)
    site.write(release_file, page)
    place, liked = quote(str(release_file)), " ".join(f"--item {quote(title)}" for title in size.tastes[0])
    console.say("")
    console.show_blocks(
        [
            _lists(release, size.tastes),
            Section("It promises every user", release.statement.document().blocks[:2]),
            Commands("Wrote", [str(release_file), str(out / "ledger.db"), str(page)]),
            Commands("The full statement", [f"hushrec show {place}"]),
            Commands(
                "The page, at http://localhost:8000", [f"python3 -m http.server -d {quote(str(page))} 8000"]
            ),
            Commands("The list of user A", [f"hushrec recommend {place} {liked}"]),
        ]
    )


def _lists(release: "hr.Release", tastes: Sequence[Sequence[str]]) -> Section:
    """The lists for everybody, and for two users with theirs, side by side."""
    client = hr.Client(release)
    columns = [[row.item_id for row in client.recommend(taste, _LENGTH)] for taste in ([], *tastes)]
    rows = [(str(rank), *items) for rank, items in enumerate(zip(*columns, strict=True), 1)]
    popular, first, second = map(set, columns)
    told = [
        Paragraph(f"User {user} clicked: {', '.join(taste)}.")
        for user, taste in zip("AB", tastes, strict=True)
    ]
    shared = Paragraph(
        f"The lists of A and B share {len(first & second)} of {_LENGTH} titles. Of the most popular titles, "
        f"A's list has {len(first & popular)}, and B's {len(second & popular)}. {release.taste}"
    )
    table = Table("Two users, two lists", ("rank", "most popular", "user A", "user B"), rows, left=4)
    title = "A private release at ε = 1 makes these lists for everybody and for two users"
    return Section(title, [*told, table, shared])


def _budget(epsilon: float) -> "hr.Budget":
    return hr.Budget(epsilon=float(epsilon), delta=1e-6, unit="user", adjacency="add-remove")


def _measure(clicks: "hr.People", size: Size) -> list[tuple[str, ...]]:
    """Measure lists on held-out users: a row of text for every ε, and for no noise."""
    train, fold_in, test = held_out_people(clicks, size.held_out, 0)
    rows: list[tuple[str, ...]] = []
    for budget in (*map(_budget, size.epsilons), None):
        figures = []
        for model in (hr.PrivateEASE(), hr.Popularity()):
            if budget is None:
                release = hr.baseline(train, model)
            else:
                release = hr.testing.fit(train, model, budget, entropy=hr.testing.Seeded(0))
            found = hr.evaluate(release, train=fold_in, test=test, metrics=METRICS)
            figures.append([f"{found[name]:.3f}" for name in METRICS])
        of_metrics = (figure for pair in zip(*figures, strict=True) for figure in pair)
        rows.append((above(budget.epsilon) if budget else "∞", *of_metrics))
    return rows
