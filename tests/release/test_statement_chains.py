"""Statements on samples of people, on posterior samples and on people who ask for an ε of their own."""

import math
from dataclasses import replace

import pytest

from hushrec.errors import ReleaseError
from hushrec.release.statement import Measured, Promised, Statement
from support.statements import CLAIMED, CONDITIONAL, LEVELS, POSTERIOR, PROMISE, ROUND, UNPROTECTED, first

EXACT = Measured("item counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)
REFUTED = {"verdict": "NOT CONVERGED", "R̂, the largest": 1.9}


def test_a_conditional_statement_promises_nothing_outright(statement):
    made = statement(measurements=(POSTERIOR,), caveats=(CONDITIONAL,))
    assert not made.private
    assert first(made).startswith("CONDITIONAL ON CONVERGENCE: a posterior sample (v) keeps its ε only if")
    assert PROMISE not in str(made)
    rows = [" ".join(line.split()) for line in str(made).splitlines()]
    assert "v posterior sample 5 T = 10 12 1.000 ε = 0.5" in rows


def test_classes_and_chains_are_shown(statement):
    text = str(
        statement(classes=LEVELS, personal_epsilon=True, diagnostics={"R̂": 1.23456, "chains": "4"})
    ).splitlines()
    where = text.index("class     asks for  is promised  weight")
    assert [" ".join(line.split()) for line in text[where + 2 : where + 4]] == [
        "strict ε = 0.5 ε = 0.49999 0.2500",
        "generous ε = 8 ε = 1.25 1.0000",
    ]
    assert text[where + 5] == (
        "Each person loses at most the ε that they asked for, at the same δ, and never more than the ε "
        "above, from this release; several releases add up. People who asked for 0 left no trace."
    )
    chain = text.index("The chain:")
    assert [line.split() for line in text[chain + 1 : chain + 3]] == [["R̂", "1.235"], ["chains", "4"]]
    plain = str(statement())
    assert "class" not in plain
    assert "The chain" not in plain
    assert "asked for" not in plain


@pytest.mark.parametrize(
    "changes",
    [
        {"measurements": (POSTERIOR,)},  # without its condition
        {"classes": LEVELS, "unit": "record"},
        {"personal_epsilon": True, "adjacency": "replace"},
        {"classes": (Promised("strict", 0.5, 0.25, 0.6),)},  # more than asked for
        {"classes": (Promised("generous", 8.0, 1.0, 1.3),)},  # more than the release's own
        {"measurements": (POSTERIOR,), "caveats": (CLAIMED,)},  # another condition
        {"measurements": (POSTERIOR,), "caveats": (CONDITIONAL,), "epsilon": math.inf},
        {"measurements": (), "caveats": (CONDITIONAL,)},
        {"measurements": (EXACT,), "epsilon": 0.0},
        {"measurements": (EXACT,)},
        {"measurements": (replace(ROUND, noise=0.0),)},
        {"classes": (Promised("absent", 0, 1.0, 0.0),)},
        {"classes": (Promised("absent", 0, 0.5, 0.0),)},
        {"classes": (Promised("strict", 0.5, 0.0, 0.5),)},
        {"classes": (LEVELS[0], LEVELS[0])},
        {"classes": (LEVELS[0], replace(LEVELS[1], name="strict"))},
        {"classes": (Promised("generous", 8, 0.25, 0.5),)},  # asks for enough, and does not count in full
        {"classes": (Promised("exactly", 1.25, 0.25, 0.5),)},
        {"classes": (Promised("strict", 0.5, 1.0, 0.5),)},  # counts in full, and loses less than the release
        {"classes": (Promised("generous", 8, 1.0, 0.5),)},
    ],
)
def test_a_statement_that_claims_what_cannot_be_is_refused(statement, changes):
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(statement(**changes).to_json())


@pytest.mark.parametrize(
    "changes",
    [
        {"caveats": (UNPROTECTED,)},
        {"measurements": (POSTERIOR,), "caveats": (CONDITIONAL,)},
    ],
)
def test_nobody_is_promised_an_epsilon_of_his_own_where_none_is_promised(statement, changes):
    made = statement(**({"classes": LEVELS, "personal_epsilon": True} | changes))
    for said in ("Each person loses", "  is promised"):
        assert said in str(statement(classes=LEVELS, personal_epsilon=True))
        assert said not in str(made)
    assert "class     asks for  would be promised  weight" in str(made)
    assert "would be promised" not in str(replace(made, classes=()))


def test_classes_are_not_shown_where_nobody_asked(statement):
    """Then everybody counted in full."""
    made = statement(classes=LEVELS)
    assert "strict" not in str(made)
    assert Statement.from_json(made.to_json()) == made


@pytest.mark.parametrize("caveat", [CONDITIONAL, UNPROTECTED])
def test_a_condition_that_looks_false_is_called_so_at_the_head(statement, caveat):
    made = statement(measurements=(POSTERIOR,), caveats=(caveat,), diagnostics=REFUTED)
    assert str(made).splitlines()[:2] == [
        first(replace(made, diagnostics={})),
        "This release promises nothing: by its diagnostics the chain had NOT CONVERGED, so its draw "
        "does not have the law from which the ε below follows.",
    ]
    for diagnostics in ({}, {"verdict": "converged as far as can be seen"}):
        assert "promises nothing: by" not in str(replace(made, diagnostics=diagnostics))
