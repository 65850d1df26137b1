"""A move changes no word: what people read of plans, statements, cards, ledgers and commands is what it was.

One file a subject in ``texts/``. Digests, dates and versions are shown as ``#``: they name bytes and days.
After a change on purpose ``python tests/contracts/test_texts.py`` writes the files again, and their
difference is every word that changed.
"""

import re
import shlex
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app
from hushrec.errors import HushrecError
from hushrec.models.noiseless import Noiseless
from hushrec.registry import METHODS, MODELS, class_of
from support.statements import KINDS

STORED = Path(__file__).with_name("texts")
MASKS = re.compile(r"\b(?=\w*\d)[0-9a-f]{8,64}\b|\b20\d\d-\d\d-\d\d\b(?:[T ][\d:.]+Z?)?|\b0\.1\.0\b")
SESSION = """
domain --items items.txt --scale 1 5 1 --cap 10 --max-users 60 -o domain.json
check ratings.csv --domain domain.json
plan --domain domain.json --epsilon 1 --unit user --adjacency add-remove --delta 1e-6
plan --domain domain.json --epsilon 1 --unit rating --adjacency replace --delta 1e-6 --model covariance-svd
fit ratings.csv --domain domain.json --epsilon 1 --unit user --adjacency add-remove --delta 1e-6 \
--model global-effects --ledger ledger.db --new-ledger -o films.safetensors
fit ratings.csv --domain domain.json --epsilon 1 --unit user --adjacency add-remove --delta 1e-6 \
--model popularity --ledger ledger.db -o more.safetensors
show films.safetensors
ledger show ledger.db
ledger export ledger.db -o history.json
ledger verify history.json films.safetensors
keys new -o owner.key
keys sign films.safetensors --key owner.key
show films.safetensors --md films.md
show films.safetensors --html films.html
models
"""
"""What a curator types."""


def table():
    """Fifty people and twenty films without tastes: only words are looked at."""
    draw = np.random.default_rng(7)
    rows = [
        (f"u{user:02d}", f"film-{item:02d}", float(draw.integers(1, 6)))
        for user in range(50)
        for item in draw.permutation(20)[:8]
    ]
    return pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")


def world(**declared):
    """Their domain and feedback."""
    films = [f"film-{k:02d}" for k in range(20)]
    return hr.load(table(), hr.Domain(films, scale=(1, 5, 1), cap=10, max_users=60, **declared))


def said(call):
    """A text, or the refusal that is read in its place."""
    try:
        return str(call())
    except HushrecError as error:
        return f"refused: {error}"


def private():
    """The models that add noise, and feedback for each."""
    given = {"ratings": world(), "interactions": world(likes=4)}
    for name in MODELS:
        kind = class_of(name)
        if not issubclass(kind, Noiseless):
            yield name, kind, given[kind.feedback]


def plans():
    """Every model under both units, every method, and a series."""
    for name, kind, people in private():
        for unit, epsilon in (("user", 4), ("rating", 1)):
            budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit=unit, adjacency="add-remove")
            yield f"{name}, unit {unit}", said(lambda: hr.plan(people.domain, kind(), budget))  # noqa: B023
    domain = world().domain
    for name in METHODS:
        budget = hr.Budget(epsilon=50, delta=1e-6, unit="user", adjacency="replace")
        yield name, said(lambda: class_of(name)().plan(domain, budget))  # noqa: B023
    budget = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create("series.db", budget, 12, domain=domain.digest)
    yield "a series", said(lambda: hr.plan_series(domain, hr.GlobalEffects(), ledger))


def statements():
    """Every model without noise and seeded, released data, and every kind of statement there is."""
    from support.releases import statement

    budget = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")
    for name, kind, people in private():
        yield f"{name}, without noise", said(lambda: hr.baseline(people, kind()).statement)  # noqa: B023
        seed = hr.testing.Seeded(1)
        yield f"{name}, seeded", said(lambda: hr.testing.fit(people, kind(), budget, entropy=seed).statement)  # noqa: B023
    response = hr.Budget(epsilon=50, delta=1e-6, unit="user", adjacency="replace")
    data = hr.testing.release_data(world(), hr.RandomizedResponse(), response, entropy=hr.testing.Seeded(1))
    yield "randomized response", str(data.statement)
    for kind, changes in KINDS.items():
        yield f"kind: {kind}", str(statement(**changes))
        yield f"kind: {kind}, as HTML", str(statement(**changes)._repr_html_())


def helps():
    """``--help`` of every command."""

    def below(command, path):
        yield path
        for name in getattr(command, "commands", {}):
            yield from below(command.commands[name], [*path, name])

    for path in below(get_command(app), []):
        yield " ".join(["hushrec", *path]), CliRunner().invoke(app, [*path, "--help"]).output


def session():
    """What a curator reads in the terminal and in the files that commands write."""
    table().write_csv("ratings.csv")
    Path("items.txt").write_text("".join(f"film-{k:02d}\n" for k in range(20)))
    for line in SESSION.replace("\\\n", "").strip().splitlines():
        done = CliRunner().invoke(app, shlex.split(line))
        assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
        yield f"hushrec {line}", done.output
    for name in sorted(str(path) for path in Path().glob("films.[mh]*")):
        yield (
            name,
            re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", Path(name).read_text("utf-8"), flags=re.DOTALL),
        )


def texts(of):
    """All texts of a subject as one, each below its name."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in {"COLUMNS": "110", "TERM": "dumb", "HOME": folder}.items():
            patch.setenv(name, value)
        parts = [
            f"===== {name}\n{text.replace(folder, '.').replace(Path(folder).name, '.').rstrip()}\n"
            for name, text in of()
        ]
    return MASKS.sub("#", "\n".join(parts))


SUBJECTS = {"plans": plans, "statements": statements, "helps": helps, "session": session}


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_word_is_what_it_was(name):
    assert texts(SUBJECTS[name]).splitlines() == (STORED / f"{name}.txt").read_text("utf-8").splitlines()


def test_one_word_is_seen():
    stored = (STORED / "statements.txt").read_text("utf-8")
    assert "whatever else they know" in stored
    assert MASKS.sub("#", stored) == stored


if __name__ == "__main__":
    STORED.mkdir(exist_ok=True)
    for name, of in SUBJECTS.items():
        (STORED / f"{name}.txt").write_text(texts(of), encoding="utf-8")
