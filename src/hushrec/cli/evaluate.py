"""``hushrec evaluate``: measure on held-out ratings or interactions; the result is not private."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.curator import seeded
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load, loaded_folder
from hushrec.data.reading import Reading
from hushrec.data.split import load_split
from hushrec.documents.document import Paragraph
from hushrec.errors import ConfigError
from hushrec.evaluation import protocol
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release

_OWN_CUT = "The fit knows what others did later: only a day cuts for everybody."
HELD_OUT = {
    "last": f"all that each person did from their last new item on. {_OWN_CUT}",
    "last-fifth": f"all that each person did from the last fifth of their items on. {_OWN_CUT}",
}


@options.of(protocol.evaluate, load_split)
def evaluate(
    release: Annotated[
        list[str],
        "A release; or, with --split, the ratings or interactions, as for hushrec check, with times.",
    ],
    *,
    domain: Domain,
    split: Annotated[
        str | None,
        "Fit a model to what people did before a cut, and measure on what they did from then on: last, each "
        "person's last item; last-fifth, the last fifth of their items; or a day, such as 2025-03-01, "
        "everything since. No release is made, and no ledger is charged.",
    ] = None,
    budget: Budget | None = None,
    model: Model | None = None,
    train: str | None = None,
    test: str | None = None,
    fitted: str | None,
    metrics: Iterable[str] | None,
    likes: float | None,
    fold_in: bool,
    reading: Reading,
    json: options.Json = False,
) -> None:
    """Measure on held-out ratings or interactions. NOT private.

    No guarantee covers the result: do not publish it.
    """
    data: dict[str, Any] = {"likes": likes}
    if split is None:
        if budget or model or not (train and test) or len(release) > 1:
            raise ConfigError(
                "give one release with --train and --test, which hold out what it was not fitted to; or the "
                "ratings with --split, --epsilon, --delta, --unit and --adjacency"
            )
        measured, facts = Release.open(release[0]), dict[str, Any]()
        with console.working("reading"):
            names = {"train": train, "test": test, "fitted": fitted}
            parts = {name: load(file, domain, reading) for name, file in names.items() if file}
        for name, part in parts.items():
            console.print_confidential(options.source_name([str(names[name])]), part)
        if domain.likes is not None and not loaded_folder(train):
            parts["rated"] = load(train, domain.model_copy(update={"likes": None}), reading)
        data |= parts
    else:
        if train or test or fitted or budget is None:
            raise ConfigError(
                "a split makes both parts and fits a model to the first: leave out --train, --test and "
                "--fitted, and give --epsilon, --delta, --unit and --adjacency"
            )
        if any(Path(name).suffix == ".safetensors" for name in release):
            raise ConfigError(
                "a release may have been fitted to what a split holds out: give the ratings themselves, or "
                "measure it on other files with --train and --test"
            )
        with console.working("reading"):
            before, since = load_split(release, domain, split, reading)
        console.print_confidential(options.source_name(release), before)
        data |= {"train": before, "test": since}
        with console.bars():
            before = replace(before, dropped=Dropped())  # was said above: nothing is charged
            measured = seeded.fit(before, model, budget, entropy=Seeded(0))
        spent = {name: getattr(budget, name) for name in ("epsilon", "delta", "unit", "adjacency")}
        facts = {"split": split, "budget": spent}
    with console.working("predicting"):
        found = protocol.evaluate(measured, **data, metrics=metrics, fold_in=fold_in)
        beside = protocol.references(found, **data)
    document = found.document(beside)
    warning, *blocks = document.blocks
    if split is not None:
        held_out = HELD_OUT.get(split, f"everything since {split}, 00:00 UTC.")
        blocks[:0] = [
            Paragraph(f"Fitted with {budget}. {measured.taste}"),
            Paragraph(f"Held out: {held_out}"),
        ]
    document = replace(document, blocks=[warning, *blocks], facts={**document.facts, **facts})
    console.show(document, json=json)
