"""``hushrec demo``: the whole workflow once, on made-up clicks, as a user of the library would write it."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, NamedTuple

import typer

import hushrec as hr
from hushrec import files
from hushrec.cli import console
from hushrec.documents.document import Block, Commands, Paragraph, Section, Table
from hushrec.errors import ConfigError
from hushrec.text import above

MARKER, RELEASE, LEDGER = ".hushrec-demo", "release-eps1.safetensors", "ledger.db"
PAGE, SUMS = "page", f"{LEDGER}.sums"
WRITTEN = (RELEASE, LEDGER, PAGE)
HEADS = ("ε", "recall@20", "of popularity", "nDCG@100", "of popularity")
_FIX = "choose another folder with --out"
_DATA_SEED, _OWN, _LENGTH = 7, 3, 10  # chosen by hand


class Size(NamedTuple):
    """How large the demonstration is: users, items, clicks, held-out users, and the ε."""

    users: int
    items: int
    clicks: int
    held_out: int
    epsilons: tuple[float, ...]

    def make_clicks(self) -> "hr.People":
        """Make up the clicks. Privacy: public: no person made them."""
        return hr.synthetic.interactions(self.users, self.items, self.clicks, _DATA_SEED, titles=True)


FULL = Size(6_000, 800, 300_000, held_out=1_000, epsilons=(0.5, 1, 4, 8))
QUICK = Size(2_000, 200, 40_000, held_out=200, epsilons=(1, 8))


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write; an earlier demo in it is deleted.")] = Path(
        "demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the size, to see that it runs.")] = False,
) -> None:
    """See what privacy costs, on made-up clicks.

    Fits a model at several ε, makes one private release, lists titles for two users, and writes a page.
    Offline, in under a minute.
    """
    from hushrec.pages import site

    size = QUICK if quick else FULL
    _prepare(out)
    clicks = size.make_clicks()
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
        ledger = hr.Ledger.create(out / LEDGER, _budget(1))
        release = hr.fit(clicks, hr.PrivateEASE(), _budget(1), ledger=ledger)
        release.save(out / RELEASE)
    site.write(out / RELEASE, out / PAGE)
    tastes = two_tastes(clicks)
    rows = side_by_side(release, tastes)
    popular, first, second = (set(column) for column in list(zip(*rows, strict=True))[1:])
    place = quote(str(out / RELEASE))
    options = " ".join(f"--item {quote(item)}" for item in tastes[0])
    listed: list[Block] = [
        *(
            Paragraph(f"User {user} clicked: {', '.join(taste)}.")
            for user, taste in zip("AB", tastes, strict=True)
        ),
        Table("Two users, two lists", ("rank", "most popular", "user A", "user B"), rows, left=4),
        Paragraph(
            f"The lists of A and B share {len(first & second)} of {_LENGTH} titles. Of the most popular "
            f"titles, A's list has {len(first & popular)}, and B's {len(second & popular)}. {release.taste}"
        ),
    ]
    console.say("")
    console.show_blocks(
        [
            Section("A private release at ε = 1 makes these lists for everybody and for two users", listed),
            Section("It promises every user", release.statement.document().blocks[:2]),
            Commands("Wrote", [str(out / name) for name in WRITTEN]),
            Commands("The full statement", [f"{_program()} show {place}"]),
            Commands(
                "The page, at http://localhost:8000",
                [f"python3 -m http.server -d {quote(str(out / PAGE))} 8000"],
            ),
            Commands("The list of user A", [f"{_program()} recommend {place} {options}"]),
        ]
    )


def two_tastes(clicks: "hr.People") -> list[list[str]]:
    """Items of two users: three that go together, and three others that go least with these.

    Two items go together if the same users give both: by the correlation of their columns, among the quarter
    of the items that most users give.

    Args:
        clicks: made-up interactions.

    Privacy: public, because the interactions are made up; with people's interactions it would not be.
    """
    import numpy as np

    n_items = clicks.domain.n_items
    counts = np.bincount(clicks.items, minlength=n_items)
    often = np.sort(np.argsort(-counts, kind="stable")[: n_items // 4])
    matrix = np.zeros((clicks.n_users, n_items), dtype=np.float32)
    matrix[clicks.user_index(), clicks.items] = 1
    alike: Any = np.atleast_2d(np.corrcoef(matrix[:, often], rowvar=False))
    np.fill_diagonal(alike, -1)
    best = int(alike.max(axis=1).argmax())
    np.fill_diagonal(alike, 1)  # every item goes best with itself
    first = np.argsort(-alike[best], kind="stable")[:_OWN]
    least = int(alike[first].mean(axis=0).argmin())
    second = np.argsort(-alike[least], kind="stable")[:_OWN]
    return [[clicks.domain.items[often[item]] for item in taste] for taste in (first, second)]


def side_by_side(release: "hr.Release", tastes: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """List items for a user without items, and for users with theirs: rows of a rank and its items.

    Privacy: post-processing.
    """
    client = hr.Client(release)
    lists = ([listed.item_id for listed in client.recommend(taste, _LENGTH)] for taste in ([], *tastes))
    return [(str(rank), *items) for rank, items in enumerate(zip(*lists, strict=True), 1)]


def _budget(epsilon: float) -> "hr.Budget":
    return hr.Budget(epsilon=float(epsilon), delta=1e-6, unit="user", adjacency="add-remove")


def _measure(clicks: "hr.People", size: Size) -> list[tuple[str, ...]]:
    """Measure lists on held-out users: a row of text for every ε, and for no noise."""
    from hushrec.data.split import held_out_people

    train, fold_in, test = held_out_people(clicks, size.held_out, 0)
    rows: list[tuple[str, ...]] = []
    for budget in (*map(_budget, size.epsilons), None):
        figures = []
        for model in (hr.PrivateEASE(), hr.Popularity()):
            if budget is None:
                release = hr.baseline(train, model)
            else:
                release = hr.testing.fit(train, model, budget, entropy=hr.testing.Seeded(0))
            found = hr.evaluate(release, train=fold_in, test=test, metrics=("recall@20", "ndcg@100"))
            figures.append([f"{found[name]:.3f}" for name in ("recall@20", "ndcg@100")])
        (recall, ndcg), (popular_recall, popular_ndcg) = figures
        epsilon = above(budget.epsilon) if budget else "∞"
        rows.append((epsilon, recall, popular_recall, ndcg, popular_ndcg))
    return rows


def _prepare(folder: Path) -> None:
    """Make an empty folder; what an earlier demonstration left is cleared, and anything else is refused."""
    from hushrec.pages import site

    with files.refusing(folder, "written", ConfigError, _FIX):
        folder.mkdir(parents=True, exist_ok=True)
        # What a killed run was writing is removed by the next that writes there.
        names = sorted(entry.name for entry in folder.iterdir() if not entry.name.endswith(files.SUFFIX))
        # SQLite puts files of these names with a suffix beside; the page is a folder.
        ours = [name for name in names if name.startswith((MARKER, *WRITTEN[:-1])) or name == PAGE]
        foreign = [name for name in names if MARKER not in names or name not in ours]
        if foreign:
            raise ConfigError(
                f"{folder} holds {foreign[0]}, which is not known to come from the demo; move it, or "
                "choose another folder with --out"
            )
        if PAGE in names:
            site.require_ours(folder / PAGE)
        for name in names:
            if name == SUMS:
                shutil.rmtree(folder / name)
            elif name != PAGE:
                (folder / name).unlink()
        (folder / MARKER).write_text("hushrec demo wrote this folder and clears it when it runs again\n")


def _program() -> str:
    """Return the command that runs this program again: its path, where the shell does not find its name."""
    here = Path(sys.argv[0])
    return "hushrec" if shutil.which("hushrec") or here.name != "hushrec" else quote(str(here))
