"""``hushrec evaluate``: measure on held-out ratings or interactions; the result is not private."""

from typing import Any

from hushrec.cli import console, options
from hushrec.data.domain import Domain
from hushrec.data.load import load, loaded_folder
from hushrec.data.reading import Reading
from hushrec.evaluation import protocol
from hushrec.release.artefact import Release


@options.of(protocol.evaluate)
def evaluate(
    release: Release,
    *,
    domain: Domain,
    train: str,
    test: str,
    fitted: str | None,
    likes: float | None,
    reading: Reading,
    json: options.Json = False,
    **others: Any,
) -> None:
    """Measure on held-out ratings or interactions. NOT private.

    No guarantee covers the result: do not publish it.
    """
    with console.working("reading"):
        names = [name for name in (train, test, fitted) if name]
        parts = [load(name, domain, reading) for name in names]
    for name, part in zip(names, parts, strict=True):
        console.print_confidential(options.source_name([name]), part)
    data: Any = dict(zip(("train", "test", "fitted"), parts, strict=False), likes=likes)
    if domain.likes is not None and not loaded_folder(train):
        data["rated"] = load(train, domain.model_copy(update={"likes": None}), reading)
    with console.working("predicting"):
        found = protocol.evaluate(release, **data, **others)
        beside = protocol.references(found, **data)
    console.show(found.document(beside), json=json)
