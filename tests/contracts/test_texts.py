"""What people read first is what it was, word by word: the program's help, one plan, and one statement.

After a change on purpose ``python tests/contracts/test_texts.py`` writes the files again, and their
difference is every word that changed.
"""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app

STORED = Path(__file__).with_name("texts")
MASKS = re.compile(r"\b[0-9a-f]{8,64}\b|\b20\d\d-\d\d-\d\d\b|\b0\.1\.0\b")  # digests, days, the version
BUDGET = hr.Budget(epsilon=4, delta=1e-6, unit="user", adjacency="add-remove")


def films():
    """Fifty people and twenty films without tastes: only words are looked at."""
    draw = np.random.default_rng(7)
    names = [f"film-{k:02d}" for k in range(20)]
    rows = [
        (f"u{user:02d}", names[item], float(draw.integers(1, 6)))
        for user in range(50)
        for item in draw.permutation(20)[:8]
    ]
    table = pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
    return hr.load(table, hr.Domain(names, scale=(1, 5, 1), max_per_user=10, max_users=60))


def program():
    return CliRunner().invoke(app, ["--help"]).output


def plan():
    return str(hr.plan(films().domain, hr.CovarianceSVD(), BUDGET))


def statement():
    made = hr.testing.fit(films(), hr.CovarianceSVD(), BUDGET, entropy=hr.testing.Seeded(1))
    return str(made.statement)


SUBJECTS = {"help": program, "plan": plan, "statement": statement}


def text(name):
    lines = MASKS.sub("#", SUBJECTS[name]()).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip() + "\n"


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_word_is_what_it_was(name, monkeypatch):
    for variable, value in {"COLUMNS": "110", "TERM": "dumb"}.items():
        monkeypatch.setenv(variable, value)
    assert text(name) == (STORED / f"{name}.txt").read_text("utf-8")


if __name__ == "__main__":
    for name in SUBJECTS:
        (STORED / f"{name}.txt").write_text(text(name), "utf-8")
