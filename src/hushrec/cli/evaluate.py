"""``hushrec evaluate``: measure errors on held-out ratings; the result is not private."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options
from hushrec.escapes import escaped


def evaluate(
    release: Annotated[Path, typer.Argument(help="A release.")],
    train: Annotated[Path, typer.Option(help="Ratings that users fold in.")],
    test: Annotated[Path, typer.Option(help="Ratings to predict; none of them may be in --train.")],
    domain: options.DomainFile,
    against: Annotated[Path | None, typer.Option(help="Another release, to compare with.")] = None,
    fold_in: Annotated[
        bool, typer.Option("--fold-in", help="Users whom the release lists fold in their own ratings too.")
    ] = False,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Measure errors on held-out ratings. NOT private.

    No guarantee covers the result: do not publish it.
    """
    from hushrec.data.domain import Domain
    from hushrec.data.ratings import Ratings
    from hushrec.evaluation import baselines
    from hushrec.evaluation.compare import rmse_difference
    from hushrec.evaluation.metrics import METRICS, rmse
    from hushrec.evaluation.protocol import WARNING, predictions
    from hushrec.evaluation.slices import by_popularity
    from hushrec.release.artefact import Release

    paths = [path for path in (release, against) if path]
    releases = [Release.open(path) for path in paths]
    declared = Domain.open(domain)
    with console.working("reading ratings"):
        known, held_out = (
            Ratings.of(options.load(path, declared, column, format, separator, decimal), by="evaluate")
            for path in (train, test)
        )
    console.print_confidential(train.name, known)
    console.print_confidential(test.name, held_out)
    with console.working("predicting"):
        guesses = [predictions(opened, train=known, test=held_out, fold_in=fold_in) for opened in releases]
    listed = console.table("", *METRICS, "rmse on rare items")
    truth = held_out.values()
    for name, guess in [
        *zip(map(str, paths), guesses, strict=True),
        ("item average", baselines.item_average(known, held_out)),
        ("global average", baselines.global_average(known, held_out)),
    ]:
        errors = [measure(truth, guess) for measure in METRICS.values()]
        errors.append(by_popularity(rmse, known, held_out, guess)[0])
        listed.add_row(name, *(f"{error:.4f}" for error in errors))
    screen = console.out()
    screen.print(WARNING)
    screen.print()
    screen.print(listed)
    screen.print()
    screen.print("Rare items: the fifth of the catalogue with the fewest ratings in --train.")
    if len(guesses) == 2:
        screen.print(
            escaped(f"RMSE of {release} minus that of {against}: {rmse_difference(held_out, *guesses)}")
        )
