"""The words of guarantees: each has its code, each call its sentence."""

import ast
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import hushrec
from hushrec.documents import html, terminal, words
from hushrec.documents.words import Clause, texts
from hushrec.text import above

LAB = Path(__file__).parents[2] / "lab"
SAYING = {"words.say", "Clause"}
"""Calls whose first argument names a sentence."""
FIGURES = {
    **dict.fromkeys(("n", "order", "max_per_user", "counts"), (2, "2")),
    **dict.fromkeys(("n_items", "n_users", "max_users", "users", "events"), (150000, "150,000")),
    **dict.fromkeys(("lo", "step", "likes", "threshold"), (0.5, "0.5")),
    "hi": (5.0, "5"),
    "epsilon": (1.25, "1.25"),
    "delta": (1.25e-06, "1.25e-06"),
}
"""Values that are numbers, and how they are written; all others are text."""


def names(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def values_of(key):
    told = {name: FIGURES.get(name, (f"<{name}>",))[0] for name in names(texts()[key])}
    return told | ({"given": "interactions"} if "given" in told else {})


def written(document):
    """The document by every writer, with its signs as they are read."""
    found = {
        "terminal": terminal.text(document.blocks),
        "page": html.page(document),
        "notebook": html.notebook(document),
    }
    return {name: " ".join(text.split()) for name, text in found.items()}


# -- every sentence has its code, and every call its sentence ----------------------------------------------


def asked(node: ast.expr, scope: ast.AST) -> Iterator[str]:
    """Patterns of the names that an argument can be: text, an f-string, a choice, or a variable of these."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
        yield "".join("([^.]+)" if part is None else re.escape(str(part)) for part in parts)
    elif isinstance(node, ast.IfExp):
        yield from asked(node.body, scope)
        yield from asked(node.orelse, scope)
    elif isinstance(node, ast.Name):
        for one in ast.walk(scope):
            if isinstance(one, ast.Assign) and node.id in [
                t.id for t in one.targets if isinstance(t, ast.Name)
            ]:
                yield from asked(one.value, one)


@cache
def code() -> tuple[dict[str, str], frozenset[str]]:
    """The patterns that calls ask for, with the file of each; and every text that stands in the code."""
    patterns: dict[str, str] = {}
    constants = set()
    own = [path for path in LAB.rglob("*.py") if "tests" not in path.relative_to(LAB).parts]
    for path in [*Path(hushrec.__file__).parent.rglob("*.py"), *own]:
        tree = ast.parse(path.read_text("utf-8"))
        nodes = [*ast.walk(tree)]
        constants |= {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        for scope in nodes:
            if not isinstance(scope, ast.FunctionDef | ast.Module):
                continue
            for call in ast.walk(scope):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in SAYING:
                    first = call.args[0] if call.args else call.keywords[0].value
                    patterns |= dict.fromkeys(asked(first, scope), path.name)
    return patterns, frozenset(constants)


def spoken():
    """Every name that a call may give: where a number chooses, it is the part before `one` and `other`."""
    pairs = {key.removesuffix(".one") for key in texts() if f"{key.removesuffix('.one')}.other" in texts()}
    return {key.rpartition(".")[0] if key.rpartition(".")[0] in pairs else key for key in texts()}


def test_every_sentence_that_code_asks_for_exists():
    patterns, _ = code()
    assert len(patterns) > 100, "the calls are not found any more"
    keys = spoken()
    lost = {name: file for name, file in patterns.items() if not any(re.fullmatch(name, key) for key in keys)}
    assert lost == {}


# -- figures -----------------------------------------------------------------------------------------------


def test_a_clause_says_the_same_after_it_was_written():
    for key in texts():
        clause = Clause(key, values_of(key))
        read = Clause.from_json(json.loads(json.dumps(clause.to_json())))
        assert read == clause
        if key in spoken():
            assert words.clause(read) == words.clause(clause)


# -- a sentence as a field -----------------------------------------------------------------------------------


def test_a_clause_is_known_by_its_name_and_exactly_its_values():
    own = {"max_per_user": 500, "given": "ratings"}
    assert Clause("assumes.cap", own).is_known
    assert Clause("assumes.new").is_known
    assert Clause("assumes.cap", own).kind == "assumes"
    assert not Clause("assumes.made_up", own).is_known
    assert not Clause("assumes", own).is_known
    assert not Clause("assumes.cap", {"max_per_user": 500}).is_known
    assert not Clause("assumes.cap", own | {"more": 1}).is_known
    assert not Clause("assumes.new", {"text": "nothing is assumed"}).is_known


@pytest.mark.parametrize(
    "value", [None, True, [500], {"max_per_user": 500}, math.inf, math.nan, 10**400], ids=repr
)
def test_a_clause_is_not_known_by_what_is_neither_text_nor_a_finite_number(value):
    assert not Clause("assumes.cap", {"max_per_user": value, "given": "ratings"}).is_known


def test_a_figure_stands_for_itself_in_json():
    clause = Clause("holds.renyi", {"order": above(1.5)})
    assert json.loads(json.dumps(clause.to_json())) == {"name": "holds.renyi", "order": "1.5"}
    assert len({clause, Clause.from_json(clause.to_json())}) == 1


# -- one line changes every document -----------------------------------------------------------------------
