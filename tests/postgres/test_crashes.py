"""Eight spenders, a server that is stopped at once, clients that are killed: nothing granted is lost."""

import json
import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import BudgetExceeded, LedgerError, LedgerStale
from hushrec.privacy.accounting.accountant import largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger import booking
from hushrec.privacy.ledger.history import Head, History
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.sums_on_disk import ChargeSums, SumsFolder
from support.forks import fork, status
from support.ledgers import as_user
from support.played import one_release, played

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:removed .* a killed run had left it:UserWarning"),
]
BUDGET = Budget(epsilon=0.05, delta=1e-6, unit="user", adjacency="add-remove")
SUMS = Measurement("sums", 1.0, "l2", 2**-6, 16)
PLAN = Plan("toy", {}, "d" * 64, 1000, BUDGET, calibrated([SUMS], {"sums": 1.0}, BUDGET))
COST = PLAN.spent.units(BUDGET.delta)
MOST = 100_000


def total(epsilon: float) -> Budget:
    return BUDGET.model_copy(update={"epsilon": epsilon})


def affordable(limit: Budget) -> int:
    return largest_cost(limit) // COST


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, as a release is: a process killed here leaves no half of it."""
    part = file.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(file)


def held(ledger: Ledger, folder: SumsFolder) -> ChargeSums:
    """The sums of a charge that a killed process left on this host, or those of a new one."""
    for sums in folder.free():
        charge = ledger.state().under(sums.token)
        if charge is not None and charge.state == "charged":
            return sums
        sums.remove()
    return folder.new()


def publish(ledger: Ledger, folder: Path) -> None:
    """A whole release: charge, note that it was granted, measure, note the value, finish, write the file."""
    with held(ledger, SumsFolder(folder / f"host {os.getpid() % 2}", ledger.id)) as sums:
        grant = ledger.charge(PLAN, sums=sums, accept="share")
        told = {"charge": grant.charge, "seq": grant.ledger["seq"], "head": grant.ledger["head"]}
        write(folder / f"{grant.charge}-{os.getpid()}.told", json.dumps(told).encode())
        artefact = grant.measure(SUMS, np.zeros(16, dtype=np.int64)).values.tobytes()
        write(folder / f"{grant.charge}-{os.getpid()}.value", artefact)
        ledger.finish(grant, artefact)
        write(folder / f"{grant.ledger['release_index']}.release", artefact)
        sums.remove()


def violations(server, url: str, folder: Path) -> dict[str, object]:
    """Counts, and under ``violations`` how often each thing is not as it must be."""
    ledger = Ledger.open(url)
    state = ledger.state()
    with ledger._store.reading() as session:
        chain = session.history
    told = [json.loads(file.read_text()) for file in folder.glob("*.told")]
    releases = [*folder.glob("*.release")]
    values = {(file.stem.partition("-")[0], file.read_bytes()) for file in folder.glob("*.value")}
    # the chain once more, by the server alone
    broken = server.psql(
        "SELECT count(*) FROM (SELECT hash, sha256("
        "lag(hash, 1, decode(repeat('00', 32), 'hex')) OVER (ORDER BY seq)"
        f" || int8send(seq) || body) AS made FROM hushrec.log WHERE ledger = '{ledger.name}') x "
        "WHERE hash <> made",
        database=url.rpartition("/")[2].partition("?")[0],
    )
    wrong = {
        "another sum": state.spent != COST * len(state.charges),
        "more than the total": state.left < 0,
        "granted and forgotten": sum(not chain.holds(Head(one["seq"], one["head"])) for one in told),
        "two values": len(values) - len({charge for charge, _ in values}),
        "another value": sum(
            (str(charge.number), ledger.artefact(charge.release_index)) not in values
            for charge in state.charges
            if charge.state == "made"
        ),
        "another release": sum(
            not (charge := state.latest(int(file.stem)))
            or charge.state != "made"
            or ledger.artefact(int(file.stem)) != file.read_bytes()
            for file in releases
        ),
        "another chain": int(broken),
    }
    return {
        "charges": len(state.charges),
        "told": len({one["charge"] for one in told}),
        "releases": len(releases),
        "violations": {what: int(times) for what, times in wrong.items() if times},
    }


@pytest.fixture
def url(postgres) -> str:
    return str(postgres.url(postgres.database()))


def spend(url: str, folder: Path, attempts: int) -> int:
    """Eight processes charge as often as they can; returns how many charges were granted."""

    def work() -> None:
        ledger = Ledger.open(url)
        for _ in range(attempts):
            try:
                grant = ledger.charge(PLAN, accept="share")
            except BudgetExceeded:
                continue
            (folder / f"{grant.charge}.granted").touch(exist_ok=False)

    children = [fork(work) for _ in range(8)]
    assert [status(child) for child in children] == [0] * 8
    return len([*folder.glob("*.granted")])


def test_eight_spenders_spend_one_budget_exactly(url: str, tmp_path: Path) -> None:
    limit = total(0.5)
    expected = affordable(limit)
    assert 60 < expected < 160
    Ledger.create(url, limit, MOST)
    spender = as_user(url, "pat", "hushrec_spender")
    start = time.monotonic()
    assert spend(spender, tmp_path, 20) == expected == len(Ledger.open(url).state().charges)
    print(f"{expected} of 160 charges granted in {time.monotonic() - start:.1f} s")


def test_spenders_that_compare_nothing_are_stopped_by_the_database(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of the code is planted away."""
    limit = total(0.2)
    ledger = Ledger.create(url, limit, MOST)
    monkeypatch.setattr(booking, "_require_left", lambda *_: None)
    for _ in range(affordable(limit)):
        ledger.charge(PLAN, accept="share")
    with pytest.raises(LedgerError, match="exceed the total"):
        ledger.charge(PLAN, accept="share")
    assert len(ledger.state().charges) == affordable(limit)


POINTS = (
    "inside-create",
    "inside-charge",
    "after-charge",
    "after-draft",
    "inside-record",
    "after-record",
    "inside-finish",
    "after-finish",
)


def play(postgres, verb: str, what: str, **facts: object) -> dict[str, object]:
    return {"verb": verb, "play": what, "place": postgres.url(postgres.database()), **facts}


def test_a_kill_at_a_failpoint_costs_nothing_and_draws_nothing_twice(postgres, tmp_path: Path) -> None:
    plays = {
        point: play(postgres, "effects", "killed", point=point, created=point != "inside-create")
        for point in POINTS
    }
    for point, found in played(tmp_path, plays).items():
        assert found["statuses"] == [-signal.SIGKILL, 0], (point, found["said"])
        assert one_release(found), point
        assert found["left"] == [], point


def test_two_hosts_with_a_copy_each_measure_nothing_twice(postgres, tmp_path: Path) -> None:
    plays = {
        f"{point} {passes}": play(postgres, "descent", "copied", point=point, passes=passes)
        for point, passes in (("after-mark", 1), ("after-keep", 3), ("after-draft", 7))
    }
    for name, found in played(tmp_path, plays).items():
        assert 0 in found["statuses"][1:], (name, found["said"])
        assert {*found["statuses"][1:]} <= {0, 4}, (name, found["said"])
        assert (found["charges"], found["states"], found["second values"]) == (1, ["made"], []), name
        assert found["files"] == found["stored"], name


def test_a_charge_is_given_up_on_another_host_while_it_is_measured(postgres, tmp_path: Path) -> None:
    plays = {"given up": play(postgres, "effects", "forfeited", point="after-draft", passes=3)}
    (found,) = played(tmp_path, plays).values()
    assert found["statuses"] == [4, 0], found["said"]
    assert found["states"] == ["forfeited", "made"]


def test_six_processes_have_a_charge_each(postgres, tmp_path: Path) -> None:
    plays = {"race": play(postgres, "effects", "raced", processes=6)}
    (found,) = played(tmp_path, plays).values()
    assert found["statuses"] == [0] * 6, found["said"]
    assert found["states"] == ["made"] * 6
    assert found["files"] == sorted(found["stored"])


@pytest.mark.full
def test_forty_rounds_of_kills_at_any_moment(postgres, tmp_path: Path) -> None:
    moments = random.Random(7)
    plays = {
        f"round {n}": play(postgres, "descent", "hounded", delays=[moments.uniform(0, 0.4) for _ in range(3)])
        for n in range(40)
    }
    found = played(tmp_path, plays)
    assert all(map(one_release, found.values())), found
    print(sum(one["statuses"].count(-signal.SIGKILL) for one in found.values()), "kills in 40 rounds")


def crash(server, url: str, folder: Path, rounds: int) -> dict[str, object]:
    """Rounds of eight spenders: three are killed, then the server is stopped at once and started again."""
    killed = 0

    def work() -> None:
        while True:
            try:
                publish(Ledger.open(url), folder)
            except LedgerStale:
                raise
            except LedgerError:
                time.sleep(0.05)

    for number in range(rounds):
        more = len([*folder.glob("*.release")]) + 2 + number % 5
        children = [fork(work) for _ in range(8)]
        while len([*folder.glob("*.release")]) < more:  # not by the clock: a busy machine is slow to charge
            time.sleep(0.02)
        for child in children[:3]:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01 * (number % 4))
        server.stop("immediate")
        server.start()
        time.sleep(0.3)
        for child in children[3:]:
            os.kill(child, signal.SIGKILL)
        killed += [status(child) for child in children].count(-signal.SIGKILL)
    return violations(server, url, folder) | {"killed": killed}


@pytest.mark.full
def test_forty_rounds_of_crashes(postgres, url: str, tmp_path: Path) -> None:
    Ledger.create(url, total(90.0), MOST)
    found = crash(postgres, as_user(url, "pat", "hushrec_spender"), tmp_path, 40)
    print(found)
    assert found["violations"] == {}
    assert found["charges"] >= found["told"] >= found["releases"] > 20
    assert found["killed"] == 320


def test_the_check_finds_a_charge_that_was_forgotten(postgres, url: str, tmp_path: Path) -> None:
    """A planted fault: the server loses what followed a record, as one that forces nothing to disk does."""
    Ledger.create(url, total(2.0), 9)
    ledger = Ledger.open(url)
    publish(ledger, tmp_path)
    kept = History()
    with ledger._store.reading() as session:
        for record in list(session.rows())[:1]:
            kept.load(*record)
    database = url.rpartition("/")[2]
    postgres.psql(
        "SET session_replication_role = replica; DELETE FROM hushrec.artefact; "
        "DELETE FROM hushrec.measured; DELETE FROM hushrec.charge; DELETE FROM hushrec.log WHERE seq > 0; "
        f"UPDATE hushrec.account SET seq = 0, head = '\\x{kept.head.hash}', spent = 0",
        database=database,
    )
    found = violations(postgres, url, tmp_path)
    assert (found["charges"], found["told"], found["releases"]) == (0, 1, 1)
    assert found["violations"] == {"granted and forgotten": 1, "another release": 1}


def test_a_standby_is_refused(postgres, url: str, tmp_path: Path) -> None:
    from support.postgres import Server

    ledger = Ledger.create(url, total(2.0), 9)
    standby = Server(postgres.folder / "standby")
    postgres.run(
        "pg_basebackup", "-D", standby.data, "-R", "-X", "stream", "-c", "fast",
        "-h", postgres.folder, "-p", postgres.port, "-U", "postgres",
    )  # fmt: skip
    (standby.data / "standby.signal").touch()
    conninfo = f"'host={postgres.folder} port={postgres.port} user=postgres'"
    standby.start(primary_conninfo=conninfo, unix_socket_directories=f"'{postgres.folder}'")
    try:
        with pytest.raises(LedgerError, match="a standby; give the URL of the primary"):
            Ledger.open(url.replace(str(postgres.port), str(standby.port)))
    finally:
        standby.stop("immediate")
    ledger.declare(contact="x")
