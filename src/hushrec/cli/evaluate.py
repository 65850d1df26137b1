"""``hushrec evaluate``: measure on held-out ratings or interactions; the result is not private."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hushrec.cli import console, options
from hushrec.cli.options import Given, explained, grouped
from hushrec.files import sha256

if TYPE_CHECKING:
    from hushrec.documents.document import Block
    from hushrec.evaluation.compare import Score
    from hushrec.evaluation.rankings import AtK


class _Row(NamedTuple):
    """The figures of a release or a reference."""

    name: str
    scores: "Mapping[str, Score]"


@explained("hushrec.evaluation.protocol:evaluate")
@grouped
def evaluate(
    release: Annotated[Path, typer.Argument(help="A release.")],
    train: Annotated[str, typer.Option(metavar="RATINGS")],
    test: Annotated[str, typer.Option(metavar="RATINGS")],
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
    likes: float | None = None,
    fitted: Annotated[str | None, typer.Option(metavar="RATINGS")] = None,
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
    from hushrec.evaluation.compare import METRICS, difference
    from hushrec.evaluation.protocol import DEFAULT_METRICS, WARNING
    from hushrec.evaluation.protocol import evaluate as measured
    from hushrec.evaluation.rankings import named
    from hushrec.release.artefact import Release

    paths = [path for path in (release, against) if path]
    releases = [Release.open(path) for path in paths]
    names = [*dict.fromkeys(metric or DEFAULT_METRICS[releases[0].feedback])]
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
        rows = [_Row(str(path), of.scores) for path, of in zip(paths, results, strict=True)]
        rows += _references(named(names), data)
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
    }
    blocks: list[Block] = [Paragraph(WARNING, "caution"), _values(rows, names)]
    if results[0].lists:
        blocks.append(
            Paragraph(
                f"Rankings: means over {results[0].n_ranked:,} people who have something to be found; "
                f"{results[0].n_left_out:,} others are left out."
            )
        )
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
        yield _Row("popularity", {name: at.score(lists) for name, at in ranked.items()})
    if errors := chosen.keys() - ranked.keys():
        for name, average in (
            ("item average", baselines.item_average),
            ("global average", baselines.global_average),
        ):
            guess = average(train, test)
            yield _Row(name, {error: ERROR_SCORES[error](test, guess) for error in errors})


def _scores(rows: "list[_Row]", names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every value with its standard error as JSON values."""
    for row in rows:
        for name in names:
            if score := row.scores.get(name):
                yield {"name": row.name, "metric": name, **score.to_json()}


def _values(rows: "list[_Row]", names: Sequence[str]) -> "Block":
    """Every value with its standard error as a table."""
    from hushrec.documents.document import Table

    listed = [(row.name, *(str(row.scores.get(name, "")) for name in names)) for row in rows]
    return Table("Values", ("", *names), listed)
