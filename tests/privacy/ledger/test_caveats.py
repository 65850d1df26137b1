"""What a release cannot promise stands first in it, and in all later ones of its ledger."""

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event, Gaussian, PosteriorSample
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger.caveats import CLAIMED, CONDITIONAL, UNCOVERED, conditional, inherited
from hushrec.privacy.ledger.history import Entry
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
SAMPLE = PosteriorSample("item factors", 5.0, 10.0, 2**-20, 12)
SUMS = Gaussian("sums", 1.0, 40.0, 2**-8, 4)
CAVEAT = (
    "conditional on convergence: a posterior sample (item factors) keeps its ε only if the chain had "
    "converged; its diagnostics (R̂, effective sample size) were computed from the ratings and are covered by "
    "no ε"
)


def plan(*events: Event) -> Plan:
    shares = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, shares)


def test_it_is_conditional_and_so_is_all_that_follows(place: str) -> None:
    ledger = Ledger.create(place, BUDGET, max_releases=3)
    before = ledger.charge(plan(SUMS))
    sampled = ledger.charge(plan(SAMPLE, SUMS), accept="share")
    after = Ledger.open(place).charge(plan(SUMS))
    assert before.private
    assert not sampled.private
    assert not after.private
    assert sampled.caveat == after.caveat == CAVEAT
    assert [entry.caveat for entry in ledger.entries()] == ["", CAVEAT, CAVEAT, CAVEAT]
    assert ledger.entries()[1].mechanism == "posterior sample"


def test_what_is_not_private_says_so_first(place: str) -> None:
    ledger = Ledger.create(place, BUDGET, max_releases=3)
    assert ledger.charge(plan(SAMPLE), entropy=Seeded(1)).caveat == "not private: seeded"
    spoilt = "not private: this ledger holds a seeded release"
    assert ledger.charge(plan(SAMPLE)).caveat == ledger.charge(plan(SUMS)).caveat == spoilt


def entry(caveat: str = "", measurement: str = "sums", mechanism: str = "gaussian") -> Entry:
    about = 1, 1, 0, "key", "toy", caveat, measurement, mechanism
    return Entry(
        *about,
        sensitivity=1.0,
        sigma=1.0,
        step=1.0,
        size=4,
        rho=1,
        epsilon_sum=0,
        pure_rho=0,
        state="charged",
    )


def test_one_release_that_is_not_private_spoils_all_later_ones() -> None:
    seeded, sampled = entry("not private: seeded"), entry(CAVEAT)
    assert inherited("", []) == inherited("", [entry(), sampled]) == ""
    assert inherited("", [entry(), seeded, sampled]) == "not private: this ledger holds a seeded release"
    assert (
        inherited("not private: the ledger was not kept", [seeded]) == "not private: the ledger was not kept"
    )


def test_a_release_names_every_condition_of_itself_and_of_its_ledger() -> None:
    plain, taken = plan(SUMS), entry(measurement="factors", mechanism=SAMPLE.mechanism)
    assert conditional("", plain, [entry()]) == ""
    assert conditional("not private: seeded", plan(SAMPLE), [taken]) == "not private: seeded"
    assert "(factors, item factors)" in conditional("", plan(SAMPLE), [entry(), taken])
    uncovered, claimed = entry(f"{UNCOVERED}: of old"), entry(f"{CONDITIONAL}: of old; {CLAIMED}: of old")
    assert conditional("", plain, [uncovered]).startswith(f"{UNCOVERED}: this ledger holds a release whose")
    assert conditional("", plain, [claimed]).startswith(f"{CLAIMED}: this ledger holds a release by code")
    both = conditional("", plan(SAMPLE), [claimed])
    assert both.startswith(f"{CONDITIONAL}: a posterior sample (item factors) keeps")
    assert f"; {CLAIMED}: this ledger holds" in both
