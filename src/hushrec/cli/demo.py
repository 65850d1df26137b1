"""``hushrec demo``: the whole workflow once, on made-up ratings."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hushrec.data.ratings import Ratings
    from hushrec.experiments.demo.sweep import Row
    from hushrec.release.artefact import Release


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write; an earlier demo in it is deleted.")] = Path(
        "demo"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the size, to see that it runs.")] = False,
) -> None:
    """See what privacy costs, on made-up ratings.

    Fits one model at several ε, writes a report, and makes one real release. Offline, in under a minute.
    """
    from hushrec.experiments.demo import demonstration, sweep
    from hushrec.models.covariance_svd import CovarianceSVD

    size = demonstration.QUICK if quick else demonstration.FULL
    demonstration.prepare(out)
    with console.working("compiling kernels (once)"):
        demonstration.compile_kernels()
    ratings = size.make()
    budgets = [demonstration.budget(epsilon) for epsilon in size.epsilons]
    runs = []
    with console.progress() as progress:
        per_seed = len(budgets) + 1 + len(sweep.REFERENCES)
        task = progress.add_task("fitting, ε × seeds", total=per_seed * size.seeds)
        for run in sweep.sweep(ratings, CovarianceSVD(), budgets, range(size.seeds)):
            runs.append(run)
            progress.advance(task)
    rows = sweep.summary(runs)
    _print_table(rows, ratings)
    with console.working("making the release"):
        release = demonstration.real_release(ratings, out)
    example = " ".join(f"--rating {item}=5" for item in demonstration.telling_items(release, 2))
    next_command = f"hushrec recommend {quote(str(out / demonstration.RELEASE))} {example}"
    demonstration.write_table(rows, out / demonstration.TABLE)
    _write_report(rows, ratings, release, out, next_command)
    screen = console.out()
    screen.print("The release at ε = 1 has noise from the operating system and a ledger. It says:")
    screen.print()
    console.print_statement(release.statement)
    screen.print("Wrote")
    for name in (
        demonstration.REPORT,
        demonstration.CURVE,
        demonstration.TABLE,
        demonstration.RELEASE,
        demonstration.LEDGER,
    ):
        if (out / name).exists():
            screen.print(f"  {out / name}  ({(out / name).stat().st_size / 1000:,.0f} kB)", soft_wrap=True)
    screen.print()
    screen.print(f"Next: {next_command}", soft_wrap=True)


def _print_table(rows: "Sequence[Row]", ratings: "Ratings") -> None:
    from hushrec.experiments.demo.demonstration import DELTA
    from hushrec.experiments.demo.report import table
    from hushrec.figures import above

    screen = console.out()
    n_items = ratings.domain.n_items
    screen.print(f"{ratings.n_ratings:,} made-up ratings by {ratings.n_users:,} people of {n_items:,} items")
    screen.print(f"{rows[0].name}, unit user, adjacency add-remove, δ = {above(DELTA)}")
    screen.print()
    listed = console.table("ε", "RMSE ± over seeds", "vs non-private", "rare items", "seconds")
    for row in table(rows):
        listed.add_row(row.epsilon, f"{row.rmse} {row.deviation}", row.loss, row.rare, row.seconds)
    screen.print(listed)
    screen.print()
    screen.print("Rare items: RMSE on the least rated fifth of the catalogue. Seconds: time of one fit.")
    screen.print("NOT PRIVATE: the noise of these runs is seeded, and the errors use held-out ratings.")
    screen.print()


def _write_report(
    rows: "Sequence[Row]", ratings: "Ratings", release: "Release", out: Path, next_command: str
) -> None:
    from hushrec.experiments.demo import charts, demonstration, report

    try:
        curve = charts.curve(rows)
        page = report.page(rows, ratings, release, curve, next_command)
    except ModuleNotFoundError as error:
        console.err().print(f"No report: {error.name} is missing; pip install 'hushrec[report]'")
        return
    (out / demonstration.CURVE).write_text(curve, encoding="utf-8")
    (out / demonstration.REPORT).write_text(page, encoding="utf-8")
