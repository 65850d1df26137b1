"""The demonstration's report: one page of HTML, complete in itself, without scripts or requests."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import hushrec
from hushrec.data.interactions import Interactions
from hushrec.data.ratings import Ratings
from hushrec.experiments.demo import charts, demonstration
from hushrec.experiments.demo.clicks import ListRow
from hushrec.experiments.demo.sweep import REFERENCES, Row
from hushrec.experiments.demo.tastes import shared, side_by_side
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


class ListCells(NamedTuple):
    """A row of the table of lists as text, for page and terminal.

    Attributes:
        epsilon: ε.
        recall: mean of recall@20 over the seeds.
        popular_recall: the same of popularity.
        ndcg: mean of nDCG@100.
        deviation: its standard deviation over the seeds.
        popular_ndcg: mean of popularity's nDCG@100.
        seconds: of one fit.
    """

    epsilon: str
    recall: str
    popular_recall: str
    ndcg: str
    deviation: str
    popular_ndcg: str
    seconds: str


def list_table(rows: Sequence[ListRow]) -> Iterator[ListCells]:
    """The rows as text."""
    for row in rows:
        yield ListCells(
            epsilon="∞" if math.isinf(row.epsilon) else above(row.epsilon),
            recall=f"{row.found.recall:.3f}",
            popular_recall=f"{row.popular.recall:.3f}",
            ndcg=f"{row.found.ndcg:.3f}",
            deviation="" if math.isnan(row.deviation) else f"± {row.deviation:.3f}",
            popular_ndcg=f"{row.popular.ndcg:.3f}",
            seconds=f"{row.seconds:.1f}",
        )


def page(
    clicks: Interactions,
    list_rows: Sequence[ListRow],
    ratings: Ratings,
    rows: Sequence[Row],
    release: Release,
    tastes: Sequence[Sequence[str]],
    next_command: str,
) -> str:
    """The report.

    Args:
        clicks: the made-up clicks, whose sizes are told.
        list_rows: of their sweep.
        ratings: the made-up ratings, whose sizes are told.
        rows: of their sweep.
        release: the one that was saved, of clicks.
        tastes: the items of two made-up users.
        next_command: what to type next.

    Returns:
        HTML.

    Privacy: public, because the clicks and ratings are made up; with people's it would not be.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("hushrec.experiments.demo", "."), autoescape=True, undefined=StrictUndefined
    )
    places = side_by_side(release, *tastes)
    return environment.get_template("report.html.j2").render(
        n_clicks=f"{clicks.n_interactions:,}",
        clicks=clicks,
        n_ratings=f"{ratings.n_ratings:,}",
        ratings=ratings,
        budget=demonstration.budget(1),
        list_table=list(list_table(list_rows)),
        list_model=list_rows[0].name,
        table=list(table(rows)),
        model=rows[0].name,
        seeds=rows[0].seeds,
        list_curve=Markup(charts.list_curve(list_rows)),
        curve=Markup(charts.curve(rows)),
        popularity=Markup(charts.popularity(rows)),
        split=Markup(charts.budget_split(release.statement)),
        tastes=[", ".join(own) for own in tastes],
        places=places,
        shared=shared(places),
        taste=release.taste,
        statement=str(release.statement).split("\n\n"),
        release_file=demonstration.RELEASE,
        ledger_file=demonstration.LEDGER,
        clicks_file=demonstration.CLICKS_TABLE,
        ratings_file=demonstration.RATINGS_TABLE,
        next_command=next_command,
        version=hushrec.__version__,
    )
