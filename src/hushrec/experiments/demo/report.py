"""The demonstration's report: one page of HTML, complete in itself, without scripts or requests."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import hushrec
from hushrec.data.ratings import Ratings
from hushrec.experiments.demo import charts, demonstration
from hushrec.experiments.demo.sweep import REFERENCES, Row
from hushrec.figures import above
from hushrec.release.artefact import Release


class Cells(NamedTuple):
    """A row of the table as text, for page and terminal.

    Attributes:
        epsilon: ε, or the name of the reference.
        rmse: mean over the seeds.
        deviation: standard deviation over them.
        loss: against the same model without noise.
        rare: RMSE on the least rated fifth of the catalogue.
        seconds: of one fit; empty for a reference.
        reference: whether it is one.
    """

    epsilon: str
    rmse: str
    deviation: str
    loss: str
    rare: str
    seconds: str
    reference: bool


def table(rows: Sequence[Row]) -> Iterator[Cells]:
    """The rows as text."""
    for row in rows:
        reference = row.name in REFERENCES
        non_private = math.isinf(row.epsilon) and not reference
        yield Cells(
            epsilon=row.name if reference else "∞" if non_private else above(row.epsilon),
            rmse=f"{row.rmse:.4f}",
            deviation="" if math.isnan(row.deviation) else f"± {row.deviation:.4f}",
            loss="" if non_private else f"{row.loss:+.1%}",
            rare="" if math.isnan(row.rare) else f"{row.rare:.3f}",
            seconds="" if reference else f"{row.seconds:.1f}",
            reference=reference,
        )


def page(rows: Sequence[Row], ratings: Ratings, release: Release, curve: str, next_command: str) -> str:
    """The report.

    Args:
        rows: of the sweep.
        ratings: the made-up ratings, whose sizes are told.
        release: the one that was saved.
        curve: SVG of ``charts.curve``.
        next_command: what to type next.

    Returns:
        HTML.

    Privacy: public, because the ratings are made up; with people's ratings it would not be.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("hushrec.experiments.demo", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("report.html.j2").render(
        n_ratings=f"{ratings.n_ratings:,}",
        n_users=f"{ratings.n_users:,}",
        n_items=f"{ratings.domain.n_items:,}",
        budget=demonstration.budget(1),
        model=release.model,
        seeds=rows[0].seeds,
        table=list(table(rows)),
        curve=Markup(curve),
        popularity=Markup(charts.popularity(rows)),
        split=Markup(charts.budget_split(release.statement)),
        statement=str(release.statement).split("\n\n"),
        release_file=demonstration.RELEASE,
        ledger_file=demonstration.LEDGER,
        table_file=demonstration.TABLE,
        next_command=next_command,
        version=hushrec.__version__,
    )
