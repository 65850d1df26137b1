"""``hushrec fit``: private ratings in, one public release out, charged to a ledger."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console, options
from hushrec.errors import ReleaseError

if TYPE_CHECKING:
    from hushrec.release.artefact import Release


def fit(
    ratings: Annotated[
        Path,
        typer.Argument(
            help="The private ratings: user_id, item_id, rating[, timestamp][, epsilon], or a packed folder."
        ),
    ],
    domain: options.DomainFile,
    epsilon: options.Epsilon,
    delta: options.Delta,
    unit: options.Unit,
    adjacency: options.Adjacency,
    ledger: Annotated[
        Path, typer.Option(help="The population's ledger; if new, this budget becomes its whole total.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The release to write.")],
    slot: Annotated[
        int | None,
        typer.Option(
            help="Release slot. One that was released gives the same release again, free of charge."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="A folder from which the same command goes on if it is stopped, under the same charge; as "
            "private as the ratings, and removed at the end."
        ),
    ] = None,
    model: options.ModelOption = "covariance-svd",
    analysis: options.Analysis = "corrected",
    noise: options.Noise = None,
    settings: options.Settings = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Make a private release of ratings, charged to a ledger."""
    from hushrec.data.domain import Domain
    from hushrec.models.fitting import fit
    from hushrec.privacy.budget import Budget
    from hushrec.privacy.ledger import Ledger

    config = options.model(model, analysis, noise, settings)
    budget = Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
    declared = Domain.open(domain)
    config.plan(declared, budget)
    _require_writable(out)
    with console.working("reading ratings"):
        private = options.packed_or_loaded(ratings, declared, column, format, separator, decimal)
    console.print_confidential(ratings.name, private)
    with console.working("measuring under noise"):
        release = fit(private, config, budget, ledger=ledger, slot=slot, checkpoint=checkpoint)
    _save(release, out)
    console.print_statement(release.statement)
    console.print_ledger(Ledger.open(ledger))
    console.out().print(f"Wrote {out}. Next: hushrec recommend {out} --rating ITEM=STARS", soft_wrap=True)


def _require_writable(out: Path) -> None:
    """Refuse before anything is charged what would only fail afterwards."""
    if out.exists():
        raise ReleaseError(f"{out} exists; choose another file with -o")
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise ReleaseError(f"{out.parent} is no folder that can be written to; choose another file with -o")


def _save(release: "Release", out: Path) -> None:
    try:
        release.save(out)
    except OSError as error:
        raise ReleaseError(
            f"{out} cannot be written: {error.strerror}. The release is kept in the ledger: run the same "
            f"command with --slot {release.statement.ledger['slot']} and another file"
        ) from None
