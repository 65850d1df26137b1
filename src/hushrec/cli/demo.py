"""``hushrec demo``: the whole workflow once, on made-up clicks and ratings."""

import shutil
import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hushrec.data.interactions import Interactions
    from hushrec.data.ratings import Ratings
    from hushrec.experiments.demo.clicks import ListRow
    from hushrec.experiments.demo.demonstration import Size
    from hushrec.experiments.demo.sweep import Row
    from hushrec.release.artefact import Release


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write; an earlier demo in it is deleted.")] = Path(
        "demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the size, to see that it runs.")] = False,
) -> None:
    """See what privacy costs, on made-up clicks and ratings.

    Fits a model of each at several ε, makes one real release, lists items for two users, and writes a report
    and a page. Offline, in under a minute.
    """
    from hushrec.experiments.demo import demonstration
    from hushrec.experiments.demo.tastes import two_tastes

    size = demonstration.QUICK if quick else demonstration.FULL
    demonstration.prepare(out)
    with console.working("compiling kernels (once)"):
        demonstration.compile_kernels()
    clicks, ratings = size.make_clicks(), size.make_ratings()
    list_rows = _clicks(clicks, size)
    demonstration.write_clicks(list_rows, out / demonstration.CLICKS_TABLE)
    rows = _ratings(ratings, size)
    demonstration.write_ratings(rows, out / demonstration.RATINGS_TABLE)
    screen = console.out()
    screen.print("NOT PRIVATE: seeded noise, and both tables are measured on held-out data.")
    screen.print()
    with console.working("making the release"):
        release = demonstration.real_release(clicks, out)
    screen.print("A release of the clicks at ε = 1, with the operating system's noise, says:")
    screen.print()
    console.print_statement(release.statement)
    tastes = two_tastes(clicks)
    _print_lists(release, *tastes)
    items = " ".join(f"--item {item}" for item in tastes[0])
    next_command = f"{_program()} recommend {quote(str(out / demonstration.RELEASE))} {items}"
    demonstration.write_page(release, out)
    _write_report(out, clicks, list_rows, ratings, rows, release, tastes, next_command)
    screen.print("Wrote")
    for name in demonstration.WRITTEN:
        if (out / name).exists():
            screen.print(f"  {out / name}  ({_size(out / name) / 1000:,.0f} kB)", soft_wrap=True)
    screen.print()
    served = f"python3 -m http.server -d {quote(str(out / demonstration.PAGE))} 8000"
    screen.print("A page on which people get their own list, on their own device:")
    screen.print(f"  {served}", soft_wrap=True)
    screen.print("  then open http://localhost:8000")
    screen.print()
    screen.print(f"Next: {next_command}", soft_wrap=True)


def _clicks(clicks: "Interactions", size: "Size") -> "list[ListRow]":
    """Measure lists, and print the table."""
    from hushrec.experiments.demo import demonstration
    from hushrec.experiments.demo.clicks import list_summary, list_sweep
    from hushrec.experiments.demo.report import list_table
    from hushrec.models.private_ease import PrivateEASE

    budgets, runs = [demonstration.budget(epsilon) for epsilon in size.epsilons], []
    with console.progress() as progress:
        task = progress.add_task("fitting clicks, ε × seeds", total=(len(budgets) + 1) * size.seeds)
        for run in list_sweep(clicks, PrivateEASE(), budgets, range(size.seeds), size.held_out):
            runs.append(run)
            progress.advance(task)
    rows, screen = list_summary(PrivateEASE.__name__, runs), console.out()
    screen.print(_sizes(clicks, f"{clicks.n_interactions:,} made-up clicks"))
    screen.print(_protected(rows[0].name))
    screen.print()
    listed = console.table(
        "ε", "recall@20", "of popularity", "nDCG@100 ± over seeds", "of popularity", "seconds"
    )
    for row in list_table(rows):
        ndcg = f"{row.ndcg} {row.deviation}"
        listed.add_row(row.epsilon, row.recall, row.popular_recall, ndcg, row.popular_ndcg, row.seconds)
    screen.print(listed)
    screen.print()
    screen.print(f"Lists of {size.held_out:,} people whose clicks the fit did not see. More is better.")
    screen.print("Of popularity: the most popular items for everybody, at the same ε.")
    screen.print()
    return rows


def _ratings(ratings: "Ratings", size: "Size") -> "list[Row]":
    """Measure predicted ratings, and print the table."""
    from hushrec.experiments.demo import demonstration
    from hushrec.experiments.demo.report import table
    from hushrec.experiments.demo.sweep import REFERENCES, summary, sweep
    from hushrec.models.covariance_svd import CovarianceSVD

    budgets, runs = [demonstration.budget(epsilon) for epsilon in size.epsilons], []
    with console.progress() as progress:
        per_seed = len(budgets) + 1 + len(REFERENCES)
        task = progress.add_task("fitting ratings, ε × seeds", total=per_seed * size.seeds)
        for run in sweep(ratings, CovarianceSVD(), budgets, range(size.seeds)):
            runs.append(run)
            progress.advance(task)
    rows, screen = summary(runs), console.out()
    screen.print(_sizes(ratings, f"{ratings.n_ratings:,} made-up ratings"))
    screen.print(_protected(rows[0].name))
    screen.print()
    listed = console.table("ε", "RMSE ± over seeds", "vs non-private", "rare items", "seconds")
    for row in table(rows):
        listed.add_row(row.epsilon, f"{row.rmse} {row.deviation}", row.loss, row.rare, row.seconds)
    screen.print(listed)
    screen.print()
    screen.print("Rare items: RMSE on the least rated fifth of the catalogue. Seconds: one fit.")
    screen.print()
    return rows


def _sizes(feedback: "Interactions | Ratings", given: str) -> str:
    return f"{given} by {feedback.n_users:,} people of {feedback.domain.n_items:,} items"


def _protected(model: str) -> str:
    from hushrec.experiments.demo.demonstration import DELTA
    from hushrec.figures import above

    return f"{model}, unit user, adjacency add-remove, δ = {above(DELTA)}"


def _print_lists(release: "Release", first: "Sequence[str]", second: "Sequence[str]") -> None:
    from hushrec.experiments.demo.tastes import shared, side_by_side

    screen, places = console.out(), side_by_side(release, first, second)
    screen.print("What it lists for everybody, and for two made-up users:")
    screen.print()
    listed = console.table("rank", "most popular", "user A", "user B", left=4)
    for place in places:
        listed.add_row(str(place.rank), *place[1:])
    screen.print(listed)
    screen.print()
    for user, own in (("A", first), ("B", second)):
        screen.print(f"User {user} clicked {', '.join(own)}.")
    with_first, with_second, both = shared(places)
    screen.print(f"The lists of A and B share {both} of {len(places)} items.")
    screen.print(f"With the most popular items, A's list shares {with_first}, and B's {with_second}.")
    screen.print(release.taste)
    screen.print()


def _size(path: Path) -> int:
    """Bytes in a file, or in all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")))


def _program() -> str:
    """What to type to run this program again: its path, where the shell does not find it by its name."""
    here = Path(sys.argv[0])
    return "hushrec" if shutil.which("hushrec") or here.name != "hushrec" else quote(str(here))


def _write_report(
    out: Path,
    clicks: "Interactions",
    list_rows: "Sequence[ListRow]",
    ratings: "Ratings",
    rows: "Sequence[Row]",
    release: "Release",
    tastes: "Sequence[Sequence[str]]",
    next_command: str,
) -> None:
    from hushrec.experiments.demo import charts, demonstration, report

    try:
        curves = charts.list_curve(list_rows), charts.curve(rows)
        page = report.page(clicks, list_rows, ratings, rows, release, tastes, next_command)
    except ModuleNotFoundError as error:
        console.err().print(f"No report: {error.name} is missing; pip install 'hushrec[report]'")
        return
    for name, text in zip((demonstration.CLICKS_CURVE, demonstration.RATINGS_CURVE), curves, strict=True):
        (out / name).write_text(text, encoding="utf-8")
    (out / demonstration.REPORT).write_text(page, encoding="utf-8")
