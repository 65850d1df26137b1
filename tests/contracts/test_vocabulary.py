"""Each word has one meaning: retired words name no argument, field or public name."""

import ast
from pathlib import Path

import pytest

from hushrec import registry

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "hushrec"
RETIRED = {
    "recommended": "suggest_model",
    "pilot": "estimate_crowd",
    "release_data": "randomize",
    "cap": "max_per_user",
    "asks": "personal_epsilon",
    "asked": "personal_epsilon",
    "privacy_classes": "personal_epsilon",
    "expected_ratings": "expected_records",
    "rounds": "epochs",
    "strength": "reg",
    "factor_variance": "reg",
    "config": "model",
    "shares": "split",
}
"""A retired word and the word that replaced it."""
ALLOWED = {
    ("cap", "kernels/noise/quantiles.py"): "the largest draw of a sampler",
    ("cap", "privacy/noise/geometric.py"): "the largest draw of a sampler",
    ("factor_variance", "estimation/factor_steps.py"): "the prior variance of a posterior",
    ("factor_variance", "models/phases/outputs.py"): "the prior variance of a posterior",
    ("factor_variance", "models/posterior_mf.py"): "the prior variance of a posterior",
    ("factor_variance", "solvers/mcmc/density.py"): "the prior variance of a posterior",
    ("rounds", "audit/search.py"): "rounds of a search, which are no passes over data",
    ("rounds", "estimation/pair_factors.py"): "updates of a fit to released values",
    ("shares", "privacy/accounting/accountant.py"): "equal parts of a total",
    ("asked", "cli/ledger.py"): "an answer that a command line asked for",
    ("asked", "curator/checkpoints.py"): "what the caller passed as checkpoint=",
}
"""A word and the file where it may stay, with the reason."""


def named(text):
    """Arguments, fields and public functions and classes of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield field.target.id


def retired(text, file):
    """Retired words among a module's names, unless they are allowed there."""
    return sorted({word for word in named(text) if word in RETIRED and (word, file) not in ALLOWED})


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_name_is_a_retired_word(path):
    assert not retired(path.read_text("utf-8"), path.relative_to(SOURCE).as_posix())


@pytest.mark.parametrize(
    "text",
    ["def fit(config): ...", "def f(*, cap=3): ...", "class M:\n    rounds: int = 3", "def pilot(): ..."],
)
def test_a_retired_word_is_found(text):
    assert len(retired(text, "models/mine.py")) == 1


def test_every_exception_is_in_use():
    for word, file in ALLOWED:
        assert word in set(named((SOURCE / file).read_text("utf-8"))), (word, file)


def test_public_names_are_not_retired():
    assert not set(registry.HOMES) & set(RETIRED)
