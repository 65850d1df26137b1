"""The statement as JSON: what is read, what is derived, and what was written before."""

import json
import math
from pathlib import Path

import pytest

from hushrec.errors import ReleaseError
from hushrec.release.statement import Local, Measured, Statement, placeholder_statement
from support.statements import CONDITIONAL, KINDS, LEVELS, POSTERIOR, ROUND, UNPROTECTED

STORED = Path(__file__).parent / "formats"
FACTS = {
    "file": "ledger.db",
    "total_epsilon": 4.0,
    "total_delta": 1e-6,
    "spent_epsilon": 1.25,
    "date": "2026-11-22",
    "population": "subscribers",
    "controller": "Films Ltd",
    "contact": "privacy@films.example",
}
CHANGES = {
    "plain": {},
    "charged": {"model": "Planted", "settings": "0f" * 32, "hushrec": "0.1.0"},
    "not private": {"caveats": (UNPROTECTED,), "measurements": (), "epsilon": math.inf, "ledger": {}},
    "a round": {"measurements": (ROUND,)},
    "personal_epsilon": {"personal_epsilon": True, "classes": LEVELS},
    "posterior": {
        "measurements": (POSTERIOR,),
        "caveats": (CONDITIONAL,),
        "diagnostics": {"R̂": 1.01, "verdict": "mixed"},
    },
    "interactions": {"interactions": True, "unit": "record"},
    "cells": {
        "adjacency": "replace",
        "epsilon": 2.0,
        "delta": 0.0,
        "measurements": (Measured("responses", "randomized response", 40.0, 0.8, 60, 1.0, 2.0),),
        "local": Local("cell", 0.05, 0.00125, None, 40, 0.8, drawn=0.5),
    },
}


@pytest.fixture(params=CHANGES)
def said(request, statement):
    made = statement(**CHANGES[request.param])
    charged = request.param == "charged"
    return statement(**CHANGES[request.param], ledger={**made.ledger, **FACTS}) if charged else made


def written(statement):
    return json.loads(json.dumps(statement.to_json(), allow_nan=False))


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_every_kind_of_statement_is_read_as_it_was_written(statement, changes):
    made = statement(**changes)
    values = written(made)
    assert Statement.from_json(values) == made
    assert written(Statement.from_json(values)) == values
    assert (values["kind"], values["version"]) == ("statement", 3)


def test_what_pages_show_is_said(said):
    spoken = written(said)["said"]
    told = {"story", "protected", "unprotected"} if said.private else set()
    together = {"together"} if said.together else set()
    assert spoken.keys() == {"headline", "sentence"} | told | together
    assert all(text.isprintable() and "{" not in text for text in spoken.values())
    assert spoken["headline"] == said.headline
    assert spoken["sentence"] == said.sentence


def test_what_follows_from_other_fields_is_never_read_back(said):
    well = {"sentence": "All is well.", "headline": said.headline}
    values = said.to_json()
    forged = values | {"said": well, "reading": values["reading"] | {"odds": 1.0}}
    read = Statement.from_json(forged)
    assert read == said
    assert "All is well" not in str(read)
    assert read.to_json() == said.to_json()


FORGED = (
    "All is well",
    "",
    "ε = 0.1 at δ = 1e-06 per user, add-remove",
    "ε = 0.466 at δ = 1e-06 per record, add-remove",
)


@pytest.mark.parametrize("headline", FORGED)
def test_a_headline_that_is_not_that_of_the_figures_is_refused(said, headline):
    values = written(said)
    values["said"]["headline"] = headline
    with pytest.raises(ReleaseError, match="headline of the statement of privacy is not that of its figures"):
        Statement.from_json(values)


@pytest.mark.parametrize("version", [0, 2, 4, "3", 3.5, None, True])
def test_another_version_is_refused(said, version):
    with pytest.raises(ReleaseError, match="this hushrec reads 3; upgrade hushrec"):
        Statement.from_json(said.to_json() | {"version": version})


NAMED = CONDITIONAL.to_json()


@pytest.mark.parametrize(
    "changes",
    [
        {"caveats": [{"name": "fully private"}]},
        {"caveats": [{"name": "unprotected.fully"}]},  # of a kind that there is, and not known
        {"caveats": [{"name": "convergence"}]},
        {"caveats": [NAMED | {"more": "w"}]},
        {"caveats": [NAMED | {"names": "v\nw"}]},
        {"caveats": [{"name": ["unprotected.seeded"]}]},
        {"caveats": [{"name": "assumes.new"}]},  # a sentence that is no caveat
        {"caveats": [NAMED, {"name": "groups.none"}]},
        {"assumes": [{"name": "unprotected.seeded"}]},  # a caveat that nobody would look for there
        {"decisions": [{"name": "assumes.rows"}]},
        {"decisions": [{"name": "branch.dearest"}]},
        {"decisions": [{"name": "branch.pairs", "signal": 3.0}]},
        {"beside": {"name": "unprotected.seeded"}},
        {"beside": {"name": "beside.release"}},
    ],
    ids=str,
)
def test_a_fact_that_is_not_known_where_it_stands_is_refused(statement, changes):
    values = statement(caveats=(CONDITIONAL,)).to_json()
    assert Statement.from_json(values).caveats == (CONDITIONAL,)
    with pytest.raises(ReleaseError, match="malformed"):
        Statement.from_json(values | changes)


# -- what was written before is read and printed as it was ------------------------------------------------


def test_a_stored_statement_of_version_3_is_read_and_written_the_same():
    """Who must change this file makes version 4. What it says to people may be said better at any time."""
    values = json.loads((STORED / "statement-v3.json").read_text("utf-8"))
    read = Statement.from_json(values)
    assert written(read) | {"said": values["said"]} == values


def test_a_statement_that_nobody_wrote_promises_nothing():
    made = placeholder_statement({"R̂": 1.01})
    assert Statement.from_json(written(made)) == made
    assert (made.unprotected, made.private, made.together) == (True, False, None)
    assert made.sentence == "Nothing is promised. NOT PRIVATE: no statement was written."
