"""Every verb that charges refuses the same faults of the data, on every ledger, and charges nothing."""

import polars as pl
import pytest

import hushrec as hr
from hushrec.curator import memory
from hushrec.errors import MemoryExceeded, RecordsDropped, UsersExceeded, WeakBudget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
TOTAL = BUDGET.model_copy(update={"epsilon": 4.0})
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
DOMAIN = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)
VERBS = {
    "fit": lambda data, ledger, _, **accepted: hr.fit(
        data, hr.GlobalEffects(), BUDGET, ledger=ledger, **accepted
    ),
    "fit_next": lambda data, ledger, folder, **accepted: hr.fit_next(
        data, hr.GlobalEffects(), folder / "series", ledger=ledger, **accepted
    ),
    "pilot": lambda data, ledger, _, **accepted: hr.pilot(data, ledger, **accepted),
    "release_data": lambda data, ledger, _, **accepted: hr.release_data(
        data, hr.RandomizedResponse(), ROWS, ledger=ledger, **accepted
    ),
}
KINDS = ["file", pytest.param("postgres", marks=pytest.mark.postgres)]


def table(bad=0, records=100, item=None):
    """Records of 20 users, the first ``bad`` of them above the scale."""
    return pl.DataFrame(
        {
            "user_id": [f"secret-{k % 20}" for k in range(records)],
            "item_id": [item or str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 3.0 for k in range(records)],
        }
    )


FAULTS = {
    "nobody": (table(item="nosuch"), DOMAIN, RecordsDropped, "nobody has an item left"),
    "empty": (table().clear(), DOMAIN, RecordsDropped, "there is no record"),
    "dropped": (table(11), DOMAIN, RecordsDropped, "more than a tenth of the records were dropped"),
    "users": (
        table(),
        hr.Domain(range(5), scale=(1, 5, 1), max_users=9),
        UsersExceeded,
        "there are more than twice as many users as the domain declares",
    ),
}
ACCEPTED = {"empty": "accept_dropped", "dropped": "accept_dropped", "users": "accept_users"}


def ledger_of(kind, verb, tmp_path, request):
    """A new ledger that can pay for two calls of the verb."""
    total = ROWS.model_copy(update={"epsilon": 8.0}) if verb == "release_data" else TOTAL
    if kind == "memory":
        return Ledger.ephemeral(total, 2)
    if kind == "file":
        return Ledger.create(tmp_path / "ledger.db", total, 2)
    server = request.getfixturevalue("postgres")
    return Ledger.create(server.url(server.database()), total, 2)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_with_the_data_is_refused_in_the_same_words_and_never_charged(
    kind, verb, tmp_path, request
):
    ledger, call = ledger_of(kind, verb, tmp_path, request), VERBS[verb]
    before = ledger.head
    for fault, (source, domain, error, words) in FAULTS.items():
        data = hr.load(source, domain)
        others = {"accept_dropped": True, "accept_users": True}
        others.pop(ACCEPTED.get(fault, ""), None)
        for accepted in ({}, others):  # to accept another fault is not to accept this one
            with pytest.raises(error) as refused:
                call(data, ledger, tmp_path, **accepted)
            said = str(refused.value)
            assert said.startswith(words)
            assert "Nothing was charged" in said
            assert not any(character.isdigit() for character in said)
            assert "secret" not in said
    assert ledger.head == before
    assert not ledger.entries()


@pytest.mark.parametrize("verb", ["fit", "fit_next", "release_data"])
@pytest.mark.parametrize("kind", KINDS)
def test_too_little_memory_is_refused_and_never_charged(kind, verb, tmp_path, request, monkeypatch):
    ledger = ledger_of(kind, verb, tmp_path, request)
    before = ledger.head
    monkeypatch.setattr(memory, "machine", lambda: (1000, 10))
    with pytest.raises(MemoryExceeded, match="Nothing was charged"):
        VERBS[verb](hr.load(table(), DOMAIN), ledger, tmp_path)
    assert ledger.head == before


@pytest.mark.parametrize("fault", ACCEPTED)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_accepted_by_its_own_name_is_charged(kind, verb, fault, tmp_path, request):
    ledger, (source, domain, *_) = ledger_of(kind, verb, tmp_path, request), FAULTS[fault]
    VERBS[verb](hr.load(source, domain), ledger, tmp_path, **{ACCEPTED[fault]: True})
    assert ledger.entries()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_ledger_in_memory_is_never_asked_for(verb, fault, tmp_path, request):
    source, domain, *_ = FAULTS[fault]
    ledger = ledger_of("memory", verb, tmp_path, request)
    VERBS[verb](hr.load(source, domain), ledger, tmp_path)
    assert all(entry.caveat for entry in ledger.entries())  # nothing that it pays for is private


WEAK = {
    "fit": lambda data, ledger, _, **accepted: hr.fit(
        data, hr.GlobalEffects(), "auto", ledger=ledger, **accepted
    ),
    "fit_next": VERBS["fit_next"],
    "pilot": VERBS["pilot"],
    "release_data": lambda data, ledger, _, **accepted: hr.release_data(
        data, hr.RandomizedResponse(), ROWS.model_copy(update={"epsilon": 9.0}), ledger=ledger, **accepted
    ),
}


def great(kind, verb, tmp_path, request):
    """A new ledger of which the verb takes an ε above 8: of the pilot, 2 % of the total."""
    total = ROWS if verb == "release_data" else BUDGET
    total = total.model_copy(update={"epsilon": 2000.0 if verb == "pilot" else 20.0})
    releases = 1 if verb == "fit" else 2
    if kind == "file":
        return Ledger.create(tmp_path / "great.db", total, releases)
    server = request.getfixturevalue("postgres")
    return Ledger.create(server.url(server.database()), total, releases)


@pytest.mark.parametrize("verb", WEAK)
@pytest.mark.parametrize("kind", KINDS)
def test_an_epsilon_that_promises_little_is_charged_only_if_that_is_accepted(kind, verb, tmp_path, request):
    data, ledger = hr.load(table(), DOMAIN), great(kind, verb, tmp_path, request)
    before = ledger.head
    with pytest.raises(WeakBudget, match=r"too weak to promise much.*Nothing was charged.*--accept-weak"):
        WEAK[verb](data, ledger, tmp_path)
    assert ledger.head == before
    WEAK[verb](data, ledger, tmp_path, accept_weak=True)
    assert ledger.entries()
    if verb == "fit_next":  # the first release paid for all of them
        WEAK[verb](data, ledger, tmp_path)
    else:
        WEAK[verb](data, ledger, tmp_path, release_index=0)  # what is paid for is handed out


def test_an_epsilon_of_eight_is_charged_and_above_it_nobody_is_asked_where_nothing_is_claimed(tmp_path):
    data, eight = hr.load(table(), DOMAIN), ROWS.model_copy(update={"epsilon": 8.0})
    ledger = Ledger.create(tmp_path / "ledger.db", eight)
    assert hr.release_data(data, hr.RandomizedResponse(), eight, ledger=ledger).statement.private
    nine = eight.model_copy(update={"epsilon": 9.0})
    hr.release_data(data, hr.RandomizedResponse(), nine, ledger=Ledger.ephemeral(nine))
    hr.release_data(data, hr.RandomizedResponse(), nine, entropy=Seeded(0))


def test_a_fit_that_resumes_is_not_asked_again(tmp_path, monkeypatch):
    data, ten = hr.load(table(), DOMAIN), BUDGET.model_copy(update={"epsilon": 10.0})
    ledger, place = Ledger.create(tmp_path / "ledger.db", ten), tmp_path / "checkpoint"

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(Ledger, "sampled", stop)
        with pytest.raises(KeyboardInterrupt):
            hr.fit(data, hr.GlobalEffects(), ten, ledger=ledger, checkpoint=place, accept_weak=True)
    hr.fit(data, hr.GlobalEffects(), ten, ledger=ledger, checkpoint=place)
    assert len({entry.charge for entry in ledger.entries()}) == 1


def test_twice_the_declared_users_are_charged(tmp_path, request):
    twice = hr.load(table(), hr.Domain(range(5), scale=(1, 5, 1), max_users=10))
    assert twice.exceeds_declared_users
    VERBS["fit"](twice, ledger_of("file", "fit", tmp_path, request), tmp_path)


def test_too_many_users_in_block_files_are_refused(tmp_path, request):
    source, domain, error, words = FAULTS["users"]
    blocks = hr.load_blocks(source, domain, tmp_path / "blocks", ratings_per_block=20)
    ledger = ledger_of("file", "fit", tmp_path, request)
    for verb in ("fit", "pilot"):
        with pytest.raises(error, match=words):
            VERBS[verb](blocks, ledger, tmp_path)
    assert not ledger.entries()


@pytest.mark.spark
def test_too_many_users_in_spark_are_refused(spark, tmp_path, request):
    source, domain, error, words = FAULTS["users"]
    ledger = ledger_of("file", "fit", tmp_path, request)
    with hr.load_spark(spark.createDataFrame(source.to_arrow()), domain) as kept:
        for verb in ("fit", "pilot"):
            with pytest.raises(error, match=words):
                VERBS[verb](kept, ledger, tmp_path)
    assert not ledger.entries()
