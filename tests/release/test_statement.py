"""What the statement of privacy says, to the letter where somebody relies on it."""

import json
import math

import pytest

import hushrec as hr
from hushrec.documents import terminal
from hushrec.documents.odds import Odds
from hushrec.documents.sentences import Assumes, Branch, Unprotected
from hushrec.errors import ReleaseError
from hushrec.release.statement import Measured, Statement, placeholder_statement
from support.statements import (
    CLAIMED,
    CONDITIONAL,
    KINDS,
    POSTERIOR,
    PROMISE,
    UNPROTECTED,
    first,
)

EXACT = Unprotected.exact()

# -- text -------------------------------------------------------------------------------------------------


def test_a_private_release_promises_in_one_plain_sentence_and_warns_of_nothing(statement):
    text = str(statement())
    assert first(statement()) == "ε = 1.25 at δ = 1e-06 per user, add-remove"
    promises = [line for line in text.splitlines() if line.startswith(PROMISE)]
    assert promises == [
        f"{PROMISE} may learn something about you that they would not learn if you had never taken part. "
        "If readers know that you took part, the bound on what you gave is weaker: 2ε = 2.5, a factor of "
        "12.2, at δ = 1 in 222,000."
    ]
    assert "it is at most 3.5 times as probable as in the other case, plus 1 in 1,000,000." in text
    assert 3.49 < math.exp(1.25) < 3.5
    assert "NOT PRIVATE" not in text
    assert "do not publish" not in text


def test_measurements_are_listed_with_their_noise_and_their_price(statement):
    rows = [" ".join(line.split()) for line in str(statement()).splitlines()]
    assert "item sums gaussian 2 σ = 8 4 0.750 μ = 0.25" in rows
    assert "co-rating weights laplace 3 b = 6 10 0.250 ε = 0.5" in rows
    assert "item counts exact 0 none needed 4" in rows


def test_assumptions_and_the_ledger_are_named(statement):
    text = str(statement())
    assert (
        "Assumed:\n  · every row is randomized independently, with randomness that no one else knows\n"
        in text
    )
    charged = text[text.index("Charged to ledger.db: release 1 of at most 4, entry 3") :]
    assert {"9f" * 16, "ab" * 32} <= set(charged.split())
    assert "Charged to" not in str(statement(ledger={}))


@pytest.mark.parametrize(
    ("caveat", "said"),
    [
        (UNPROTECTED, "the noise was drawn from a seed"),
        (Unprotected.not_kept(), "the ledger was not kept"),
    ],
)
def test_what_is_not_private_says_so_first_and_promises_nothing(statement, caveat, said):
    made = statement(caveats=(caveat,))
    assert first(made) == f"NOT PRIVATE: {said}"
    assert made.sentence == f"Nothing is promised. NOT PRIVATE: {said}."
    assert made.headline == "NOT PRIVATE"
    assert PROMISE not in str(made)
    assert "Alice" not in str(made)
    assert not made.private
    assert made.unprotected
    assert statement().private
    assert not statement().unprotected


def test_a_condition_stands_in_the_headline_and_the_sentence(statement):
    made = statement(caveats=(CONDITIONAL, CLAIMED), measurements=(POSTERIOR,))
    assert made.headline == "CONDITIONAL ON CONVERGENCE: ε = 1.25 per user"
    assert made.sentence.startswith("The promise holds only on a condition. CONDITIONAL ON CONVERGENCE:")
    assert "AUTHOR'S CLAIM: mine.Model is not part" in made.sentence
    assert [line.partition(":")[0] for line in str(made).splitlines()[:3]] == [
        "CONDITIONAL ON CONVERGENCE",
        "AUTHOR'S CLAIM",
        "ε = 1.25 at δ = 1e-06 per user, add-remove, as its author counts",
    ]
    assert (made.has("author"), made.has("groups"), made.unprotected) == (True, False, False)
    assert PROMISE not in str(made)


# -- one of several releases ------------------------------------------------------------------------------

SEVERAL = KINDS["one of several"]
ALICE, ALONE = "What that means for Alice", "This release alone: ε = 0.466 at δ = 1e-06."
HIGH = "These figures are this high because they hold for any noise: other releases may use any."


def test_a_statement_of_one_of_several_releases_begins_with_all_of_them(statement):
    """It is what a person asks first, and it is more than this file tells."""
    made = statement(**SEVERAL)
    lines = terminal.text(made.summary()).splitlines()
    assert lines[0] == (
        "All 52 releases that this ledger allows, together: ε = 4 at δ = 1e-06 per user, add-remove; ε = 0.7 "
        "of it is spent so far, this one included."
    )
    assert first(made) == lines[0]
    assert lines[1].startswith(
        "Anyone who reads all 52 files, whatever else they know, may learn a lot about"
    )
    assert lines[2] == "This release alone: ε = 0.466 at δ = 1e-06."
    assert "reads all 52 files" in made.says()["story"]
    assert (made.together.odds.epsilon, made.together.odds.delta, made.together.files) == (4.0, 1e-6, 52)
    assert made.guarantee.odds.epsilon == 0.466
    assert made.says()["together"] == " ".join(lines[:2])


def test_a_statement_of_one_of_several_tells_the_story_of_all_of_them_first(statement):
    made = statement(**SEVERAL)
    told = str(made).splitlines()
    order = [told.index(line) for line in (f"{ALICE} (all 52 files):", ALONE, f"{ALICE} (this file alone):")]
    assert order == sorted(order)
    assert "reads all 52 files and guesses" in told[order[0] + 1]
    assert "right in at most 98.3 % of cases" in told[order[0] + 1]
    assert told[order[0] + 4].startswith("If Alice asks to be deleted: to readers, all 52 files")
    assert told[order[0] + 5] == HIGH
    assert told[order[1] + 1] == made.sentence
    assert "reads this file and guesses" in told[order[2] + 1]
    assert "right in at most 61.5 % of cases" in told[order[2] + 1]
    assert [made._repr_html_().count(line) for line in (ALICE, ALONE, HIGH)] == [2, 1, 1]


def test_gaussian_noise_is_named_only_where_this_release_has_no_other(statement):
    sums = Measured("sums", "gaussian", 2.0, 8.0, 4, 1.0, 0.245)
    other = Measured("counts", "laplace", 2.0, 8.0, 4, 1.0, 0.25)
    for lines, named in (((sums,), True), ((sums, other), False)):
        assert ("right in at most 66.3 %" in str(statement(**SEVERAL, measurements=lines))) == named


def test_a_click_has_no_content_to_look_for_unless_clicks_are_counted(statement):
    facts = {"n_items": 4, "max_users": 9, "given": "interactions"}
    for assumed, looked in (
        (Assumes.catalogue(**facts), False),
        (Assumes.catalogue_counts(**(facts | {"counts": 9})), True),
    ):
        made = statement(unit="record", interactions=True, assumes=(assumed,))
        assert ("If readers know that you gave it, the bound on its content" in str(made)) == looked
        assert Statement.from_json(made.to_json()).sentence == made.sentence


def test_a_summary_says_which_records_are_not_protected(statement):
    for changes in ({}, SEVERAL):
        told = terminal.text(statement(**changes, unit="record", interactions=True).summary())
        assert told.count("Not protected: all your interactions together, about which") == 1
        assert "Not protected" not in terminal.text(statement(**changes).summary())


def test_a_caution_stands_before_all_releases_together(statement):
    made = statement(**{**SEVERAL, "caveats": (CLAIMED,)})
    begins = [line.partition(":")[0] for line in str(made).splitlines()[:3]]
    assert begins == [
        "AUTHOR'S CLAIM",
        "All 52 releases that this ledger allows, together",
        "This release alone",
    ]
    assert "Anyone who reads" not in str(made)  # a grade is a promise


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ledger": {}},
        {**SEVERAL, "ledger": {**SEVERAL["ledger"], "max_releases": 1}},
        {
            **SEVERAL,
            "ledger": {name: value for name, value in SEVERAL["ledger"].items() if name != "total_delta"},
        },
        {**SEVERAL, "caveats": (UNPROTECTED,)},
        {**SEVERAL, "caveats": (UNPROTECTED,), "epsilon": math.inf, "measurements": ()},
    ],
    ids=["no total", "no ledger", "one release", "no δ of the total", "not private", "no ε"],
)
def test_nothing_is_said_of_all_releases_where_nothing_is_known(statement, changes):
    made = statement(**changes)
    assert made.together is None
    assert "together" not in made.says()
    assert "All " not in str(made)


def test_what_was_measured_exactly_is_not_to_be_published(statement):
    made = statement(caveats=(EXACT,), measurements=(), epsilon=math.inf)
    assert str(made) == (
        "NOT PRIVATE: no noise was added\nThe exact statistics were used: do not publish this file."
    )
    assert first(placeholder_statement()).startswith("NOT PRIVATE")
    published = statement(caveats=(Unprotected.published(),), measurements=(), epsilon=math.inf)
    assert "exact statistics" not in str(published)  # its noise came from a seed


def test_an_epsilon_that_is_missing_or_a_cost_without_bound_is_not_dressed_up(statement):
    line = Measured("slots", "item substitution", math.inf, 0.5, 60, 1.0, math.inf)
    for changes in ({"epsilon": math.inf}, {"measurements": (line,)}):
        with pytest.raises(ReleaseError, match=r"without grounds|malformed"):
            Statement.from_json(statement(**changes).to_json())


def test_an_entry_for_every_rating_is_called_so_where_their_number_is_public(statement):
    line = Measured("errors", "laplace", 1.0, 8.0, 0, 1.0, 0.125)
    made = statement(unit="record", adjacency="replace", measurements=(line,))
    assert "errors laplace 1 b = 8 each rating 1.000 ε = 0.125" in " ".join(str(made).split())
    assert Statement.from_json(made.to_json()) == made
    with pytest.raises(ReleaseError, match="without grounds"):
        Statement.from_json(statement(measurements=(line,)).to_json())


# -- what fits write --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


@pytest.fixture(scope="module")
def budget():
    return hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.mark.parametrize("model", [hr.GlobalEffects, hr.CovarianceSVD, hr.CovarianceKNN])
def test_fits_write_what_they_are(world, budget, model, tmp_path):
    seeded = hr.testing.fit(world, model(), budget, entropy=hr.testing.Seeded(1))
    assert seeded.statement.caveats == (UNPROTECTED,)
    assert first(seeded.statement) == "NOT PRIVATE: the noise was drawn from a seed"
    exact = hr.baseline(world, model())
    assert exact.statement.caveats == (EXACT,)
    assert exact.statement.epsilon == math.inf
    private = hr.fit(world, model(), budget, ledger=hr.Ledger.create(tmp_path / "ledger.db", budget))
    assert private.statement.private
    assert 0.999 < private.statement.epsilon <= 1.0
    assert first(private.statement).startswith("ε = ")
    assert sum(line.startswith(PROMISE) for line in str(private.statement).splitlines()) == 1
    for release in (seeded, exact, private):
        assert Statement.from_json(json.loads(json.dumps(release.statement.to_json()))) == release.statement


# -- JSON -------------------------------------------------------------------------------------------------


def test_what_the_fit_decided_is_said_below_what_it_measured(statement):
    """With both figures, also after a file."""
    decided = Branch.pairs(signal=31.4, least=20.0)
    made = Statement.from_json(statement(decisions=(decided,)).to_json())
    assert made.decisions == (decided,)
    text = " ".join(terminal.text(made.document().blocks).split())
    assert str(decided) in text
    assert "31.4" in str(decided)
    assert "decisions" not in statement().to_json()


def test_the_branch_that_was_taken_does_not_decide_how_epsilon_reads(statement):
    """A cheaper one may have been taken, by what was released; the dearest bounds the whole."""
    decided = (Branch.pairs(signal=31.4, least=20.0),)
    cheap = (Measured("item counts", "gaussian", 1.0, 1e3, 4, 0.5, 1e-3),)
    reading = statement(decisions=decided, measurements=cheap, epsilon=1.0).reading
    assert reading.mu == Odds.gaussian(1.0, 1e-6).mu > 0.2 > 1e-3
    assert reading.right_guess > statement(measurements=cheap, epsilon=1.0).reading.right_guess
    mixed = (*cheap, Measured("co-rating weights", "laplace", 3.0, 6.0, 4, 0.5, 0.5))
    assert statement(decisions=decided, measurements=mixed).reading.mu is None
    assert statement(decisions=decided, measurements=cheap, epsilon=1e4).reading.mu == math.inf
    assert "∞" in str(statement(decisions=decided, measurements=cheap, epsilon=1e4))
