"""Evidence on a card: of its own release alone, and never without what it is worth."""

import hashlib
import json
import math
import shlex

import pytest

from hushrec.documents.document import Commands, Paragraph, Table
from hushrec.documents.words import Clause, english
from hushrec.errors import ReleaseError
from hushrec.pages.evidence import accuracy, audit
from hushrec.pages.reviewed_file import ReviewedFile
from support.releases import release, statement
from support.statements import UNPROTECTED

SETTINGS = {"rank": 2, "covariance": {"clip": None}}
DIGEST = hashlib.sha256(b'{"covariance":{"clip":null},"rank":2}').hexdigest()
SHA = "5a" * 32
FOUND = {"kind": "canary", "tries": 9, "figure": 0.8, "differs": "", "holds": True}
FINDING = FOUND | {"mistaken": 5e-7, "noticed": 30.0}
AUDIT = {
    "subject": "s",
    "model": "PrivateEASE",
    "settings": SETTINGS,
    "epsilon": 1.2499999,
    "delta": 1e-6,
    "unit": "user",
    "adjacency": "add-remove",
    "holds": True,
    "findings": [FINDING],
}
SCORES = [
    {"name": "films", "metric": "rmse", "value": 0.91234, "error": 0.0021},
    {"name": "other", "metric": "rmse", "value": 0.5, "error": None},
    {"name": "item average", "metric": "rmse", "value": 0.99, "error": None},
    {"name": "films", "metric": "mae", "value": None, "error": None},
]
RELEASES = [{"name": "films", "sha256": SHA}, {"name": "other", "sha256": "00" * 32}]
ACCURACY = {"warning": "w", "releases": RELEASES, "scores": SCORES}


def reviewed(**changes):
    said = statement(**({"model": "PrivateEASE", "settings": DIGEST} | changes))
    return ReviewedFile.of(release(statement=said), "films.safetensors", SHA)


def table(blocks):
    return next(block for block in blocks if isinstance(block, Table))


def cautions(blocks):
    return [block.text for block in blocks if isinstance(block, Paragraph) and block.tone == "caution"]


def audited(facts, of=None):
    return audit(("audit.json", json.dumps(facts)), of or reviewed(), english)


def evaluated(facts):
    return accuracy(("accuracy.json", json.dumps(facts)), reviewed(), english)


def test_what_an_audit_found_stands_beside_the_claim():
    blocks = audited(AUDIT)
    assert table(blocks).rows == [
        ("canary, 9 runs", "ε ≥ 0.8", "ε ≤ 1.25", "holds", "1 − 5e-07", "noise 30 % too small"),
    ]
    assert not cautions(blocks)


def test_a_refuted_claim_is_a_caution_even_if_the_file_says_that_all_holds():
    told = AUDIT | {"findings": [FINDING, FINDING | {"holds": False}]}
    blocks = audited(told)
    assert cautions(blocks) == ["AN AUDIT FOUND MORE THAN IS CLAIMED: do not publish this file."]
    assert table(blocks).rows[1][3] == "EXCEEDED"
    unaudited = AUDIT | {"findings": [{**dict.fromkeys(FINDING), "kind": "sample", "differs": "factors"}]}
    assert table(audited(unaudited)).rows[0][3] == "not audited"


def test_a_figure_above_the_claim_is_a_caution_even_if_the_file_says_that_it_holds():
    told = AUDIT | {"findings": [FINDING | {"figure": 9.9}]}
    blocks = audited(told)
    assert cautions(blocks)
    assert table(blocks).rows[0][1:4] == ("ε ≥ 9.9", "ε ≤ 1.25", "EXCEEDED")


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"model": "Popularity"}, "model"),
        ({"settings": {"rank": 3}}, "settings"),
        ({"epsilon": 1.2}, "ε"),
        ({"epsilon": None}, "ε"),
        ({"delta": 1e-5}, "δ"),
        ({"unit": "record"}, "unit"),
        ({"adjacency": "replace"}, "adjacency"),
    ],
)
def test_an_audit_of_something_else_is_refused(change, differs):
    with pytest.raises(ReleaseError, match=rf"it differs in {differs}; .* hushrec audit private-ease "):
        audited(AUDIT | change)


def test_an_audit_at_some_epsilon_is_not_of_a_release_that_has_none():
    with pytest.raises(ReleaseError, match="it differs in ε"):
        audited(AUDIT, reviewed(epsilon=math.inf, caveats=(UNPROTECTED,)))


def test_accuracy_is_of_this_release_and_not_private():
    blocks = evaluated(ACCURACY)
    assert cautions(blocks[:1])[0].startswith("NOT PRIVATE: ")
    assert table(blocks).heads == ["of", "rmse", "mae"]
    assert table(blocks).rows == [
        ["this release", "0.9123 ± 0.0021", "unknown"],
        ["item average", "0.9900", ""],
    ]


def test_accuracy_of_another_release_is_refused():
    for releases in (RELEASES[1:], []):
        with pytest.raises(ReleaseError, match="figures of another file"):
            evaluated(ACCURACY | {"releases": releases})


@pytest.mark.parametrize("take", [audit, accuracy])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 10_000,
        '{"a": 1e999}',
        json.dumps(AUDIT | {"findings": 3}),
        json.dumps(AUDIT | {"findings": [{}]}),
        json.dumps(AUDIT | {"findings": [FINDING | {"holds": "yes"}]}),
        json.dumps(AUDIT | {"findings": []}),
        json.dumps(AUDIT | {"findings": [FINDING | {"kind": "certified by the regulator"}]}),
        json.dumps(AUDIT | {"epsilon": "x"}),
        json.dumps({name: value for name, value in AUDIT.items() if name != "delta"}),
        json.dumps(ACCURACY | {"releases": 3}),
        json.dumps(ACCURACY | {"releases": [{}]}),
        json.dumps(ACCURACY | {"scores": [{"name": "films"}]}),
        json.dumps(ACCURACY | {"scores": []}),
        json.dumps(ACCURACY | {"scores": [SCORES[0] | {"value": "x"}]}),
        json.dumps(ACCURACY | {"scores": [SCORES[0] | {"value": True}]}),
        json.dumps(ACCURACY | {"scores": [SCORES[0] | {"error": True}]}),
        json.dumps(ACCURACY | {"scores": [SCORES[0] | {"value": 10**400}]}),
        json.dumps(ACCURACY | {"scores": [SCORES[0] | {"metric": "certified"}, SCORES[0]]}).replace(
            "certified", "as certified by the regulator"
        ),
        json.dumps(ACCURACY | {"scores": [*SCORES, SCORES[0] | {"name": "this release"}]}),
        json.dumps(ACCURACY | {"scores": [*SCORES, SCORES[0] | {"name": "the best rival"}]}),
        json.dumps(ACCURACY | {"warning": "x" * 2_000_000}),
        json.dumps(AUDIT | {"subject": "x" * 2_000_000}),
    ],
)
def test_any_other_file_is_refused(take, text):
    with pytest.raises(ReleaseError, match=r"a\.json"):
        take(("a.json", text), reviewed(), english)


def test_figures_of_any_size_are_short():
    told = ACCURACY | {"scores": [SCORES[0] | {"value": 1e308, "error": -1e300}]}
    assert table(evaluated(told)).rows[0][1] == "1e+308 ± -1e+300"


def test_no_word_of_a_crafted_release_is_a_command():
    evil = "20; touch PWNED #"
    (_, lines) = audit(None, reviewed(), english, (("rank", evil),))
    assert shlex.split(lines.lines[0])[-5:] == ["--set", f"rank={evil}", "--json", ">", "audit.json"]
    for changed, options in (
        (reviewed(model=f"x{evil}"), ()),
        (reviewed(model="module:Class"), ()),
        (reviewed(), ((evil, "1"),)),
        (reviewed(), (("rank", "1" * 1000),)),
        (reviewed(), None),
    ):
        (text,) = audit(None, changed, english, options)
        assert "hushrec does not know this model, or not these settings" in text.text
    with pytest.raises(ReleaseError, match=r"it differs in model; audit the release's own model, with"):
        audited(AUDIT, reviewed(model=f"x{evil}"))


def test_without_an_audit_the_command_that_makes_one_is_told():
    (_, lines) = audit(None, reviewed(), english, (("rank", "2"),))
    assert isinstance(lines, Commands)
    assert lines.lines == [
        "hushrec audit private-ease --epsilon 1.25 --delta 1e-06 --unit user --adjacency add-remove "
        "--set rank=2 --json > audit.json",
    ]
    for changes in ({"caveats": (UNPROTECTED,)}, {"epsilon": math.inf, "caveats": (UNPROTECTED,)}):
        (text,) = audit(None, reviewed(**changes), english)
        assert "claims no ε" in text.text
    made = ReviewedFile(
        "data_set", "RandomizedResponse", {}, 4, Clause("card.about.interactions"), None, statement()
    )
    assert "this is a data set" in audit(None, made, english)[0].text


def test_without_accuracy_it_is_said_why():
    assert "no guarantee covers" in accuracy(None, reviewed(), english)[0].text
