"""``hushrec evaluate``: measure on held-out ratings or interactions; the result is not private."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hushrec.cli import console, options
from hushrec.cli.groups import grouped
from hushrec.cli.sources import Given
from hushrec.errors import ConfigError
from hushrec.files import sha256

if TYPE_CHECKING:
    from hushrec.arrays import Floats
    from hushrec.documents.document import Block
    from hushrec.evaluation.compare import Score
    from hushrec.evaluation.ranking_metrics import AtK
    from hushrec.evaluation.rankings import Lists

_SLICEABLE = ("recall", "ndcg")
_RARE = "rmse on rare items"


class _Row(NamedTuple):
    """The figures of a release or a reference."""

    name: str
    scores: "dict[str, Score]"
    predicted: "Floats | None"
    lists: "Lists | None"


@grouped
def evaluate(
    release: Annotated[Path, typer.Argument(help="A release.")],
    train: Annotated[
        str, typer.Option(metavar="RATINGS", help="The ratings or interactions that users fold in.")
    ],
    test: Annotated[
        str, typer.Option(metavar="RATINGS", help="The records to predict or find; none may be in --train.")
    ],
    domain: options.DomainFile,
    *,
    against: Annotated[Path | None, typer.Option(help="Another release, to compare with.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="rmse, mae, or of the first K items that are recommended: recall@K, precision@K, ndcg@K, "
            "mrr@K, map@K, novelty@K, coverage@K; may be repeated.",
        ),
    ] = None,
    likes: Annotated[
        float | None, typer.Option(help="For rankings of ratings: the lowest rating of an item to be found.")
    ] = None,
    fitted: Annotated[
        str | None,
        typer.Option(
            metavar="RATINGS",
            help="The data that the release was fitted to, if not --train, for the popularity of items.",
        ),
    ] = None,
    slices: Annotated[
        bool, typer.Option("--slices", help="Also recall and nDCG by activity of users and by popularity.")
    ] = False,
    fold_in: Annotated[
        bool, typer.Option("--fold-in", help="Users whom the release lists fold in their own ratings too.")
    ] = False,
    source: Given,
    json: options.Json = False,
) -> None:
    """Measure on held-out ratings or interactions. NOT private.

    No guarantee covers the result: do not publish it.
    """
    from hushrec.data.domain import Domain
    from hushrec.documents.document import Document, Paragraph
    from hushrec.evaluation.compare import difference
    from hushrec.evaluation.metrics import METRICS
    from hushrec.evaluation.protocol import DEFAULT_METRICS, WARNING
    from hushrec.evaluation.protocol import evaluate as measured
    from hushrec.evaluation.ranking_metrics import named
    from hushrec.release.artefact import Release

    paths = [path for path in (release, against) if path]
    releases = [Release.open(path) for path in paths]
    names = [*dict.fromkeys(metric or DEFAULT_METRICS[releases[0].feedback])]
    sliced = {name: at for name, at in named(names).items() if at and at.name in _SLICEABLE}
    if slices and not sliced:
        raise ConfigError("--slices are of recall@K and ndcg@K; choose one with --metric, or leave it out")
    declared = Domain.open(domain)
    with console.working("reading"):
        places = [[place] for place in (train, test, fitted) if place]
        parts = [(source.described(place), source.load(place, declared, "memory")) for place in places]
    for name, part in parts:
        console.print_confidential(name, part)
    folded_in, held_out, *others = (part for _, part in parts)
    data: Any = {
        "train": folded_in,
        "test": held_out,
        "likes": likes,
        "fitted": others[0] if others else None,
    }
    with console.working("predicting"):
        results = [measured(opened, metrics=names, fold_in=fold_in, **data) for opened in releases]
        rows = [
            _Row(str(path), dict(of.scores), of.predicted, of.lists)
            for path, of in zip(paths, results, strict=True)
        ]
        rows += _references(named(names), data)
        if "rmse" in names:
            names.append(_RARE)
            for row in rows:
                row.scores.update(_rare(row, folded_in, held_out))
    apart = {
        name: difference(*(of.scores[name] for of in results))
        for name, score in results[0].scores.items()
        if len(results) == 2 and score.moves is not None
    }
    facts = {
        **results[0].to_dict(),
        "releases": [{"name": str(path), "sha256": sha256(path)} for path in paths],
        "scores": [*_scores(rows, names)],
        "differences": [{"metric": name, **asdict(of)} for name, of in apart.items()],
        "slices": [*_slices(rows, sliced)] if slices else [],
    }
    blocks = [Paragraph(WARNING, "caution"), *_values(rows, names), *_sliced(facts["slices"])]
    blocks.append(Paragraph("±: one standard error over people."))
    for name, of in apart.items():
        label = name.upper() if name in METRICS else name
        blocks.append(Paragraph(f"{label} of {release} minus that of {against}: {of}"))
    console.show(Document("evaluation", "Evaluation", blocks, facts=facts), json=json)


def _references(chosen: "Mapping[str, AtK | None]", data: Any) -> "Iterator[_Row]":
    """Exact averages for predicted ratings, popularity for lists."""
    from hushrec.evaluation import baselines
    from hushrec.evaluation.compare import ERROR_SCORES
    from hushrec.evaluation.rankings import rank

    train, test = data["train"], data["test"]
    ranked = {name: at for name, at in chosen.items() if at}
    if ranked:
        fitted = train if data["fitted"] is None else data["fitted"]
        lists = rank(baselines.popularity(fitted), n=max(at.k for at in ranked.values()), **data)
        yield _Row("popularity", {name: at.score(lists) for name, at in ranked.items()}, None, lists)
    if errors := chosen.keys() - ranked.keys():
        for name, average in (
            ("item average", baselines.item_average),
            ("global average", baselines.global_average),
        ):
            guess = average(train, test)
            yield _Row(name, {error: ERROR_SCORES[error](test, guess) for error in errors}, guess, None)


def _rare(row: _Row, train: Any, test: Any) -> "dict[str, Score]":
    """The RMSE on rare items, if ratings were predicted."""
    from hushrec.evaluation.compare import Score
    from hushrec.evaluation.metrics import rmse
    from hushrec.evaluation.slices import by_popularity

    if row.predicted is None:
        return {}
    value = float(by_popularity(rmse, train, test, row.predicted)[0])
    return {_RARE: Score(value, row.scores["rmse"].users, None)}


def _scores(rows: "list[_Row]", names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every value with its standard error as JSON values."""
    for row in rows:
        for name in names:
            if score := row.scores.get(name):
                yield {"name": row.name, "metric": name, **score.to_json()}


def _values(rows: "list[_Row]", names: Sequence[str]) -> "Iterator[Block]":
    """Every value with its standard error as a table, and over whom and what they are means."""
    from hushrec.documents.document import Paragraph, Table

    listed = [(row.name, *(str(row.scores.get(name, "")) for name in names)) for row in rows]
    yield Table("Values", ("", *names), listed)
    if lists := rows[0].lists:
        yield Paragraph(
            f"Rankings: means over {len(lists.users):,} people who have something to be found; "
            f"{lists.n_left_out:,} others are left out."
        )
    if _RARE in names:
        yield Paragraph("Rare items: the fifth of the catalogue with the fewest ratings in --train.")


def _slices(rows: "list[_Row]", sliced: "Mapping[str, AtK]") -> Iterator[dict[str, Any]]:
    """Metrics by fifth as JSON values, the least active or popular first; null where nothing is known."""
    from hushrec.evaluation.slices import ranked_by_activity, ranked_by_popularity

    for name, metric in sliced.items():
        for by, measure in (("activity", ranked_by_activity), ("popularity", ranked_by_popularity)):
            for row in rows:
                if row.lists:
                    values = [
                        float(value) if math.isfinite(value) else None for value in measure(metric, row.lists)
                    ]
                    yield {"name": row.name, "metric": name, "by": by, "values": values}


def _sliced(slices: list[dict[str, Any]]) -> "Iterator[Block]":
    """The same as a table for each metric."""
    from hushrec.documents.document import Section, Table

    titles = {
        "activity": "by fifth of people, the least active first",
        "popularity": "of items to be found by fifth of the catalogue, the least popular first",
    }
    for (name, by), alike in groupby(slices, key=itemgetter("metric", "by")):
        equal, title = list(alike), f"{name} {titles[by]}"
        heads = ("", *map(str, range(1, 1 + len(equal[0]["values"]))))
        rows = [(row["name"], *("nan" if v is None else f"{v:.4f}" for v in row["values"])) for row in equal]
        yield Section(title, [Table(title, heads, rows)])
