"""What a release cannot promise stands first in it, and in all later ones of its ledger."""

from dataclasses import replace

from hushrec.documents.words import Clause
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event, Gaussian, PosteriorSample
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger.caveats import conditional, has, inherited
from hushrec.privacy.ledger.history import Entry
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
SAMPLE = PosteriorSample("item factors", 5.0, 10.0, 2**-20, 12)
SUMS = Gaussian("sums", 1.0, 40.0, 2**-8, 4)
CHAIN = Clause("convergence.sample", {"names": "item factors"})
SEEDED, SPOILT = Clause("unprotected.seeded"), Clause("unprotected.ledger")
GROUPS, AUTHOR = Clause("groups.exact"), Clause("author.foreign", {"names": "mine.Model"})


def plan(*events: Event) -> Plan:
    split = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, split)


def test_it_is_conditional_and_so_is_all_that_follows(place: str) -> None:
    ledger = Ledger.create(place, BUDGET, max_releases=3)
    before = ledger.charge(plan(SUMS))
    sampled = ledger.charge(plan(SAMPLE, SUMS), accept="share")
    after = Ledger.open(place).charge(plan(SUMS))
    assert before.private
    assert not sampled.private
    assert not after.private
    assert sampled.caveats == after.caveats == (CHAIN,)
    assert [entry.caveats for entry in ledger.entries()] == [(), (CHAIN,), (CHAIN,), (CHAIN,)]
    assert ledger.entries()[1].mechanism == "posterior sample"


def test_what_is_not_private_says_so_first(place: str) -> None:
    ledger = Ledger.create(place, BUDGET, max_releases=3)
    assert ledger.charge(plan(SAMPLE), entropy=Seeded(1)).caveats == (SEEDED,)
    assert ledger.charge(plan(SAMPLE)).caveats == ledger.charge(plan(SUMS)).caveats == (SPOILT,)


def entry(*caveats: Clause, measurement: str = "sums", mechanism: str = "gaussian") -> Entry:
    return Entry(
        seq=1,
        charge=1,
        release_index=0,
        key="key",
        model="toy",
        caveats=caveats,
        measurement=measurement,
        mechanism=mechanism,
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
    seeded, sampled = entry(SEEDED), entry(CHAIN)
    assert inherited((), []) == inherited((), [entry(), sampled]) == ()
    assert inherited((), [entry(), seeded, sampled]) == (SPOILT,)
    unkept = (Clause("unprotected.not_kept"),)
    assert inherited(unkept, [seeded]) == unkept


def test_a_release_names_every_condition_of_itself_and_of_its_ledger() -> None:
    plain, taken = plan(SUMS), entry(measurement="factors", mechanism=SAMPLE.mechanism)
    assert conditional((), plain, [entry()]) == ()
    assert conditional((SEEDED,), plan(SAMPLE), [taken]) == (SEEDED,)
    both = Clause("convergence.sample", {"names": "factors, item factors"})
    assert conditional((), plan(SAMPLE), [entry(), taken]) == (both,)
    of_groups, of_author = Clause("groups.ledger"), Clause("author.ledger")
    assert conditional((), plain, [entry(GROUPS)]) == (of_groups,)
    assert conditional((), plain, [entry(CHAIN, AUTHOR)]) == (of_author,)
    assert conditional((), plan(SAMPLE), [entry(CHAIN, AUTHOR)]) == (CHAIN, of_author)
    assert conditional((), plan(SAMPLE), [entry(GROUPS)]) == (of_groups,)  # the graver, whose ε promises less
    declared = replace(plan(SUMS), foreign=("mine.Model",))
    assert conditional((), declared, [taken, entry(AUTHOR)]) == (
        Clause("convergence.sample", {"names": "factors"}),
        AUTHOR,
    )
    assert conditional((), replace(declared, uncovered=GROUPS), []) == (GROUPS, AUTHOR)


def test_a_kind_of_caveat_is_found_anywhere_among_them() -> None:
    assert has("author", (CHAIN, AUTHOR))
    assert not has("groups", (CHAIN, AUTHOR))
    assert not has("author", ())
