"""Facts that files state by name: known names, exactly their values, and one sentence each."""

import json
import math

import pytest

from hushrec.documents.fact import Fact
from hushrec.documents.sentences import CAVEAT_KINDS, Assumes, Beside, Branch, Unprotected
from hushrec.text import escaped

KINDS = *CAVEAT_KINDS, Beside, Branch, Assumes
VALUES = {
    **dict.fromkeys(("n_items", "n_users", "max_users", "max_per_user", "users", "events", "counts"), 150000),
    **dict.fromkeys(("lo", "hi", "step", "likes", "threshold", "epsilon", "delta", "signal", "least"), 0.5),
    **dict.fromkeys(
        ("names", "model", "sha256", "unit", "adjacency", "given", "releases", "distance"), "them"
    ),
}
CAP = {"name": "assumes.cap", "max_per_user": 500, "given": "ratings"}


@pytest.mark.parametrize("sentence", [one for kind in KINDS for one in kind], ids=str)
def test_a_fact_says_the_same_after_a_file(sentence):
    taken = {name: value for name, value in VALUES.items() if f"{{{name}" in sentence.value}
    fact = sentence(**taken)
    read = Fact.from_json(json.loads(json.dumps(fact.to_json())), *KINDS)
    assert read == fact
    assert hash(read) == hash(fact)
    assert str(read) == str(fact) == escaped(str(fact))
    assert "{" not in str(fact)
    assert ("150,000" in str(fact)) == (150000 in taken.values())


@pytest.mark.parametrize(
    "values",
    [
        CAP | {"name": "assumes.made_up"},
        CAP | {"name": "assumes"},
        CAP | {"name": "assumes.__class__"},
        CAP | {"name": "unprotected.seeded"},
        {"name": "assumes.cap", "max_per_user": 500},
        CAP | {"more": 1},
        {"name": "assumes.new", "text": "nothing is assumed"},
        *(
            CAP | {"max_per_user": value}
            for value in (None, True, [500], {"of": 1}, math.inf, 0.5, 10**400, "5")
        ),
        *(CAP | {"given": value} for value in (None, True, 5, ["ratings"])),
    ],
    ids=repr,
)
def test_another_name_or_other_values_are_no_fact(values):
    assert str(Fact.from_json(CAP, Assumes)).endswith("at most 500 of their ratings are used")
    with pytest.raises((KeyError, TypeError)):
        Fact.from_json(values, Assumes)


def test_a_sentence_is_said_with_all_of_its_values():
    with pytest.raises(TypeError, match="max_per_user, given"):
        Assumes.cap(max_per_user=500)
    assert Unprotected.seeded().to_json() == {"name": "unprotected.seeded"}
