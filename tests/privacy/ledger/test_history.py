"""The chain of records: what replaying it says, and what it refuses."""

import hashlib
import json
import sqlite3

import pytest

from hushrec.errors import BudgetError, LedgerDamaged
from hushrec.privacy.accounting.accountant import spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Gaussian, Laplace, drawn_rate
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger import history as ledger_history
from hushrec.privacy.ledger import routes
from hushrec.privacy.ledger.history import Charge, Head
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.routes import chosen

DELTA = 1e-6


def total(epsilon, delta=DELTA):
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


def laplace(scale):
    return [Laplace("sums", 1.0, scale, 2**-10, 4)]


def sampled(sigma, rate, rounds=1):
    return [Gaussian(f"round {i}", 1.0, sigma, 2**-10, 4, drawn_rate(rate)) for i in range(rounds)]


def plan(events, delta=DELTA, epsilon=None):
    epsilon = epsilon or spent_of(events).epsilon(delta)
    listed = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, total(epsilon, delta), listed)


def bodies(path):
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT body FROM log ORDER BY seq").fetchall()
    database.close()
    return [json.loads(body) for (body,) in rows]


def test_the_route_stands_in_the_first_charges_first_record(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger.create(path, total(4.0), max_releases=3)
    for _ in range(2):
        ledger.charge(plan(sampled(4.0, 0.125, 3)))
    route = chosen(spent_of(sampled(4.0, 0.125, 3)), total(4.0))
    records = bodies(path)
    assert [body.get("route") for body in records] == [None, route, *[None] * 5]
    assert replayed(*records[:6], records[6] | {"route": "2"}).route == route  # later ones have no say
    before = ledger.remaining
    ledger.extend(total(6.0))  # an owner's later decision does not move the order
    assert Ledger.open(path).remaining == pytest.approx(before + 2.0)


def replayed(*facts):
    history = ledger_history.History()
    for fact in facts:
        history.append(fact)
    return history


def test_a_ledger_that_counts_in_an_unknown_way_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    Ledger.create(path, total(4.0), max_releases=3).charge(plan(laplace(40.0)))
    opened, charged = bodies(path)
    assert replayed(opened, charged).route == charged.pop("route") == routes.CONCENTRATED
    for other in ({}, {"route": ""}, {"route": "65"}):
        with pytest.raises(LedgerDamaged, match="in a way that this version does not know"):
            replayed(opened, charged | other)


# -- records, without a file ------------------------------------------------------------------------------


def charged(number, release_index=0, domain="d" * 64, checkpoint="", **changes):
    """The record of a charge of one measurement, which gets this number."""
    facts = ledger_history.booking(
        Charge(number, release_index, f"key {number}", "toy", domain, checkpoint=checkpoint),
        "",
        laplace(40.0)[0],
    )
    return facts | {"route": routes.CONCENTRATED} | changes


OPENED = ledger_history.opening(total(4.0), 3) | {"id": "f" * 32}


def stored(*facts):
    """What a file would hold of these records."""
    history = ledger_history.History()
    return [history.append(fact) for fact in facts]


def test_stored_records_replay_to_the_same_history():
    facts = OPENED, charged(1), charged(2, release_index=1), {"kind": "sampled", "charge": 1, "sha256": "ab"}
    history, again = replayed(*facts), ledger_history.History()
    for record in stored(*facts):
        again.load(*record)
    assert (again.head, again.spent, again.charges) == (history.head, history.spent, history.charges)
    assert [*again.entries()] == [*history.entries()]
    assert history.spent == spent_of(laplace(40.0)) * 2
    assert (history.charges[1].state, history.charges[1].sha256) == ("sampled", "ab")
    assert (history.id, history.max_releases, history.total) == ("f" * 32, 3, total(4.0))


def test_a_hash_is_of_the_one_before_the_number_and_the_record():
    before = bytes(32)
    for seq, body, digest in stored(OPENED, charged(1), charged(2)):
        before = hashlib.sha256(before + seq.to_bytes(8, "big") + body).digest()
        assert digest == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda seq, body, digest: (seq + 1, body, digest),
        lambda seq, body, digest: (str(seq), body, digest),
        lambda seq, body, digest: (seq, body + b" ", digest),
        lambda seq, body, digest: (seq, body.decode(), digest),
        lambda seq, body, digest: (seq, body, digest[:-1] + b"x"),
        lambda seq, body, digest: (seq, body, None),
    ],
)
def test_a_record_that_is_not_the_stored_one_is_refused(damage):
    first, second, third = stored(OPENED, charged(1), charged(2))
    history = ledger_history.History()
    history.load(*first)
    for wrong in (damage(*second), third):
        with pytest.raises(LedgerDamaged, match="record 1 was altered"):
            history.load(*wrong)
    history.load(*second)
    history.load(*third)


@pytest.mark.parametrize(
    ("states", "refused"),
    [
        ([], "published"),
        (["sampled"], "sampled"),
        (["sampled", "published"], "forfeited"),
        (["sampled", "published"], "sampled"),
        (["forfeited"], "sampled"),
        (["forfeited"], "forfeited"),
        (["sampled", "forfeited"], "published"),
    ],
)
def test_no_charge_goes_back(states, refused):
    history = replayed(OPENED, charged(1), *({"kind": state, "charge": 1} for state in states))
    spent = history.spent
    with pytest.raises(LedgerDamaged, match=f"makes a {['charged', *states][-1]} charge {refused}"):
        history.append({"kind": refused, "charge": 1})
    assert history.spent == spent == spent_of(laplace(40.0)), "nothing comes back"


def test_a_head_is_held_by_its_number_and_its_hash():
    history = replayed(OPENED, charged(1))
    assert history.at(1) == history.head
    for seq in (0, 1):
        assert history.holds(history.at(seq))
        assert not history.holds(Head(1 - seq, history.at(seq).hash))
        for strange in (float(seq), bool(seq), str(seq), seq - 2, seq + 2, None):
            assert not history.holds(Head(strange, history.at(seq).hash))


def test_what_burnt_charges_leave_free_and_what_they_do_not():
    facts = (
        OPENED,
        charged(1, checkpoint="c"),
        charged(2, release_index=1, domain="e" * 64),
        charged(3, release_index=2),
    )
    history = replayed(*facts, {"kind": "forfeited", "charge": 1})
    assert history.free_index() == 0
    assert history.latest(0) is None
    assert history.latest(1) == history.charges[2]
    assert replayed(*facts).free_index() == 3
    assert history.under("c") == history.charges[1], "a checkpoint's charge, burnt or not"
    assert history.under("") is None
    assert history.covers("d" * 64)
    assert history.covers("e" * 64)
    assert not history.covers("f" * 64)


def test_divergences_at_other_orders_are_refused():
    with pytest.raises(LedgerDamaged, match="at orders"):
        replayed(OPENED, charged(1, curve=[1, 2, 3]))


def test_a_horizon_is_at_least_one_release():
    assert ledger_history.opening(total(4.0), 1)["max_releases"] == 1
    with pytest.raises(BudgetError, match="max_releases must be a whole number, 1 or more"):
        ledger_history.opening(total(4.0), 0)
