"""``hushrec audit``: attack a model's fits on made-up ratings, and compare what is found with the claim."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options
from hushrec.cli.options import explained, grouped


@explained("hushrec.audit.fits:audit")
@grouped
def audit(
    model: Annotated[
        str, typer.Argument(help="The algorithm, by name, or a model of your own, as module:Class.")
    ],
    epsilon: options.Epsilon,
    terms: options.BudgetOptions,
    domain: Path | None = None,
    runs: Annotated[int, typer.Option(min=100, max=100_000_000)] = 500_000,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    settings: options.Settings = None,
    json: options.Json = False,
) -> None:
    """Attack a model's fits on made-up ratings. Exits with 1 if a claim does not hold."""
    from hushrec.audit.fits import audit
    from hushrec.data.domain import Domain

    chosen = options.model(model, settings)
    declared = None if domain is None else Domain.open(domain)
    budget = terms.with_epsilon(epsilon, options.usual_delta(declared))
    assert budget is not None  # ε is given
    with console.still_progress() as progress:
        task = progress.add_task("fitting neighbours", total=None)

        def step(n_fitted: int, total: int) -> None:
            progress.update(task, completed=n_fitted, total=total, refresh=True)

        verdict = audit(chosen, budget, domain=declared, runs=runs, seed=seed, progress=step)
    console.show(verdict.document(), json=json)
    raise typer.Exit(0 if verdict.holds else 1)
