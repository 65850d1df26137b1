"""The words of guarantees: each has its code, each call its sentence."""

import json
import math
from string import Formatter

import pytest

from hushrec.documents import words
from hushrec.documents.words import Clause, texts
from hushrec.figures import above

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


# -- every sentence has its code, and every call its sentence ----------------------------------------------


def spoken():
    """Every name that a call may give: where a number chooses, it is the part before `one` and `other`."""
    pairs = {key.removesuffix(".one") for key in texts() if f"{key.removesuffix('.one')}.other" in texts()}
    return {key.rpartition(".")[0] if key.rpartition(".")[0] in pairs else key for key in texts()}


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
