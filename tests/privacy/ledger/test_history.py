"""The chain of records: what replaying it says, and what it refuses."""

import hashlib
from dataclasses import replace

import pytest

from hushrec.errors import BudgetError, LedgerDamaged
from hushrec.privacy.accounting.accountant import largest_cost, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.ledger import history as ledger_history
from hushrec.privacy.ledger.history import Head

DELTA = 1e-6


def total(epsilon, delta=DELTA):
    return Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")


SUMS = Measurement("sums", 1.0, "l1", 2**-10, 4, noise=40.0)


def replayed(*facts):
    history = ledger_history.History()
    for fact in facts:
        history.append(fact)
    return history


def charged(release_index=0, domain="d" * 64, measurements=(SUMS,), **changes):
    """The record of a charge."""
    return {
        "kind": "charged",
        "release_index": release_index,
        "key": f"key {release_index}",
        "model": "toy",
        "domain": domain,
        "caveats": [],
        "budget": total(1.0).model_dump(),
        "measurements": [one.facts() for one in measurements],
        "cost": spent_of(measurements).mu_squared,
        **changes,
    }


OPENED = ledger_history.opening(total(4.0), 3) | {"id": "f" * 32}


OF_ONE = (
    {"kind": "measured", "charge": 1, "name": "sums", "sha256": "cd"},
    {"kind": "taken", "charge": 1, "branch": "pairs"},
    {"kind": "made", "charge": 1, "sha256": "ab"},
)
"""What becomes of the first charge."""


def stored(*facts):
    """What a file would hold of these records."""
    history = ledger_history.History()
    return [history.append(fact) for fact in facts]


def test_stored_records_replay_to_the_same_history():
    facts = OPENED, charged(), charged(1), *OF_ONE
    history, again = replayed(*facts), ledger_history.History()
    for record in stored(*facts):
        again.load(*record)
    state = again.state()
    assert state == history.state()
    assert state.spent == 2 * SUMS.spent().mu_squared == sum(charge.cost for charge in state.charges)
    made = state.charges[0]
    assert (made.state, made.sha256, made.branch, made.measured) == ("made", "ab", "pairs", {"sums": "cd"})
    assert made.booked == (SUMS.facts(),)
    assert (state.id, state.max_releases, state.total) == ("f" * 32, 3, total(4.0))
    assert (state.allowed, state.left) == (largest_cost(total(4.0)), state.allowed - state.spent)


def test_a_record_that_allows_another_cost_than_its_total_is_refused():
    """Two raisers with psql could write one: the database compares what they say, and knows no ε."""
    extended = ledger_history.extension(replayed(OPENED), total(5.0), 3)
    assert replayed(OPENED, extended).allowed == largest_cost(total(5.0))
    for first, *more in (
        (OPENED | {"allowed": OPENED["allowed"] + 1},),
        (OPENED, extended | {"allowed": extended["allowed"] + 1}),
        (OPENED, extended | {"total": total(4.5).model_dump()}),
    ):
        with pytest.raises(LedgerDamaged, match="allows another cost than its total"):
            replayed(first, *more)


def test_a_hash_is_of_the_one_before_the_number_and_the_record():
    before = bytes(32)
    for seq, body, digest in stored(OPENED, charged(), charged(1)):
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
    first, second, third = stored(OPENED, charged(), charged(1))
    history = ledger_history.History()
    history.load(*first)
    for wrong in (damage(*second), third):
        with pytest.raises(LedgerDamaged, match="record 1 was altered"):
            history.load(*wrong)
    history.load(*second)
    history.load(*third)


MEASURED, TAKEN, MADE = OF_ONE
FORFEITED = {"kind": "forfeited", "charge": 1}


@pytest.mark.parametrize("end", [MADE, FORFEITED], ids=["made", "forfeited"])
@pytest.mark.parametrize("refused", [*OF_ONE, FORFEITED], ids=lambda facts: facts["kind"])
def test_no_charge_goes_back(end, refused):
    history = replayed(OPENED, charged(), end)
    spent, head = history.spent, history.head
    with pytest.raises(LedgerDamaged, match=f"record 3 has a {end['kind']} charge {refused['kind']}"):
        history.append(refused)
    assert (history.spent, history.head) == (spent, head), "nothing comes back"


@pytest.mark.parametrize(
    "again", [MEASURED | {"sha256": "ef"}, TAKEN | {"branch": "counts"}, MEASURED, TAKEN]
)
def test_a_value_is_measured_once_and_one_branch_taken(again):
    both = charged(measurements=(SUMS, replace(SUMS, name="counts")))
    history = replayed(OPENED, both, charged(1), MEASURED, TAKEN)
    with pytest.raises(LedgerDamaged, match=f"has a charged charge {again['kind']} twice"):
        history.append(again)
    history.append(MEASURED | {"name": "counts"})
    history.append(again | {"charge": 2})  # of another charge
    assert history.charges[1].measured == {"sums": "cd", "counts": "cd"}


@pytest.mark.parametrize("taken", [(), (TAKEN | {"branch": "counts"},)], ids=["no branch", "another branch"])
def test_what_is_not_booked_or_of_a_branch_not_taken_is_not_measured(taken):
    pairs = Measurement("pairs", 1.0, "l2", 2**-10, 4, branch="pairs", noise=40.0)
    history = replayed(OPENED, charged(measurements=(SUMS, pairs)), *taken)
    for name in ("pairs", "gram"):
        with pytest.raises(LedgerDamaged, match="measures what its charge has not booked, or in a branch"):
            history.append(MEASURED | {"name": name})
    history.append(MEASURED)
    if not taken:
        history.append(TAKEN)
        history.append(MEASURED | {"name": "pairs"})


def test_a_head_is_held_by_its_number_and_its_hash():
    history = replayed(OPENED, charged())
    assert history.at(1) == history.head
    for seq in (0, 1):
        assert history.holds(history.at(seq))
        assert not history.holds(Head(1 - seq, history.at(seq).hash))
        for strange in (float(seq), bool(seq), str(seq), seq - 2, seq + 2, None):
            assert not history.holds(Head(strange, history.at(seq).hash))


def test_what_burnt_charges_leave_free_and_what_they_do_not():
    facts = (
        OPENED,
        charged(sums="c"),
        charged(1, domain="e" * 64),
        charged(2),
    )
    state = replayed(*facts, FORFEITED).state()
    assert (state.indexes, state.releases_left) == ({1, 2}, 1)
    assert state.latest(0) is None
    assert state.latest(1) == state.charges[1]
    assert state.under("c") == state.charges[0], "the charge of a folder, given up or not"
    assert state.under("") is None
    before = replayed(*facts).state()
    assert (before.indexes, before.releases_left) == ({0, 1, 2}, 0)
    assert state.spent == before.spent


def test_a_horizon_is_at_least_one_release():
    assert ledger_history.opening(total(4.0), 1)["max_releases"] == 1
    with pytest.raises(BudgetError, match="max_releases must be a whole number, 1 or more"):
        ledger_history.opening(total(4.0), 0)
