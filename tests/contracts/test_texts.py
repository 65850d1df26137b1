"""A move changes no word: what people read of plans, statements, cards, ledgers and commands is what it was.

One file a subject in ``texts/``. Digests, dates and versions are shown as ``#``: they name bytes and
days. So are a demo's figures, which depend on the processor, and the last decimals in JSON are cut off. Noise
is the same in every run.
After a change on purpose ``python tests/contracts/test_texts.py`` writes the files again, and their
difference is every word that changed.
"""

import hashlib
import re
import shlex
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import hushrec as hr
from hushrec.audit.fits import audit
from hushrec.cli.app import app
from hushrec.data.split import holdout
from hushrec.data.synthetic import made_up_titles
from hushrec.errors import HushrecError
from hushrec.models.noiseless import Noiseless
from hushrec.pages.statement_page import statement_html
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.noise.entropy import OperatingSystem
from hushrec.registry import METHODS, MODELS, class_of
from support.statements import KINDS

FILMS = [f"film-{k:02d}" for k in range(20)]
STORED = Path(__file__).with_name("texts")
MASKS = re.compile(r"\b(?=\w*\d)[0-9a-f]{8,64}\b|\b20\d\d-\d\d-\d\d\b(?:[T ][\d:.]+Z?)?|\b0\.1\.0\b")
FOUND = re.compile(
    rf"\b({'|'.join(made_up_titles(200)['title'])})\b"
    r"|\d+(?= kB)|\d+(?= of 10 titles|\s+dimensions?\s+of)|(?<=list has )\d+|(?<=B's )\d+|(?<=B&#39;s )\d+"
)
"""Titles in a demo's lists, how many they share, dimensions of taste, and sizes of files."""
DECLARED = "domain --items items.txt --scale 1 5 1 --max-per-user 10 --max-users 60 -o domain.json\n"
FITTED = "--domain domain.json --epsilon auto --model global-effects --ledger ledger.db"
MEASURED = "--train ratings.csv --test test.csv --domain domain.json"
RESPONSE = (
    "--domain domain.json --method randomized-response --epsilon 30 --delta 0 --unit user --adjacency replace"
)
TERMS = "--unit user --adjacency add-remove --delta 1e-6"
OWNER = "--population 'Our subscribers' --controller 'Films Ltd' --contact privacy@films.example"
SESSIONS = {
    "session": """
domain --items items.txt --scale 1 5 1 --max-per-user 10 --max-users 60 -o domain.json
check ratings.csv --domain domain.json
plan --domain domain.json --epsilon 1 --unit user --adjacency add-remove --delta 1e-6
plan --domain domain.json --epsilon 1 --unit record --adjacency replace --delta 1e-6 --model covariance-svd
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
""",
    "releases": f"""
{DECLARED}
plan --domain domain.json --releases 4 --total 4 {TERMS}
plan --domain domain.json --releases 4 --total 4 {TERMS} --json
plan --domain domain.json --epsilon 0.5 --delta 1e-6 --unit record --adjacency replace \
--model covariance-svd --json
ledger create ledger.db --epsilon 2 --max-releases 3 --domain domain.json {TERMS}
ledger extend ledger.db --epsilon 4 --max-releases 4
ledger extend ledger.db {OWNER}
fit ratings.csv {FITTED} -o films.safetensors
fit ratings.csv {FITTED} -o more.safetensors
fit ratings.csv {FITTED} -o again.safetensors --release-index 1
show more.safetensors
show more.safetensors --json
ledger show ledger.db
ledger show ledger.db --json
ledger export ledger.db -o history.json
ledger verify history.json films.safetensors more.safetensors
ledger verify ledger.db films.safetensors
""",
    "series": f"""
{DECLARED}
ledger create ledger.db --epsilon 4 --max-releases 3 --domain domain.json {TERMS} {OWNER}
plan --domain domain.json --series ledger.db
fit ratings.csv --domain domain.json --ledger ledger.db --series year -o week-1.safetensors
fit ratings.csv --domain domain.json --ledger ledger.db --series year -o week-2.safetensors
ledger show ledger.db
ledger show ledger.db --json
show week-2.safetensors --json
show week-2.safetensors --md films.md
""",
    "crowds": f"""
domain --items items.txt --interactions --max-per-user 10 --max-users 90000 --expected-users 80000 \
--expected-records 600000 -o many.json
domain --items items.txt --scale 1 5 1 --likes 4 --max-per-user 10 --max-users 90000 --expected-users 80000 \
--expected-records 600000 -o likes.json
domain --items items.txt --interactions --max-per-user 10 --max-users 60 -o few.json
plan --domain many.json --epsilon 1 {TERMS}
plan --domain likes.json --epsilon 1 {TERMS} --json
check ratings.csv --domain likes.json
check ratings.csv --domain many.json --json
plan --domain few.json --epsilon 1 {TERMS}
plan --domain few.json --epsilon 1 {TERMS} --model private-ease
""",
    "evidence": f"""
{DECLARED}
check losses.csv --domain domain.json
check losses.csv --domain domain.json --json
check tenfold.csv --domain domain.json
check tenfold.csv --domain domain.json --json
fit losses.csv --domain domain.json --epsilon 4 {TERMS} --ledger ledger.db --new-ledger -o films.safetensors
fit ratings.csv --domain domain.json --epsilon 1 {TERMS} --model global-effects --ledger ledger.db \
--new-ledger -o films.safetensors
ledger extend ledger.db --epsilon 3 --max-releases 2
ledger extend ledger.db {OWNER}
fit ratings.csv {FITTED} -o more.safetensors
evaluate films.safetensors {MEASURED} --against more.safetensors --metric rmse --metric mae \
--metric recall@5 --likes 4 --slices
evaluate films.safetensors {MEASURED} --against more.safetensors --metric rmse --metric recall@5 --likes 4 \
--slices --json
evaluate films.safetensors {MEASURED} --json > accuracy.json
audit global-effects --epsilon 1 {TERMS} --runs 2000
audit global-effects --epsilon 1 {TERMS} --runs 2000 --json > audit.json
ledger export ledger.db -o history.json
show films.safetensors --md films.md --audit audit.json --accuracy accuracy.json --history history.json
""",
    "randomized": f"""
{DECLARED}
randomize --plan {RESPONSE}
randomize --plan {RESPONSE} --json
randomize ratings.csv {RESPONSE} --accept weak --ledger ledger.db --new-ledger -o data.csv
show data.csv
show data.csv --json
show data.csv --md films.md
fit data.csv --model item-knn -o films.safetensors
show films.safetensors
""",
}
"""What a curator types; ``>`` keeps what one command printed for another."""


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
    return hr.load(table(), hr.Domain(FILMS, scale=(1, 5, 1), max_per_user=10, max_users=60, **declared))


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
        for unit, epsilon in (("user", 4), ("record", 1)):
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
    data = hr.testing.randomize(world(), hr.RandomizedResponse(), response, entropy=hr.testing.Seeded(1))
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


def notebooks():
    """What a notebook shows of each object, and what ``print`` writes of reports."""
    people, model = world(), hr.GlobalEffects()
    budget = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(
        "ledger.db", budget, 2, domain=people.domain.digest, population="Our subscribers"
    )
    release = hr.fit(people, model, "auto", ledger=ledger)
    response = hr.Budget(epsilon=50, delta=1e-6, unit="user", adjacency="replace")
    data = hr.testing.randomize(people, hr.RandomizedResponse(), response, entropy=hr.testing.Seeded(1))
    train, test = holdout(people, 0.2, seed=0)
    measured = hr.evaluate(release, train=train, test=test, metrics=("rmse", "recall@5"), likes=4)
    shown = {
        "Domain": people.domain,
        "Ratings": people,
        "Interactions": world(likes=4),
        "Plan": hr.plan(people.domain, model, budget),
        "Release": release,
        "Ledger": ledger,
        "ReleasedData": data,
        "Evaluation": measured,
    }
    for name, value in shown.items():
        yield f"{name}, as HTML", plain(value._repr_html_())
    yield "the page of the statement", statement_html(release, home="index.html")
    write_files()
    yield "Evaluation", str(measured)
    yield "Check", str(hr.check("losses.csv", people.domain))
    yield "Audit", str(audit(model, budget, runs=2000))


def demo():
    """What newcomers read. Its figures that depend on the machine are shown as ``#``."""
    done = CliRunner().invoke(app, ["demo", "--quick"])
    for name, text in (("hushrec demo --quick", done.output), ("report.html", page("demo/report.html"))):
        lines = (re.sub(r"\d+\.\d+", "#", line) if "±" in line else line for line in text.splitlines())
        shown = FOUND.sub("#", plain("\n".join(lines)))
        yield name, re.sub(r"(?<=[ ─]{2})[ ─]+", "", shown)  # columns are as wide as their titles


def write_files():
    """The files of a curator, two of them with faults."""
    people = table()
    people.write_csv("ratings.csv")
    others = {
        user: iter(sorted(set(FILMS) - set(given["item_id"])))
        for (user,), given in people.group_by("user_id")
    }
    rows = [(user, next(others[user]), 1.0 + number % 5) for number, user in enumerate(sorted(others))]
    pl.DataFrame(rows, schema=people.schema, orient="row").write_csv("test.csv")
    people.with_columns(pl.col("rating") * 10).write_csv("tenfold.csv")
    Path("losses.csv").write_text(
        people.write_csv()
        + "u01,film-00,9\nu01,film-00,x\nu02,no such film,3\n,film-01,3\nu03,FILM-01,2\n" * 20
    )
    Path("items.txt").write_text("\n".join(FILMS) + "\n")


def plain(html):
    """Hypertext without its looks, an element a line."""
    return re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL).replace("><", ">\n<")


def page(path):
    """A page without its style and pictures."""
    return re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", Path(path).read_text("utf-8"), flags=re.DOTALL)


def typed(script):
    """What a curator reads in the terminal and in the files that commands write."""
    write_files()
    for line in script.strip().splitlines():
        command, _, kept = line.partition(" > ")
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exception is None or isinstance(done.exception, SystemExit), (line, done.exception)
        if kept:
            Path(kept).write_text(done.stdout, "utf-8")
        if line:
            yield f"hushrec {line}", re.sub(r"(?<=\.\d{6})\d{2,}", "…", done.output)
    for name in sorted(str(path) for path in Path().glob("films.[mh]*")):
        yield name, page(name)


def known_key(_, name="", purpose="noise"):
    """A key that is no secret: the same noise in every run."""
    return hashlib.sha256(f"{purpose} {name}".encode()).digest()


def texts(of):
    """All texts of a subject as one, each below its name."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for kind in (OperatingSystem, Checkpoint):
            patch.setattr(kind, "key", known_key)
        for name, value in {"COLUMNS": "110", "TERM": "dumb", "HOME": folder}.items():
            patch.setenv(name, value)
        parts = [
            f"===== {name}\n{text.replace(folder, '.').replace(Path(folder).name, '.').rstrip()}\n"
            for name, text in of()
        ]
    return MASKS.sub("#", "\n".join(parts))


SUBJECTS = {
    "plans": plans,
    "statements": statements,
    "helps": helps,
    "notebooks": notebooks,
    "demo": demo,
} | {name: partial(typed, script) for name, script in SESSIONS.items()}


SLOW = {"evidence", "notebooks", "demo"}
"""What audits, or fits many times."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in SLOW else ()) for name in SUBJECTS]
)
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
