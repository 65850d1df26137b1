"""People: checked rows, parts of them, caps, and the tables that they come from and go to."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.stats import chi2

import hushrec as hr
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.people import PER_BLOCK, People, PublicFacts
from hushrec.errors import DataError, DomainError
from support.packed import packed

KINDS = {
    "ratings": {"scale": (1, 5, 1)},
    "likes": {"scale": (1, 5, 1), "likes": 3},
    "interactions": {},
    "counts": {"counts": 9},
}
VALUES = {"ratings": [0, 2, 4], "counts": [1, 5, 2]}
"""Those that fit, of the kinds that have values."""


def domain_of(kind, items=3, **more):
    return Domain(range(items), **{"max_users": 50} | KINDS[kind] | more)


def made(kind, **arrays):
    """Items 0 and 2 of x, and 1 of y, but for the arrays that are given."""
    right = {"users": ["x", "y"], "indptr": [0, 2, 3], "items": [0, 2, 1], "values": VALUES.get(kind)}
    right |= {"domain": domain_of(kind)} | arrays
    return People(**right | {name: np.array(right[name]) for name in ("indptr", "items")})


def table(counts, n_items, seed=0):
    """Users u0, u1, … with the given numbers of random items, and anything else that records may have."""
    rng = default_rng(seed)
    users = np.repeat(range(len(counts)), counts)
    columns = {
        "user_id": [f"u{user}" for user in users],
        "item_id": [str(item) for count in counts for item in rng.choice(n_items, count, replace=False)],
        "rating": rng.integers(1, 6, len(users)),
        "count": rng.integers(1, 9, len(users)),
        "timestamp": rng.integers(0, 99, len(users)),
        "personal_epsilon": users / 4,
    }
    return pl.DataFrame(columns)


@pytest.fixture(params=list(KINDS))
def whole(request):
    return load(table([25, 1, *range(3, 20), 30], 30, 7), domain_of(request.param, 30, max_per_user=5))


def rows(people):
    return pl.from_arrow(people.table()).rows()


# -- rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_compressed_read_only_and_go_to_tables_and_back(kind):
    mine = np.array(VALUES.get(kind, [1, 1, 1]), np.uint8)
    plain = made(kind, values=mine if kind in VALUES else None)
    numbers = {"ratings": [1, 3, 5], "counts": [1, 5, 2]}.get(kind, [1, 1, 1])
    assert plain.numbers().tolist() == numbers
    full = replace(plain, timestamps=[5, 6, 7], personal_epsilon=[1, 2])
    assert (full.counts.tolist(), full.user_index().tolist()) == ([2, 1], [0, 0, 1])
    assert (full.n_users, full.n_entries, full.n_blocks) == (2, 3, 1)
    assert (full.indptr.dtype, full.items.dtype) == (np.int64, np.int32)
    assert mine.flags.writeable, "that of the caller"
    for array in (full.indptr, full.items, full.timestamps, full.personal_epsilon):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        full.items = np.zeros(3, dtype=np.int32)
    value = {"ratings": {"rating": 5}, "counts": {"count": 2}}.get(kind, {})
    last = {"user_id": "y", "item_id": "1", **value, "timestamp": 7, "personal_epsilon": 2}
    assert full.table().to_pylist()[2] == last == full.table().to_pandas().loc[2].to_dict()
    assert plain.table().column_names == ["user_id", "item_id", *value]
    for one in (plain, full) if kind != "likes" else ():  # whose tables lack the ratings
        for back in (one.table(), pl.from_arrow(one.table()), one.table().to_pandas()):
            assert load(back, one.domain).digest() == one.digest()


def test_what_a_domain_declares_is_told_and_no_count(whole):
    assert repr(whole) == f"People({whole.domain!r}, private)" == str(whole)
    assert whole.facts == PublicFacts(whole.domain, True, False)
    assert not hasattr(whole.table(), "facts")


WRONG_ROWS = [
    *({"indptr": wrong} for wrong in ([0, 3], [0, 2, 3, 3], [0, 0, 3], [1, 2, 3], [0, 2, 4], [])),
    *({"items": wrong} for wrong in ([0, 2], [0, 2, 1, 1], [0, 2, 3], [0, 2, -1], [2, 0, 1], [1, 1, 0])),
    {"users": [*"xyz"], "indptr": [0, 2**63 - 1, -2, 3], "items": [0, 0, 0]},  # differences that overflow
    {"timestamps": [1, 2]},
    *({"personal_epsilon": epsilons} for epsilons in ([1], [1, -1], [1, np.inf], [1, np.nan])),
]
WRONG_VALUES = {
    "ratings": (None, [0, 0], [0, 0, 5]),
    "counts": (None, [1, 1], [1, 1, 0], [1, 1, 10]),
    **dict.fromkeys(("likes", "interactions"), ([1, 1, 1],)),
}


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        *itertools.product(("ratings", "interactions"), WRONG_ROWS),
        *((kind, {"values": values}) for kind, wrong in WRONG_VALUES.items() for values in wrong),
    ],
)
def test_arrays_that_do_not_fit_are_refused(kind, arrays):
    """The kernels use them as indices without checks."""
    with pytest.raises(DataError, match=f"not compressed rows of this domain's {made(kind).domain.feedback}"):
        made(kind, **arrays)


@pytest.mark.parametrize("kind", ["ratings", "likes"])
def test_a_person_under_two_rows_is_refused(kind):
    """They would count twice, under a Δ of once."""
    twice = [["a", "a"], ["b", "a"], ["a", None], [1, 2], ["a", "\ud800"], pa.array([1, 2])]
    twice += [pa.array(["a", "b"]).dictionary_encode(), ["\U0001f600", "\uffff"]]  # ascending in UTF-16 alone
    for users in twice:
        with pytest.raises(DataError, match="not strings in strictly ascending order") as refused:
            made(kind, users=users)
        assert "\U0001f600" not in str(refused.value)
    right = ["\uffff", "\U0001f600"]  # in that order in UTF-8
    for users in (right, pl.Series(right), pa.array(right), pa.chunked_array([right[:1], right[1:]])):
        assert made(kind, users=users).users.to_pylist() == right


# -- parts ------------------------------------------------------------------------------------------------


def test_a_selection_is_the_rows_that_it_names(whole):
    mask = default_rng(0).random(whole.n_entries) < 0.3
    part, nobody = whole.select(mask), whole.select(np.zeros(whole.n_entries, np.bool_))
    assert rows(part) == [row for row, keep in zip(rows(whole), mask, strict=True) if keep]
    assert part.n_users < whole.n_users, "who has nothing left is left out"
    assert (nobody.n_users, nobody.n_entries, nobody.indptr.tolist()) == (0, 0, [0])
    assert nobody.select(np.zeros(0, np.bool_)).capped(1).table().num_rows == 0
    for wrong in (mask[1:], mask.astype(int)):
        with pytest.raises(DataError, match=f"one boolean for each of the {whole.domain.feedback}"):
            whole.select(wrong)


def test_slices_and_cuts_make_up_the_whole(whole):
    parts = [whole.slice(0, 3), whole.slice(3, 3), whole.slice(3, whole.n_users)]
    assert [row for part in parts for row in rows(part)] == rows(whole)
    assert parts[1].users.to_pylist() == []
    for start, stop in ((2, 1), (-1, 2), (0, whole.n_users + 1)):
        with pytest.raises(DataError, match=r"from one user to a later one|start must be"):
            whole.slice(start, stop)
    cuts = list(whole.cuts(20))
    assert [row for cut in cuts for row in rows(cut)] == rows(whole)
    assert all(cut.n_entries <= 20 or cut.n_users == 1 for cut in cuts)


def test_interactions_are_refused_before_a_charge_where_ratings_are_needed(tmp_path):
    people, rated = made("interactions"), made("ratings")
    assert rated.require_ratings(by="evaluate") is rated
    with pytest.raises(DataError, match="evaluate works on ratings, and this domain declares interactions"):
        people.require_ratings(by="evaluate")
    with pytest.raises(DataError, match="UserKNN works on ratings, and this domain declares interactions"):
        hr.baseline(people, hr.UserKNN())
    budget = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)
    advice = r"CovarianceSVD works on ratings, .*choose PrivateEASE \(--model private-ease\)"
    with pytest.raises(DataError, match=advice):
        hr.fit(people, hr.CovarianceSVD(), budget, ledger=ledger)
    assert not ledger.state().charges


def test_experiments_say_what_people_ask_for():
    people, mine = made("likes"), np.array([1.0, 3.0])
    asked = people.with_personal_epsilon(mine)
    mine[0] = 9
    assert asked.personal_epsilon.tolist() == [1, 3]
    for wrong in ([1.0], [1.0, -1], [1.0, np.inf], ["1", "2"], [True, False]):
        with pytest.raises(DataError, match=r"for each user|each user an ε that is a number"):
            people.with_personal_epsilon(wrong)


# -- caps -------------------------------------------------------------------------------------------------


def capped(frame, cap, kind="ratings"):
    return load(frame, domain_of(kind, 60)).capped(cap)


@pytest.mark.parametrize("kind", KINDS)
@settings(derandomize=True, max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 31), st.integers(0, 9))
def test_a_cap_keeps_the_smaller_of_count_and_cap(kind, counts, cap, seed):
    whole = load(table(counts, 30, seed), domain_of(kind, 30))
    kept = whole.capped(cap)
    assert kept.users.equals(whole.users)
    assert kept.counts.tolist() == np.minimum(whole.counts, cap).tolist()
    assert set(rows(kept)) <= set(rows(whole))
    assert kept.capped(cap) is kept
    with pytest.raises(DataError, match="1 or more"):
        whole.capped(0)


@settings(derandomize=True, max_examples=12, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_cap_looks_at_each_user_alone(random):
    """Neither other users nor the order of rows matter; a cap over a shared order would fail this."""
    frame = table([25, 30, 3, 18], 30)
    kept = rows(capped(frame, 7))
    mixed = frame[random.sample(range(frame.height), frame.height)]
    assert rows(capped(mixed, 7)) == kept
    for user in ("u0", "u1", "u2", "u3"):
        assert rows(capped(mixed.filter(user_id=user), 7)) == [row for row in kept if row[0] == user]


def test_a_cap_depends_on_neither_the_chunk_nor_the_version(monkeypatch):
    """Which ratings are capped away belongs to a release, so another version must not choose others."""
    frame = table(range(1, 40), 50)
    kept = rows(capped(frame, 5))
    monkeypatch.setattr("hushrec.data.capping._CHUNK", 64)
    assert rows(capped(frame, 5)) == kept
    one = pl.DataFrame({"user_id": "u0", "item_id": range(30), "rating": 3})
    assert hashlib.sha256(capped(one, 6).items.tobytes()).hexdigest()[:16] == "e26ca9b91da60c64"


def unevenness(kept_items, n_users, n_items, cap):
    """Tail probability of the χ² statistic of how often each item stays, if each is equally likely to.

    A user keeps ``cap`` of ``n_items`` without replacement, hence the factor below.
    """
    seen = np.bincount(kept_items, minlength=n_items)
    expected = n_users * cap / n_items
    statistic = ((seen - expected) ** 2 / expected).sum() * (n_items - 1) / (n_items - cap)
    return chi2.sf(statistic, n_items - 1)


def test_a_cap_is_neutral_towards_items():
    """4,000 users who rated all of 40 items keep 10. Faults to catch: first come first kept, one key for all.

    A neutral choice fails with probability 1e-6; each fault has a statistic beyond any float.
    """
    n_users, n_items, cap = 4_000, 40, 10
    users = [f"user {user:04}" for user in range(n_users)]
    items = np.tile(np.arange(n_items, dtype=np.int32), n_users)
    everything = People(domain_of("likes", n_items), users, np.arange(n_users + 1) * n_items, items)
    assert unevenness(everything.capped(cap).items, n_users, n_items, cap) > 1e-6
    assert unevenness(np.tile(np.arange(cap), n_users), n_users, n_items, cap) < 1e-6


def test_a_cap_keeps_the_most_recent_interactions_and_any_ratings():
    assert made("interactions", timestamps=[9, 3, 1]).capped(1).items.tolist() == [0, 1]
    assert made("interactions", timestamps=[3, 9, 1]).capped(1).timestamps.tolist() == [9, 1]
    frame = table([40] * 30, 60)
    without = capped(frame.drop("timestamp"), 7)
    for kind in ("ratings", "interactions"):
        assert (capped(frame.drop("timestamp"), 7, kind).items == without.items).all()
    assert (capped(frame, 7).items == without.items).all()
    assert (capped(frame, 7, "interactions").items != without.items).any()


# -- the roster -------------------------------------------------------------------------------------------


def test_rows_over_the_roster():
    """People w and z, before and after, and xx, in between, have rated nothing."""
    listed = domain_of("ratings", users=["z", "y", "xx", "w", "x"])
    found = made("ratings", domain=listed)
    assert found.domain.users == ("w", "x", "xx", "y", "z")
    indptr = found.roster_indptr()
    assert (indptr.tolist(), indptr.dtype) == ([0, 0, 2, 2, 3, 3], np.int64)
    assert found.slice(1, 2).roster_indptr().tolist() == [0, 0, 0, 0, 1, 1]
    for users in (["x", "secret"], ["secret", "x"], ["y", "x"], ["x", "x"], ["x", None]):
        with pytest.raises(DataError, match="not those of the domain's roster") as caught:
            made("ratings", domain=listed, users=users)
        assert "secret" not in str(caught.value)
    with pytest.raises(DomainError, match=r"Domain\(users=\[...\]\) or hushrec domain --users FILE"):
        made("ratings").roster_indptr()


# -- the same people wherever they are --------------------------------------------------------------------


@pytest.fixture(params=["memory", "disk", pytest.param("spark", marks=pytest.mark.spark)])
def anywhere(request, whole, tmp_path):
    if request.param == "memory":
        return whole
    if request.param == "disk":
        return packed(whole, tmp_path / "people")
    from support.spark import sent

    return sent(request.getfixturevalue("spark"), whole)


def test_people_are_the_same_wherever_they_are(whole, anywhere):
    assert isinstance(anywhere, AnyPeople)
    assert {"facts", "rows_held", "gathered", "n_blocks", "dropped", "sums_only"} <= {*dir(anywhere)}
    known = (anywhere.n_users, anywhere.n_entries, anywhere.has_personal_epsilon)
    assert known == (whole.n_users, whole.n_entries, True)
    assert anywhere.domain == whole.domain
    anywhere.verify()
    assert len(anywhere.digest()) == 64
    assert sorted(row for block in anywhere.blocks() for row in rows(block)) == sorted(rows(whole))
    assert sum(block.n_entries for block in anywhere.capped(1).blocks()) == whole.n_users
    if isinstance(anywhere, People):
        entries = whole.n_entries if anywhere.folder is None else PER_BLOCK
        assert anywhere.rows_held(gathered=True) == (whole.n_entries, whole.n_users)
        assert anywhere.rows_held(gathered=False) == (entries, whole.n_users)
        assert anywhere.sums_only is False
        assert anywhere.capped(5).gathered().digest() == whole.capped(5).digest()


def test_a_digest_sees_all_that_a_fit_reads():
    plain = made("counts")
    others = [
        replace(plain, values=[1, 5, 3]),
        replace(plain, users=["x", "z"]),
        replace(plain, items=[0, 1, 1]),
        replace(plain, indptr=[0, 1, 3], items=[0, 1, 2]),
        replace(plain, domain=domain_of("counts", max_per_user=3)),
        replace(plain, timestamps=[1, 2, 3]),
        replace(plain, timestamps=[1, 2, 4]),  # which may choose what a cap keeps
        replace(plain, personal_epsilon=[1, 2]),
        replace(plain, personal_epsilon=[1, 2.5]),
        made("interactions"),
    ]
    assert len({one.digest() for one in (plain, *others)}) == 11
    assert replace(others[0], values=plain.values).digest() == plain.digest()
    rated = made("ratings")
    assert replace(rated, timestamps=[1, 2, 3]).digest() == rated.digest(), "no cap of ratings looks at times"
