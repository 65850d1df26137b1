"""Rights in the database, two people for a larger total, and a commit whose answer is lost."""

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hushrec.arrays import Ints
from hushrec.errors import BudgetError, LedgerDamaged, LedgerError, LedgerMissing, LedgerStale
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import postgres as module
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.sums_on_disk import SumsFolder
from support.broken_lines import line_to
from support.ledgers import as_user, finish

pytestmark = pytest.mark.postgres
MakePlan, MakeSum = Callable[..., Plan], Callable[..., tuple[Measurement, Ints]]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
MORE = TOTAL.model_copy(update={"epsilon": 5.0})


@pytest.fixture
def url(postgres) -> str:
    return str(postgres.url(postgres.database()))


@pytest.fixture
def people(url: str) -> dict[str, str]:
    """URLs of one ledger, one for every login."""
    Ledger.create(url, TOTAL, max_releases=9)
    rights = {"pat": "hushrec_spender", "ann": "hushrec_raiser", "bob": "hushrec_raiser"}
    return {name: as_user(url, name, role) for name, role in rights.items()} | {"eve": as_user(url, "eve")}


def int8(number: int) -> bytes:
    return number.to_bytes(8, "big")


def raised(total: Budget, releases: int) -> dict[str, object]:
    """The record of a larger total, without who proposed and confirmed it."""
    facts = {"kind": "extended", "total": total.model_dump(), "max_releases": releases}
    return facts | {"allowed": largest_cost(total)}


def database_of(url: str) -> str:
    return url.rpartition("/")[2].partition("?")[0]


# -- rights -----------------------------------------------------------------------------------------------


def test_a_spender_charges_and_stores_and_does_no_more(people: dict[str, str], make_plan: MakePlan) -> None:
    ledger = Ledger.open(people["pat"])
    finish(ledger, ledger.charge(make_plan(0.1)), b"bytes")
    assert ledger.artefact(0) == b"bytes"
    for use in (lambda: ledger.extend(MORE), lambda: ledger.confirm(MORE)):
        with pytest.raises(LedgerError, match=r"hushrec_raiser|nothing is proposed"):
            use()
    with pytest.raises(LedgerError, match="administrator do it"):
        Ledger.create(people["pat"] + "?ledger=fresh", TOTAL)
    with pytest.raises(LedgerError, match="hushrec_spender"):
        Ledger.open(people["eve"])
    assert Ledger.open(people["ann"]).state() == ledger.state()
    with pytest.raises(LedgerError, match="hushrec_spender"):
        Ledger.open(people["ann"]).charge(make_plan(0.1))


FORBIDDEN = {
    "write the account": "UPDATE hushrec.account SET allowed = 9000000000000",
    "write a sum": "UPDATE hushrec.account SET spent = 0",
    "delete a record": "DELETE FROM hushrec.log",
    "empty the log": "TRUNCATE hushrec.log CASCADE",
    "change a record": "UPDATE hushrec.log SET body = ''",
    "add a record": "INSERT INTO hushrec.log VALUES ('x', 1, '', '')",
    "change an artefact": "UPDATE hushrec.artefact SET content = ''",
    "add an account": "INSERT INTO hushrec.account SELECT * FROM hushrec.account",
    "add a proposal": "INSERT INTO hushrec.proposal VALUES ('x', 1, '{}', 9, 9, 'ann')",
    "change a proposal": "UPDATE hushrec.proposal SET proposed_by = 'ann'",
    "free a population": "DELETE FROM hushrec.population",
    "open a charge": "UPDATE hushrec.charge SET state = 'charged'",
    "free a value": "DELETE FROM hushrec.measured",
    "add a value": "INSERT INTO hushrec.measured VALUES ('x', 1, 'sums', 'ab')",
    "start a ledger": "SELECT hushrec.create_ledger('fresh', '', '')",
    "link a record": "SELECT hushrec.link(a, '', '') FROM hushrec.account a",
    "stop a trigger": "ALTER TABLE hushrec.log DISABLE TRIGGER ALL",
    "drop a table": "DROP TABLE hushrec.log CASCADE",
    "be the owner": "SET ROLE hushrec_owner",
    "be the administrator": "SET SESSION AUTHORIZATION postgres",
    "skip triggers": "SET session_replication_role = replica",
    "replace a function": "CREATE OR REPLACE FUNCTION hushrec.hold(name text) RETURNS hushrec.account "
    "LANGUAGE sql AS 'SELECT a FROM hushrec.account a'",
    "make a function": "CREATE FUNCTION hushrec.sneak() RETURNS int LANGUAGE sql AS 'SELECT 1'",
}


@pytest.mark.parametrize("who", ["pat", "ann", "eve"])
def test_psql_allows_nobody_more(postgres, people: dict[str, str], make_plan: MakePlan, who: str) -> None:
    Ledger.open(people["pat"]).charge(make_plan(0.1))
    database = database_of(people["pat"])
    for what, sql in FORBIDDEN.items():
        said = postgres.psql(sql, user=who, database=database, check=False)
        assert "ERROR:" in said, what
        assert "permission denied" in said or "must be owner" in said, (what, said)
    assert Ledger.open(people["pat"]).state().total == TOTAL


def test_not_even_the_administrator_takes_back_a_record(
    postgres, people: dict[str, str], make_plan: MakePlan
) -> None:
    """Who may drop the triggers can do anything; this is against a slip."""
    ledger = Ledger.open(people["pat"])
    finish(ledger, ledger.charge(make_plan(0.1)))
    for what in (
        "UPDATE hushrec.log SET body = ''",
        "DELETE FROM hushrec.log",
        "TRUNCATE hushrec.log CASCADE",
        "DELETE FROM hushrec.account",
        "TRUNCATE hushrec.account CASCADE",
        "UPDATE hushrec.account SET seq = 0",
        "UPDATE hushrec.account SET spent = 0",
        "UPDATE hushrec.account SET allowed = allowed - 1",
        "UPDATE hushrec.account SET spent = allowed + 1",
        """UPDATE hushrec.account SET total = total || '{"delta": 0.1}'""",
        "UPDATE hushrec.artefact SET content = ''",
        "DELETE FROM hushrec.artefact",
        "DELETE FROM hushrec.population",
        "DELETE FROM hushrec.charge",
        "UPDATE hushrec.measured SET sha256 = ''",
        "DELETE FROM hushrec.measured",
        "TRUNCATE hushrec.measured",
    ):
        said = postgres.psql(what, database=database_of(people["pat"]), check=False)
        assert "append-only" in said or "taken back" in said or "violates check" in said, (what, said)


def appended(server: Any, url: str, facts: dict[str, object], *, before: bytes = b"") -> str:
    """What the server says to a spender with psql who appends a record of their own."""
    ledger, body = Ledger.open(url), json.dumps(facts).encode()
    head = ledger.state().head
    digest = hashlib.sha256((before or bytes.fromhex(head.hash)) + int8(head.seq + 1) + body).digest()
    call = (
        f"SELECT hushrec.append('{ledger.name}', ARRAY['\\x{body.hex()}'::bytea], "
        f"ARRAY['\\x{digest.hex()}'::bytea])"
    )
    return str(server.psql(call, user="pat", database=database_of(url), check=False))


def test_a_spender_with_psql_measures_nothing_twice(
    postgres, people: dict[str, str], make_plan: MakePlan
) -> None:
    """Charges 1, which is open; 2, made; and 3, forfeited."""
    url, ledger = people["pat"], Ledger.open(people["pat"])
    _, made, given_up = (ledger.charge(make_plan(0.1)) for _ in range(3))
    finish(ledger, made)
    ledger.forfeit(given_up)

    def tried(kind: str, charge: int, **facts: object) -> str:
        return appended(postgres, url, {"kind": kind, "charge": charge, **facts})

    value = {"name": "sums", "sha256": "ab"}
    assert tried("measured", 1, **value).strip() == ""
    assert tried("taken", 1, branch="pairs").strip() == ""
    head = Ledger.open(url).state().head
    for facts in (value, value | {"sha256": "cd"}):
        assert "this value was measured already" in tried("measured", 1, **facts)
    assert "its branch was taken" in tried("taken", 1, branch="counts")
    for over in (0, 2, 3, 99):
        for kind, facts in (
            ("measured", value),
            ("taken", {"branch": "pairs"}),
            ("made", {"sha256": "ab"}),
            ("forfeited", {}),
        ):
            assert "this charge is over" in tried(kind, over, **facts), (kind, over)
    assert "null value" in tried("measured", 1, name=None, sha256="ab")
    state = Ledger.open(url).state()
    assert state.head == head
    charge = state.charges[0]
    assert (charge.number, charge.branch, charge.measured) == (1, "pairs", {"sums": "ab"})


def test_a_forged_record_does_not_follow(postgres, people: dict[str, str], make_plan: MakePlan) -> None:
    """A spender with psql can append only what the chain, the total and the kinds of records allow."""
    ledger = Ledger.open(people["pat"])
    ledger.charge(make_plan(0.1))

    before = ledger.state()

    def tried(facts: dict[str, object], **how: Any) -> str:
        return appended(postgres, people["pat"], facts, **how)

    for kind in ("extended", "opened"):
        assert "confirmed by another" in tried(raised(MORE, 99) | {"kind": kind})
    assert "confirmed by another" in tried({"kind": None})
    assert "confirmed by another" in tried({})
    declared = {"kind": "declared", "declared": {}}
    assert "does not follow" in tried(declared, before=bytes(32))
    assert "violates check" in tried({"kind": "charged", "cost": before.left + 1})
    assert "out of range" in tried({"kind": "charged", "cost": 10**30})
    assert "taken back" in tried({"kind": "charged", "cost": -1})
    assert "null value" in tried({"kind": "charged"})
    assert Ledger.open(people["pat"]).state() == before
    assert tried(declared).strip() == ""
    assert Ledger.open(people["pat"]).state().head.seq == before.head.seq + 1


# -- two people -------------------------------------------------------------------------------------------


def test_one_proposes_and_another_confirms(people: dict[str, str], make_plan: MakePlan) -> None:
    ann, bob = Ledger.open(people["ann"]), Ledger.open(people["bob"])
    assert ann.state().proposed is None
    with pytest.raises(LedgerError, match="nothing is proposed"):
        bob.confirm(MORE, 12)
    ann.extend(MORE, 12)
    state = ann.state()
    assert state.proposed == {"total": MORE.model_dump(), "max_releases": 12, "proposed_by": "ann"}
    assert (state.total, state.max_releases, state.head.seq) == (TOTAL, 9, 0)
    with pytest.raises(LedgerError, match="who proposed a larger total cannot confirm it"):
        ann.confirm(MORE, 12)
    for other in (lambda: bob.confirm(MORE), lambda: bob.confirm(TOTAL, 12)):
        with pytest.raises(LedgerError, match=r"ann proposed ε = 5\.0 and 12 releases; confirm exactly that"):
            other()
    bob.confirm(MORE, 12)
    state = ann.state()
    assert (state.total, state.max_releases, state.proposed) == (MORE, 12, None)
    assert state.allowed == largest_cost(MORE)
    record = json.loads(ann.export()["records"][-1]["record"])
    assert record == raised(MORE, 12) | {"proposed_by": "ann", "confirmed_by": "bob"}
    with pytest.raises(LedgerError, match="nothing is proposed"):
        bob.confirm(MORE, 12)
    Ledger.open(people["pat"]).charge(make_plan(4.0), accept="share")


def test_who_spends_neither_proposes_nor_confirms(url: str, people: dict[str, str]) -> None:
    both = as_user(url, "sam", "hushrec_spender", "hushrec_raiser")
    with pytest.raises(LedgerError, match="this login charges ledgers"):
        Ledger.open(both).extend(MORE)
    Ledger.open(people["ann"]).extend(MORE)
    with pytest.raises(LedgerError, match="this login charges ledgers"):
        Ledger.open(both).confirm(MORE)
    Ledger.open(people["bob"]).confirm(MORE)
    assert Ledger.open(people["pat"]).state().total == MORE


def test_a_later_proposal_takes_the_place_of_an_earlier_one(people: dict[str, str]) -> None:
    ann, bob = Ledger.open(people["ann"]), Ledger.open(people["bob"])
    most = TOTAL.model_copy(update={"epsilon": 100.0})
    ann.extend(most)
    bob.extend(MORE)
    for confirm in (lambda: ann.confirm(most), lambda: bob.confirm(most)):
        with pytest.raises(LedgerError):
            confirm()
    ann.confirm(MORE)
    assert ann.state().total == MORE
    with pytest.raises(LedgerError, match="nothing is proposed"):  # what was proposed before is void
        bob.confirm(most)
    with pytest.raises(BudgetError, match="may grow, not shrink"):
        ann.extend(TOTAL)


@pytest.mark.parametrize("who", ["pat", "ann", "bob"])
def test_nobody_raises_a_total_alone_with_psql(postgres, people: dict[str, str], who: str) -> None:
    """Every function with every argument that could help: as the proposer, as another, and with a forged
    name in the record."""
    Ledger.open(people["ann"]).extend(MORE, 12)
    name, database = Ledger.open(people["ann"]).name, database_of(people["ann"])
    head = bytes.fromhex(Ledger.open(people["ann"]).state().head.hash)
    proposed = raised(MORE, 12)

    def confirm(**facts: object) -> str:
        body = json.dumps(proposed | facts).encode()
        digest = hashlib.sha256(head + int8(1) + body).digest()
        call = f"SELECT hushrec.confirm('{name}', '\\x{body.hex()}', '\\x{digest.hex()}')"
        return postgres.psql(call, user=who, database=database, check=False)

    forged = [
        confirm(proposed_by="ann", confirmed_by="ann"),
        confirm(proposed_by="bob", confirmed_by="ann"),
        confirm(proposed_by="ann", confirmed_by="pat"),
        confirm(proposed_by="ann", confirmed_by="bob", max_releases=99),
        confirm(proposed_by="ann", confirmed_by="bob", total=MORE.model_dump() | {"epsilon": 50.0}),
        confirm(proposed_by="ann", confirmed_by="bob", allowed=proposed["allowed"] + 1),
        confirm(proposed_by="ann", confirmed_by="bob", more=1),
        confirm(),
    ]
    assert all("ERROR:" in said for said in forged)
    assert Ledger.open(people["pat"]).state().total == TOTAL
    said = confirm(proposed_by="ann", confirmed_by=who)
    assert ("ERROR:" in said) is (who != "bob")
    assert Ledger.open(people["pat"]).state().total == (MORE if who == "bob" else TOTAL)


def test_a_larger_unit_or_delta_is_not_proposed_with_psql(postgres, people: dict[str, str]) -> None:
    name, database = Ledger.open(people["ann"]).name, database_of(people["ann"])
    for change in (
        {"delta": 0.1},
        {"unit": "record"},
        {"adjacency": "replace"},
        {"epsilon": 1.0},
        {"more": 1},
    ):
        total = json.dumps(MORE.model_dump() | change)
        call = f"SELECT hushrec.propose('{name}', '{total}', {largest_cost(MORE)}, 12)"
        said = postgres.psql(call, user="ann", database=database, check=False)
        assert "may grow" in said, change
    more = json.dumps(MORE.model_dump())
    for arguments in ("NULL, 10^15, 12", f"'{more}', NULL, 12", f"'{more}', 1, 12", f"'{more}', 10^15, 8"):
        call = f"SELECT hushrec.propose('{name}', {arguments})".replace("10^15", str(10**15))
        said = postgres.psql(call, user="ann", database=database, check=False)
        assert "may grow" in said, arguments


def test_two_raisers_with_psql_who_allow_more_than_their_total_close_the_ledger(
    postgres, people: dict[str, str]
) -> None:
    """The database knows no ε; whoever replays the record does."""
    name, database = Ledger.open(people["ann"]).name, database_of(people["ann"])
    head = bytes.fromhex(Ledger.open(people["ann"]).state().head.hash)
    facts = raised(MORE, 12) | {"allowed": 10**15}
    total = json.dumps(facts["total"])
    postgres.psql(f"SELECT hushrec.propose('{name}', '{total}', {10**15}, 12)", user="ann", database=database)
    body = json.dumps(facts | {"proposed_by": "ann", "confirmed_by": "bob"}).encode()
    digest = hashlib.sha256(head + int8(1) + body).digest()
    call = f"SELECT hushrec.confirm('{name}', '\\x{body.hex()}', '\\x{digest.hex()}')"
    postgres.psql(call, user="bob", database=database)
    with pytest.raises(LedgerDamaged, match="allows another cost than its total"):
        Ledger.open(people["pat"])


# -- one population ---------------------------------------------------------------------------------------


def test_a_second_ledger_of_the_same_people_is_refused_by_the_database_too(
    url: str, make_plan: MakePlan
) -> None:
    """Also if its ε holds only under a condition; but not where a release claims none."""
    first = Ledger.create(url, TOTAL, max_releases=9)
    other = Ledger.create(f"{url}?ledger=other", TOTAL, max_releases=9)
    third = Ledger.create(f"{url}?ledger=third", TOTAL, max_releases=9)
    of_an_author = dataclasses.replace(make_plan(0.1), foreign=("Model of theirs",))
    third.charge(make_plan(0.1), entropy=Seeded(1))
    first.charge(of_an_author)
    for plan in (make_plan(0.1), of_an_author):
        with pytest.raises(LedgerError, match="another ledger of this database was charged for the same"):
            other.charge(plan)
    other.charge(dataclasses.replace(make_plan(0.1), domain_digest="e" * 64))
    assert len(other.state().charges) == 1


def test_releases_elsewhere_show_a_database_that_was_restored(
    postgres, url: str, make_plan: MakePlan, tmp_path
) -> None:
    """``pg_dump`` and back: the database agrees with itself, and the releases know better."""
    ledger = Ledger.create(url, TOTAL, max_releases=9)
    finish(ledger, ledger.charge(make_plan(0.1)))
    copy = postgres.database()
    postgres.psql(f"DROP DATABASE {copy}")
    postgres.psql(f"CREATE DATABASE {copy} TEMPLATE {database_of(url)}")
    grant = ledger.charge(make_plan(0.1))
    finish(ledger, grant)
    facts = tmp_path / "ratings.parquet.statement.json"
    facts.write_text(json.dumps({"statement": {"ledger": grant.ledger}}))
    Ledger.open(url, tmp_path)
    restored = str(postgres.url(copy, query=f"ledger={ledger.name}"))
    Ledger.open(restored)  # with no release at hand nobody can know
    for releases in (tmp_path, facts):
        with pytest.raises(LedgerStale, match="a backup was restored"):
            Ledger.open(restored, releases)
    lost = str(postgres.url(postgres.database(), query=f"ledger={ledger.name}"))
    for use in (Ledger.open, lambda *given: Ledger.create(given[0], TOTAL, releases=given[1])):
        with pytest.raises(LedgerMissing, match=r"was charged to test_.* put it back"):
            use(lost, tmp_path)
    ledger._store = Ledger.open(restored)._store
    with pytest.raises(LedgerStale, match="earlier state while it was open"):
        ledger.declare(contact="x")


# -- a commit whose answer is lost ------------------------------------------------------------------------


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_what_a_lost_answer_hides_is_looked_up(
    postgres, url: str, make_plan: MakePlan, make_sum: MakeSum, breaks: str, tmp_path: Path
) -> None:
    Ledger.create(url, TOTAL, max_releases=9)
    with line_to(postgres.port) as line:
        ledger = Ledger.open(url.replace(str(postgres.port), str(line.port)))
        line.breaks = breaks
        if breaks == "before":
            with pytest.raises(
                LedgerError, match="the ledger did not record this step: the connection broke"
            ):
                ledger.charge(make_plan(0.1))
            assert Ledger.open(url).state().charges == ()
        else:
            grant = ledger.charge(make_plan(0.1), sums=SumsFolder(tmp_path / "sums", ledger.id).new())
            line.breaks = "after"
            grant.measure(*make_sum())
            line.breaks = "after"
            ledger.finish(grant, b"bytes")
            assert [charge.state for charge in Ledger.open(url).state().charges] == ["made"]
        assert line.broken == (1 if breaks == "before" else 3)
        ledger.charge(make_plan(0.1))  # and it goes on


def test_a_lost_answer_to_a_proposal_is_looked_up(postgres, people: dict[str, str]) -> None:
    with line_to(postgres.port) as line:
        line.breaks = "after"
        Ledger.open(people["ann"].replace(str(postgres.port), str(line.port))).extend(MORE)
        assert line.broken == 1
        line.breaks = "after"
        Ledger.open(people["bob"].replace(str(postgres.port), str(line.port))).confirm(MORE)
        assert line.broken == 2
    assert Ledger.open(people["pat"]).state().total == MORE


@pytest.mark.parametrize("breaks", ["before", "after"])
def test_what_nobody_answers_is_unknown_and_grants_nothing(
    postgres, url: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    Ledger.create(url, TOTAL, max_releases=9)
    monkeypatch.setattr(module, "_RETURNS", 0.5)
    with line_to(postgres.port) as line:
        ledger = Ledger.open(url.replace(str(postgres.port), str(line.port)))
        line.breaks, line.refuses = breaks, True
        with pytest.raises(LedgerError, match=r"is unknown\. Nothing is granted\. Look when it is back"):
            ledger.charge(make_plan(0.1))
    assert len(Ledger.open(url).state().charges) == (breaks == "after")


# -- what SQLite's tests ask as well ----------------------------------------------------------------------


def test_the_database_refuses_what_the_code_forgets(
    url: str, make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(url, TOTAL)

    monkeypatch.setattr(booking, "_require_left", lambda *_: None)
    with pytest.raises(LedgerError, match="exceed the total"):
        ledger.charge(make_plan(3.0), accept="share")
    assert ledger.state().charges == ()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hushrec.account SET spent = 0",
        "UPDATE hushrec.account SET allowed = allowed + 1",
        "UPDATE hushrec.account SET head = sha256('')",
        "UPDATE hushrec.account SET max_releases = max_releases + 1",
        "DELETE FROM hushrec.log",
        "DELETE FROM hushrec.log WHERE seq = 1",
        "DELETE FROM hushrec.log WHERE seq = (SELECT max(seq) FROM hushrec.log)",
        "UPDATE hushrec.log SET body = convert_to(replace(convert_from(body, 'UTF8'), 'toy', 'yot'), 'UTF8') "
        "WHERE seq = 1",
        "UPDATE hushrec.log SET hash = '' WHERE seq = 1",
        "UPDATE hushrec.log SET seq = 99 WHERE seq = 1",
        "INSERT INTO hushrec.log SELECT ledger, seq + 1, body, hash FROM hushrec.log "
        "ORDER BY seq DESC LIMIT 1",
    ],
)
def test_an_altered_ledger_is_refused(postgres, url: str, make_plan: MakePlan, statement: str) -> None:
    """By an administrator who takes the triggers off and puts them back."""
    Ledger.create(url, TOTAL, max_releases=2).charge(make_plan())
    database = database_of(url)
    postgres.psql(f"SET session_replication_role = replica; {statement}", database=database)
    with pytest.raises(LedgerDamaged):
        Ledger.open(url)


def test_of_two_that_start_a_ledger_one_does(postgres, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both set up the tables at once; the second waits, and is refused."""
    results: list[object] = []

    def create(epsilon: float) -> None:
        try:
            Ledger.create(url, TOTAL.model_copy(update={"epsilon": epsilon}))
            results.append(epsilon)
        except LedgerError as error:
            results.append(str(error))

    def meanwhile(name: str) -> None:
        if name == "inside-create" and not thread.is_alive() and not results:
            thread.start()
            thread.join(0.3)

    thread = threading.Thread(target=create, args=(1.0,))
    monkeypatch.setattr(module, "failpoint", meanwhile)
    create(2.0)
    thread.join(30)
    refused, created = sorted(results, key=lambda found: isinstance(found, float))
    assert created == 2.0
    assert "there is a ledger already" in str(refused)
    assert Ledger.open(url).state().total == TOTAL


def test_who_may_create_roles_sets_up_without_being_superuser(postgres, make_plan: MakePlan) -> None:
    name = postgres.database()
    url = as_user(postgres.url(name), "admin")
    postgres.psql("ALTER ROLE admin CREATEROLE")
    postgres.psql(f"GRANT CREATE ON DATABASE {name} TO admin")
    ledger = Ledger.create(url, TOTAL)
    assert Ledger.open(as_user(postgres.url(name), "pat", "hushrec_spender")).id == ledger.id


def test_an_administrator_sets_up_by_hand_what_create_would(postgres, url: str) -> None:
    from typer.testing import CliRunner

    from hushrec.cli.ledger import ledger as app

    script = CliRunner().invoke(app, ["sql"]).output
    postgres.psql(script, database=database_of(url))
    ledger = Ledger.create(url, TOTAL)
    assert Ledger.open(as_user(url, "pat", "hushrec_spender")).id == ledger.id
