"""``hushrec audit``: attack a model's fits on made-up ratings, and compare what is found with the claim."""

from typing import Any

import typer
from rich.progress import Progress

from hushrec.audit import fits
from hushrec.cli import console, options
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget


@options.of(fits.audit)
def audit(model: Model, *, budget: Budget, json: options.Json = False, **others: Any) -> None:
    """Attack a model's fits on made-up ratings. Exits with 1 if a claim does not hold."""
    # It is drawn on request alone, so that nothing else is written meanwhile.
    still: Any = dict.fromkeys(("auto_refresh", "redirect_stdout", "redirect_stderr"), False)
    with Progress(console=console.err(), transient=True, **still) as progress:
        task = progress.add_task("fitting neighbours", total=None)

        def step(n_fitted: int, total: int) -> None:
            progress.update(task, completed=n_fitted, total=total, refresh=True)

        verdict = fits.audit(model, budget, progress=step, **others)
    console.show(verdict.document(), json=json)
    raise typer.Exit(0 if verdict.holds else 1)
