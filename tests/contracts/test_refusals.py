"""Generated: verbs × ledgers × people × causes. Whatever is refused is refused in one sentence, uncharged.

The test of the command line, at the end, sees the same sentences there.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import hushrec as hr
from hushrec.cli.app import app
from hushrec.curator import admit
from hushrec.errors import (
    BudgetExceeded,
    ChargeUnpublished,
    DataError,
    HushrecError,
    MemoryExceeded,
    RecordsDropped,
    ShareExceeded,
    SumsError,
    UsersExceeded,
    WeakBudget,
)
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded
from support.stopped import stopped

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
DOMAIN = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)
FEW = hr.Domain(range(5), scale=(1, 5, 1), max_users=9)
CLASSES = hr.Domain(range(5), scale=(1, 5, 1), max_users=100, personal_epsilon={"strict": 0.5})


def table(bad=0, records=100, item=None):
    """Records of 20 users, the first ``bad`` of them above the scale."""
    return pl.DataFrame(
        {
            "user_id": [f"secret-{k % 20}" for k in range(records)],
            "item_id": [item or str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 3.0 for k in range(records)],
        }
    )


def at(budget, epsilon):
    return budget.model_copy(update={"epsilon": epsilon})


VERBS: dict[str, Callable[..., Any]] = {
    "fit": lambda data, ledger, folder, epsilon=None, **more: hr.fit(
        data, hr.GlobalEffects(), at(BUDGET, epsilon or 1.0), ledger=ledger, **more
    ),
    "randomize": lambda data, ledger, folder, epsilon=None, **more: hr.randomize(
        data, hr.RandomizedResponse(), at(ROWS, epsilon or 4.0), ledger=ledger, **more
    ),
}


def in_memory(source, domain, folder, request):
    return hr.load(source, domain)


def in_blocks(source, domain, folder, request):
    return hr.load(source, domain, where=folder / "blocks")


def in_spark(source, domain, folder, request):
    return hr.load(request.getfixturevalue("spark").createDataFrame(source.to_arrow()), domain, where="spark")


PEOPLE = {"memory": in_memory, "blocks": in_blocks, "spark": in_spark}
LEDGERS = ("memory", "file", "postgres")


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why a charge is refused.

    Attributes:
        words: how the sentence begins, as a regular expression.
        verbs: which verbs it is for.
        claims: whether it is for ledgers whose releases claim something alone, not for one in memory.
        accept: what accepts it, if anything does.
        total: what the ledger may lose, over the ε of the verb.
        epsilon: of the verb.
        arrange: what else must be so: takes monkeypatch, the ledger, the data, the verb and the folder.
    """

    error: type[HushrecError]
    words: str
    verbs: tuple[str, ...] = tuple(VERBS)
    source: pl.DataFrame = field(default_factory=table)
    domain: hr.Domain = DOMAIN
    claims: bool = False
    accept: str = ""
    total: float = 2.0
    epsilon: float | None = None
    releases: int = 2
    arrange: Callable[..., None] = lambda *_: None


def little_memory(patch, ledger, data, verb, folder):
    patch.setattr(admit, "machine", lambda: (1000, 10))


def no_place(patch, ledger, data, verb, folder):
    (folder / f"{ledger.name}.sums").write_text("a file")


def another_waits(patch, ledger, data, verb, folder):
    """Another fit was stopped after its charge."""
    with stopped():
        VERBS[verb](data, ledger, folder, 0.5)


def damaged(patch, ledger, data, verb, folder):
    file = folder / "blocks" / "items.bin"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


CAUSES = {
    "nobody": Cause(
        error=RecordsDropped, words="no one has an item left", source=table(item="nosuch"), claims=True
    ),
    "empty": Cause(
        error=RecordsDropped,
        words="there is no record",
        source=table().clear(),
        claims=True,
        accept="dropped",
    ),
    "dropped": Cause(
        error=RecordsDropped,
        words="more than a tenth of the records were dropped",
        source=table(11),
        claims=True,
        accept="dropped",
    ),
    "users": Cause(
        error=UsersExceeded,
        words="there are more than twice as many users as the domain declares",
        domain=FEW,
        claims=True,
        accept="users",
    ),
    "weak": Cause(
        error=WeakBudget,
        words="ε = .* is too weak to promise much",
        verbs=("fit", "randomize"),
        claims=True,
        accept="weak",
        epsilon=9.0,
        total=5.0,
    ),
    "share": Cause(
        error=ShareExceeded,
        words="this release costs ε = .*, more than (an equal share|half) of what the ledger has left",
        verbs=("fit", "randomize"),
        claims=True,
        accept="share",
        total=1.2,
    ),
    "exceeded": Cause(
        error=BudgetExceeded,
        words="",
        verbs=("fit", "randomize"),
        total=0.5,
    ),
    "memory": Cause(
        error=MemoryExceeded,
        words=".* needs about .* of memory",
        arrange=little_memory,
    ),
    "sums": Cause(
        error=SumsError,
        words=r".*\.sums: no sums can be kept here",
        claims=True,
        arrange=no_place,
    ),
    "classes": Cause(
        error=DataError,
        words="the domain declares privacy classes",
        verbs=("fit",),
        domain=CLASSES,
    ),
    "waits": Cause(
        error=ChargeUnpublished,
        words="release 0 .* was charged, and its fit was stopped",
        verbs=("fit", "randomize"),
        claims=True,
        arrange=another_waits,
        releases=4,
        total=8.0,
    ),
}


def ledger_of(kind, verb, cause, folder, request, name="ledger"):
    each = at(ROWS, cause.epsilon or 4.0) if verb == "randomize" else at(BUDGET, cause.epsilon or 1.0)
    total = at(each, each.epsilon * cause.total)
    releases = 1 if cause.error is BudgetExceeded else cause.releases
    if kind == "memory":
        return Ledger.ephemeral(total, releases)
    if kind == "file":
        return Ledger.create(folder / f"{name}.db", total, releases)
    server = request.getfixturevalue("postgres")
    name = server.database()
    # Whoever crashes this server waits until it has made all of its databases again.
    request.addfinalizer(lambda: server.psql(f"DROP DATABASE {name} WITH (FORCE)"))
    return Ledger.create(server.url(name), total, releases)


def model_for(cause):
    return hr.PosteriorMF(rank=2, epochs=2) if cause.domain is CLASSES else hr.GlobalEffects()


def call(verb, cause, data, ledger, folder, **more):
    if cause.domain is CLASSES:
        return hr.fit(data, model_for(cause), BUDGET, ledger=ledger, **more)
    return VERBS[verb](data, ledger, folder, cause.epsilon, **more)


_RECORDS = ("nobody", "dropped")
"""Causes that are tried with people in blocks on a server too; each takes a database."""
CASES = [
    pytest.param(
        verb, kind, name, id=f"{verb}-{kind}-{name}", marks=[pytest.mark.postgres] * (kind == "postgres")
    )
    for (name, cause), kind in product(CAUSES.items(), LEDGERS)
    for verb in cause.verbs
    if kind != "memory" or not cause.claims
]
"""Every cause of every verb that it is for, on every ledger that it is for."""


def sentence(verb, kind, name, people, folder, request):
    """The sentence in which a charge is refused, and that it was not charged."""
    cause = CAUSES[name]
    folder.mkdir()
    data = PEOPLE[people](cause.source, cause.domain, folder, request)
    ledger = ledger_of(kind, verb, cause, folder, request)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        cause.arrange(patch, ledger, data, verb, folder)
        before = ledger.state().head
        others = {"dropped", "users", "share", "weak"} - {cause.accept}
        said = set()
        for accept in ((), tuple(others)) if cause.accept else ((),):
            with pytest.raises(cause.error, match=f"^{cause.words}") as refused:
                call(verb, cause, data, ledger, folder, accept=accept)
            said.add(str(refused.value))
        assert ledger.state().head == before
        assert name == "waits" or not [*folder.glob("*.sums/*")], "no sums are left"
    assert len(said) == 1, "to accept another cause is not to accept this one"
    (words,) = said
    assert "secret" not in words
    if cause.error in (RecordsDropped, UsersExceeded):
        assert "Nothing was charged" in words
        assert not any(character.isdigit() for character in words)
    return words.replace(ledger.place, "LEDGER") if ledger.place else words


@pytest.mark.parametrize(("verb", "kind", "name"), CASES)
def test_a_cause_is_refused_in_one_sentence_wherever_people_are_and_never_charged(
    verb, kind, name, tmp_path, request
):
    stores = ("memory",) if kind == "postgres" and name not in _RECORDS else ("memory", "blocks")
    said = {sentence(verb, kind, name, people, tmp_path / people, request) for people in stores}
    assert len(said) == 1


@pytest.mark.spark
@pytest.mark.parametrize(
    ("verb", "name"), [(case.values[0], case.values[2]) for case in CASES if case.values[1] == "file"]
)
def test_people_in_spark_are_refused_in_the_same_sentence(verb, name, tmp_path, request):
    """But for verbs that need all rows here, which refuse such people whatever else is wrong."""
    if verb == "randomize":
        cause = CAUSES[name]
        ledger = ledger_of("file", verb, cause, tmp_path, request)
        data = in_spark(cause.source, cause.domain, tmp_path, request)
        with pytest.raises(DataError, match="needs all rows in the memory of one machine"):
            call(verb, cause, data, ledger, tmp_path)
        assert not ledger.state().charges
        return
    said = [
        sentence(verb, "file", name, people, tmp_path / people, request) for people in ("memory", "spark")
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", ["file", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for name, cause in CAUSES.items() if cause.accept for verb in cause.verbs]
)
def test_what_is_accepted_by_its_own_name_is_charged(kind, verb, name, tmp_path, request, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the sums of a ledger in a database are kept
    cause = CAUSES[name]
    ledger = ledger_of(kind, verb, cause, tmp_path, request)
    call(verb, cause, hr.load(cause.source, cause.domain), ledger, tmp_path, accept=cause.accept)
    assert ledger.state().charges


@pytest.mark.parametrize("name", ["nobody", "empty", "dropped", "users"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_ledger_in_memory_is_never_asked_for(verb, name, tmp_path, request):
    cause = CAUSES[name]
    ledger = ledger_of("memory", verb, cause, tmp_path, request)
    call(verb, cause, hr.load(cause.source, cause.domain), ledger, tmp_path)
    assert all(charge.caveats for charge in ledger.state().charges)  # nothing that it pays for is private


@pytest.mark.parametrize("verb", VERBS)
def test_a_damaged_block_is_refused_before_the_charge(verb, tmp_path, request):
    data = in_blocks(table(), DOMAIN, tmp_path, request)
    ledger = ledger_of("file", verb, CAUSES["nobody"], tmp_path, request)
    damaged(None, ledger, data, verb, tmp_path)
    with pytest.raises(DataError, match=r"items\.bin is not what was written"):
        VERBS[verb](data, ledger, tmp_path)
    assert not ledger.state().charges
    assert not [*tmp_path.glob("*.sums")]


# -- the command line --------------------------------------------------------------------------------

LINES = {
    "fit": "fit {data} --domain domain.json --model global-effects --epsilon {epsilon} --delta 1e-6 "
    "--unit user --adjacency add-remove --ledger ledger.db -o out.safetensors",
    "randomize": "randomize {data} --domain domain.json --method randomized-response --epsilon {epsilon} "
    "--delta 0 --unit user --adjacency replace --ledger ledger.db -o out.parquet",
}


@pytest.mark.parametrize(
    ("verb", "name"),
    [(cause.verbs[0], name) for name, cause in CAUSES.items() if name != "classes"] + [("randomize", "weak")],
)
def test_the_command_line_refuses_in_the_same_sentence(verb, name, tmp_path, request, monkeypatch):
    cause = CAUSES[name]
    expected = sentence(verb, "file", name, "memory", tmp_path / "library", request)
    shutil.rmtree(tmp_path / "library")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "9999")
    cause.domain.save(Path("domain.json"))
    cause.source.write_csv("ratings.csv")
    ledger = ledger_of("file", verb, cause, tmp_path, request)
    cause.arrange(monkeypatch, ledger, hr.load(cause.source, cause.domain), verb, tmp_path)
    before = ledger.state().head
    line = LINES[verb].format(data="ratings.csv", epsilon=cause.epsilon or (4 if verb == "randomize" else 1))
    for new in (False, True) if cause.claims and name not in ("share", "waits", "sums") else (False,):
        if new:
            ledger.path.unlink()
            line += " --new-ledger"
        done = CliRunner().invoke(app, line.split())
        assert done.exit_code == 2, done.output
        said = done.stderr.strip().splitlines()[-1].removeprefix("hushrec: ")
        assert said.replace(ledger.place, "LEDGER") == expected
        assert not [*tmp_path.glob("out.*")]
        assert not new or not ledger.path.exists(), "no ledger is left"
    assert new or ledger.state().head == before


# -- what nobody is asked ----------------------------------------------------------------------------


def test_an_epsilon_of_eight_is_charged_and_above_it_nobody_is_asked_where_nothing_is_claimed(tmp_path):
    data, eight, nine = hr.load(table(), DOMAIN), at(ROWS, 8.0), at(ROWS, 9.0)
    ledger = Ledger.create(tmp_path / "ledger.db", eight)
    assert hr.randomize(data, hr.RandomizedResponse(), eight, ledger=ledger).statement.private
    hr.randomize(data, hr.RandomizedResponse(), nine, ledger=Ledger.ephemeral(nine))
    hr.testing.randomize(data, hr.RandomizedResponse(), nine, entropy=Seeded(0))


def test_twice_the_declared_users_are_charged(tmp_path, request):
    twice = hr.load(table(), hr.Domain(range(5), scale=(1, 5, 1), max_users=10))
    assert twice.n_users > twice.domain.max_users
    VERBS["fit"](twice, ledger_of("file", "fit", CAUSES["users"], tmp_path, request), tmp_path)
