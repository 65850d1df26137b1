"""The observer of an audit: a seeded grant tells it everything, a private grant tells nobody anything."""

from collections.abc import Callable

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.documents.sentences import Unprotected
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem, Seeded

MakePlan, MakeSum = Callable[..., Plan], Callable[..., tuple[Measurement, Ints]]


class Spy:
    """Remembers what it is told, and returns something else."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def released(self, event: object, private: object, value: object, *public: object) -> object:
        self.told.append((event, private, value))
        return "replaced"


def released(plan: Plan, bounded: tuple[Measurement, Ints], entropy: Entropy) -> object:
    return Ledger.ephemeral(plan.budget).charge(plan, entropy=entropy).measure(*bounded)


def test_a_seeded_grant_tells_its_observer_and_returns_what_it_says(
    make_plan: MakePlan, make_sum: MakeSum
) -> None:
    spy, plan, bounded = Spy(), make_plan(), make_sum()
    assert released(plan, bounded, Seeded(1, spy)) == "replaced"
    ((event, private, value),) = spy.told
    unseen = released(plan, bounded, Seeded(1))
    assert event == plan.noisy[0]
    assert private is bounded[1]
    np.testing.assert_array_equal(value.values, unseen.values)


def test_an_observer_sees_the_sum_without_noise_also_where_it_was_given_away(
    make_plan: MakePlan, make_sum: MakeSum
) -> None:
    spy, plan = Spy(), make_plan()
    grant = Ledger.ephemeral(plan.budget).charge(plan, entropy=Seeded(1, spy))
    listed, values = make_sum()
    grant.measure(listed, values.copy)
    ((_, private, _),) = spy.told
    np.testing.assert_array_equal(private, values)


class Leaky(OperatingSystem):
    """The system's entropy, with the hole that there must not be."""

    def __init__(self, spy: Spy) -> None:
        self.observer = spy


class Disguised(Seeded):
    """A subclass of seeded entropy that says of itself that it is private."""

    private = True


@pytest.mark.parametrize("kind", ["system", "disguised", "subclass", "duck"])
def test_no_other_entropy_has_an_observer(kind: str, make_plan: MakePlan, make_sum: MakeSum) -> None:
    spy = Spy()

    class Subclass(Seeded):
        pass

    class Duck:
        private, observer = False, spy

        def key(self) -> bytes:
            return bytes(32)

    entropy = {
        "system": lambda: Leaky(spy),
        "disguised": lambda: Disguised(1, spy),
        "subclass": lambda: Subclass(1, spy),
        "duck": Duck,
    }[kind]()
    assert released(make_plan(), make_sum(), entropy) != "replaced"
    assert not spy.told


def test_a_grant_that_claims_to_be_private_has_no_observer_whatever_its_entropy(
    make_plan: MakePlan, make_sum: MakeSum
) -> None:
    spy, plan = Spy(), make_plan()
    for caveats, told in (((), 0), ((Unprotected.seeded(),), 1)):
        grant = Grant(plan, Seeded(1, spy), caveats=caveats, seal=SEAL)
        assert grant.private == (not caveats)
        grant.measure(*make_sum())
        assert len(spy.told) == told
