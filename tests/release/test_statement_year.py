"""What a statement says of a year: whose sums are inside or left out, and what its own charge costs."""

import json

import pytest

from hushrec.documents.sentences import Assumes
from hushrec.errors import ReleaseError
from hushrec.release.statement import Measured, Statement
from hushrec.text import ranges
from support.statements import KINDS

LEDGER = KINDS["one of several"]["ledger"]
NOISE = Measured("item sums", "gaussian", 2.0, 8.0, 4, 1.0, 0.25)
YEAR = {"releases": [0, 1], "left_out": [], "own_epsilon": 0.25}


@pytest.fixture
def yearly(statement):
    def make(**changes):
        year = {**YEAR, **{name: changes.pop(name) for name in YEAR.keys() & changes}}
        return statement(**{"year": year, "ledger": LEDGER, "measurements": (NOISE,), **changes})

    return make


def written(statement):
    return json.loads(json.dumps(statement.to_json(), allow_nan=False))


@pytest.mark.parametrize(
    "changes",
    [{}, {"releases": [0]}, {"releases": [], "left_out": [0, 3]}, {"left_out": [5]}, {"own_epsilon": 1.25}],
)
def test_a_year_is_read_as_it_was_written(yearly, changes):
    made = yearly(**changes)
    assert Statement.from_json(written(made)) == made
    assert written(Statement.from_json(written(made))) == written(made)
    assert list(made.earlier) == made.year["releases"]


def test_a_release_that_stands_alone_says_nothing_of_a_year(statement):
    assert "year" not in written(statement())
    assert list(Statement.from_json(written(statement())).earlier) == []


@pytest.mark.parametrize(
    "year",
    [YEAR | {"releases": [1, 1]}, YEAR | {"left_out": [1]}, YEAR | {"own_epsilon": 1.26}],
    ids=["twice", "inside and left out", "more than all"],
)
def test_a_year_that_cannot_be_is_refused(statement, year):
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(written(statement()) | {"year": year})


def shown(statement):
    return " ".join(str(statement).split())


def test_one_and_several_earlier_releases_are_counted(yearly):
    one = "This release, with the sums of 1 earlier one that it holds: ε = 1.25 at δ = 1e-06. Its own"
    several = "This release, with the sums of 2 earlier ones that it holds: ε = 1.25 at δ = 1e-06. Its own"
    assert f"{one} measurements cost ε = 0.25 of it." in shown(yearly(releases=[3]))
    assert f"{several} measurements cost ε = 0.25 of it." in shown(yearly())
    assert "This release alone: " not in shown(yearly())
    assert "This release alone: ε = 1.25" in shown(yearly(releases=[], left_out=[0]))
    for made in (yearly(releases=[3]), yearly()):
        told = " ".join(str(block) for block in made.summary())
        assert "that it holds: ε = 1.25" in told


def test_odds_follow_from_the_epsilon_of_all_that_is_inside(yearly, statement):
    """Not from the noise of its own measurements, which is that of one charge."""
    alone = statement(ledger=LEDGER, measurements=(NOISE,), epsilon=1.25)
    assert alone.reading.mu == pytest.approx(0.25)
    assert yearly().reading.mu > 0.26
    assert yearly(epsilon=2.5).reading.mu > yearly().reading.mu
    assert yearly().reading == yearly(own_epsilon=1.0).reading
    assert "Together, with the sums of earlier releases that are inside: μ ≤" in shown(yearly())
    assert "that are inside: μ" not in shown(alone)


def test_what_is_inside_and_left_out_is_assumed_in_ranges(yearly):
    facts = (
        Assumes.earlier(releases=ranges([4, 0, 1, 2])),
        Assumes.left_out(releases=ranges([3]), given="interactions"),
    )
    text = shown(yearly(assumes=facts))
    assert "the sums of earlier releases of this ledger (0–2, 4) are inside" in text
    assert "their ε is part of that of this release: who has left since is still counted in them" in text
    assert "the sums of releases 3 of this ledger, which measured the same, are left out" in text
