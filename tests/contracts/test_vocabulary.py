"""Each word has one meaning: retired words name nothing that users see, and a name says what it holds."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

import hushrec
from hushrec import registry, testing
from hushrec.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
SOURCE, DOCS = ROOT / "src" / "hushrec", ROOT / "docs"
FILES = sorted(SOURCE.rglob("*.py"))
RETIRED = {
    "recommended": "suggest_model",
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
    ("factor_variance", "models/phases/noisy_descent.py"): "the same",
    ("factor_variance", "solvers/mcmc/density.py"): "the prior variance of a posterior",
    ("rounds", "audit/search.py"): "rounds of a search, which are no passes over data",
    ("rounds", "estimation/interactions/pair_factors.py"): "updates of a fit to released values",
}
"""A word and the file where it may stay, with the reason."""
SHARES = {
    "curator/fit.py": "the equal part that one release of a ledger may cost",
    "curator/choices/suggest_model.py": "the equal part that one release of a ledger may cost",
    "privacy/ledger/balance.py": "the equal part of what a ledger has left",
    "privacy/ledger/remainder.py": "the equal part of what a ledger has left",
}
"""A file where something may be called ``share``, with the reason."""
VAGUE = {
    "found",
    "known",
    "own",
    "made",
    "told",
    "said",
    "asked",
    "given",
    "wanted",
    "stated",
    "done",
    "meant",
    "held",
}
"""Words that do not say what a name holds."""
HOLDS = {
    ("done", "progress.py"): "the event that ends a stage",
}
"""A vague word and the file where it may name something, with the reason."""
CAPS = {"contribution_cap"}
"""Names that contain a retired word in its other meaning: the weight of a user's records."""
PLACES = {"data": 0, "domain": 0, "feedback": 0, "model": 1, "method": 1, "budget": 2, "total": 2}
"""Argument of a verb → its place among the others of this table."""


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


def bound(text):
    """Every name that a module binds: those above, locals and loop variables."""
    stores = (
        n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )
    return {*named(text), *stores}


def retired(text, file):
    """Retired words among a module's names, unless they are allowed there."""
    return sorted({word for word in named(text) if word in RETIRED and (word, file) not in ALLOWED})


def contains_retired(name):
    """Whether a name of several words contains a retired one."""
    words = name.strip("-").replace("-", "_")
    return words not in CAPS and any(f"_{word}_" in f"_{words}_" for word in RETIRED)


def parameters(command):
    """Every parameter of a command and of the commands below it: its name in Python, and its options."""
    for parameter in command.params:
        yield parameter.name
        yield from parameter.opts
    for inner in getattr(command, "commands", {}).values():
        yield from parameters(inner)


def out_of_order(verb):
    """Whether a verb takes data or domain, model and budget in another order."""
    kinds = inspect.signature(verb).parameters.values()
    places = [
        PLACES[kind.name] for kind in kinds if kind.name in PLACES and kind.kind is not kind.KEYWORD_ONLY
    ]
    return places != sorted(places)


def misplaced_share(text, file):
    """Names of a module that call something a share, unless it is the part of a ledger's total."""
    return sorted(bound(text) & {"share", "shares"}) if file not in SHARES else []


def vague(text, file):
    """Names of a module that do not say what they hold."""
    return sorted(word for word in bound(text) & VAGUE if (word, file) not in HOLDS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_names_say_one_thing(path):
    text, file = path.read_text("utf-8"), path.relative_to(SOURCE).as_posix()
    assert not retired(text, file)
    assert not misplaced_share(text, file)
    assert not vague(text, file)


@pytest.mark.parametrize(
    "text",
    ["def fit(config): ...", "def f(*, cap=3): ...", "class M:\n    rounds: int = 3"],
)
def test_a_retired_word_is_found(text):
    assert len(retired(text, "models/mine.py")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(share): ...",
        "class M:\n    share: float",
        "def share(): ...",
        "for share in x: ...",
        "shares = 3",
    ],
)
def test_a_share_of_something_else_is_found(text):
    assert misplaced_share(text, "privacy/allocation.py")
    assert not misplaced_share(text, "privacy/ledger/remainder.py")


@pytest.mark.parametrize(
    "text",
    ["found = 3", "def f(told): ...", "[own for own in x]", "if (made := f()): ...", "lambda given: given"],
)
def test_a_vague_name_is_found(text):
    assert len(vague(text, "models/mine.py")) == 1


def test_attributes_and_names_of_several_words_are_left_alone():
    assert not vague("known_items = release.known\nself.made = 3\nf(told=3)", "models/mine.py")


def test_every_exception_is_in_use():
    for word, file in ALLOWED:
        assert word in set(named((SOURCE / file).read_text("utf-8"))), (word, file)
    for word, file in HOLDS:
        assert word in bound((SOURCE / file).read_text("utf-8")), (word, file)
    for file in SHARES:
        assert bound((SOURCE / file).read_text("utf-8")) & {"share", "shares"}, file


@pytest.mark.parametrize("name", hushrec.__all__)
def test_a_public_name_is_current_and_explained(name):
    assert not contains_retired(registry.file_name(name))
    pages = [(DOCS / f"{page}.md").read_text("utf-8") for page in ("reference", "glossary")]
    assert any(re.search(rf"\b{name}\b", page) for page in pages)


@pytest.mark.parametrize("name", ["release_data", "recommended", "model_config", "rating_cap"])
def test_a_public_name_with_a_retired_word_is_found(name):
    assert contains_retired(registry.file_name(name))
    assert not contains_retired("contribution_cap")
    assert not contains_retired("capacity")


def test_options_are_current():
    names = set(parameters(get_command(app)))
    assert {"--max-per-user", "max_per_user", "--personal-epsilon", "release_index"} <= names
    assert not {name for name in names if contains_retired(name)}


@pytest.mark.parametrize("option", ["--cap", "--expected-ratings", "--privacy-classes", "config"])
def test_a_retired_option_is_found(option):
    assert contains_retired(option)


def verbs():
    """The public functions, and their twins with seeded noise."""
    functions = [getattr(home, name) for home in (hushrec, testing) for name in home.__all__]
    return [function for function in functions if inspect.isfunction(function)]


@pytest.mark.parametrize("verb", verbs(), ids=lambda verb: f"{verb.__module__}.{verb.__name__}")
def test_verbs_take_their_arguments_in_one_order(verb):
    assert not out_of_order(verb)


def test_another_order_is_found():
    assert out_of_order(lambda model, data, budget: None)
    assert out_of_order(lambda domain, budget, model: None)
    assert not out_of_order(lambda domain, model, prior, budget: None)
    assert not out_of_order(lambda model, budget, *, domain=None: None)
