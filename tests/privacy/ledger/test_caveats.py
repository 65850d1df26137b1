"""What a release cannot promise stands first in it, and in all later ones of its ledger."""

from dataclasses import replace

from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Author, Convergence, Groups, Unprotected
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.caveats import conditional, has, inherited
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
SAMPLE = Measurement("item factors", 5.0, "loss", 2**-20, 12, noise=10.0)
SUMS = Measurement("sums", 1.0, "l2", 2**-8, 4, noise=40.0)
CHAIN = Convergence.sample(names="item factors")
SEEDED, SPOILT = Unprotected.seeded(), Unprotected.ledger()
GROUPS, AUTHOR = Groups.exact(), Author.foreign(names="mine.Model")


def plan(*measurements: Measurement) -> Plan:
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, measurements)


def test_it_is_conditional_and_so_is_all_that_follows(place: str) -> None:
    ledger = Ledger.create(place, BUDGET, max_releases=3)
    before = ledger.charge(plan(SUMS))
    sampled = ledger.charge(plan(SAMPLE, SUMS), accept="share")
    after = Ledger.open(place).charge(plan(SUMS))
    assert before.private
    assert not sampled.private
    assert not after.private
    assert sampled.caveats == after.caveats == (CHAIN,)
    charges = ledger.state().charges
    assert [charge.caveats for charge in charges] == [(), (CHAIN,), (CHAIN,)]
    assert charges[1].booked[0]["mechanism"] == "posterior sample"


def test_what_is_not_private_says_so_first(place: str) -> None:
    larger = BUDGET.model_copy(update={"epsilon": 9.0})
    ledger = Ledger.create(place, larger, max_releases=3)
    assert ledger.charge(plan(SAMPLE), entropy=Seeded(1)).caveats == (SEEDED,)
    assert ledger.charge(plan(SAMPLE)).caveats == ledger.charge(plan(SUMS)).caveats == (SPOILT,)


def charge(*caveats: Fact, of: Measurement = SUMS) -> Charge:
    return Charge(1, 0, "key", "toy", "d" * 64, BUDGET, caveats, booked=(of.facts(),))


def test_one_release_that_is_not_private_spoils_all_later_ones() -> None:
    seeded, sampled = charge(SEEDED), charge(CHAIN)
    assert inherited((), []) == inherited((), [charge(), sampled]) == ()
    assert inherited((), [charge(), seeded, sampled]) == (SPOILT,)
    unkept = (Unprotected.not_kept(),)
    assert inherited(unkept, [seeded]) == unkept


def test_a_release_names_every_condition_of_itself_and_of_its_ledger() -> None:
    plain, taken = plan(SUMS), charge(of=replace(SAMPLE, name="factors"))
    assert conditional((), plain, [charge()]) == ()
    assert conditional((SEEDED,), plan(SAMPLE), [taken]) == (SEEDED,)
    both = Convergence.sample(names="factors, item factors")
    assert conditional((), plan(SAMPLE), [charge(), taken]) == (both,)
    of_groups, of_author = Groups.ledger(), Author.ledger()
    assert conditional((), plain, [charge(GROUPS)]) == (of_groups,)
    assert conditional((), plain, [charge(CHAIN, AUTHOR)]) == (of_author,)
    assert conditional((), plan(SAMPLE), [charge(CHAIN, AUTHOR)]) == (CHAIN, of_author)
    assert conditional((), plan(SAMPLE), [charge(GROUPS)]) == (
        of_groups,
    )  # the graver, whose ε promises less
    declared = replace(plan(SUMS), foreign=("mine.Model",))
    assert conditional((), declared, [taken, charge(AUTHOR)]) == (
        Convergence.sample(names="factors"),
        AUTHOR,
    )
    assert conditional((), replace(declared, uncovered=GROUPS), []) == (GROUPS, AUTHOR)


def test_a_kind_of_caveat_is_found_anywhere_among_them() -> None:
    assert has("author", (CHAIN, AUTHOR))
    assert not has("groups", (CHAIN, AUTHOR))
    assert not has("author", ())
