"""Eight spenders, a server that is stopped at once, clients that are killed: nothing granted is lost."""

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import BudgetExceeded, LedgerError, LedgerStale
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import gaussian, split_gaussian
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.failpoints import VARIABLE, failpoint
from hushrec.privacy.ledger import booking, history
from hushrec.privacy.ledger.history import Head, History
from hushrec.privacy.ledger.ledger import Ledger
from support.ledgers import as_user

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
BUDGET = Budget(epsilon=0.05, delta=1e-6, unit="user", adjacency="add-remove")
(RHO,) = split_gaussian(BUDGET, {"sums": 1.0}).values()
PLAN = Plan(
    "toy",
    {},
    "d" * 64,
    1000,
    BUDGET,
    (Measurement(gaussian("sums", rho=RHO, sensitivity=1.0, step=2**-6, size=16), 1.0),),
)
MOST = 100_000


def total(epsilon: float) -> Budget:
    return BUDGET.model_copy(update={"epsilon": epsilon})


def affordable(limit: Budget) -> int:
    count = 0
    while (PLAN.spent * (count + 1)).epsilon_units(limit.delta) <= limit.epsilon_units:
        count += 1
    return count


def fork(work: Callable[[], object]) -> int:
    """Run something in a child process; returns its process number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return child


def status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, as a release is: a process killed here leaves no half of it."""
    part = file.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(file)


def publish(ledger: Ledger, folder: Path, release_index: int | None = None) -> None:
    """A whole release: charge, note that it was granted, draw, store, write the file, mark it."""
    artefact = None if release_index is None else ledger.stored(PLAN, release_index)
    if artefact is not None:
        write(folder / f"{release_index}.release", artefact)
        return
    if any(charge.release_index == release_index for charge in ledger.unpublished):
        ledger.forfeit_index(release_index)  # stopped, and without a checkpoint nothing resumes it
        release_index = None
    grant = ledger.charge(PLAN, release_index, accept="share")
    told = {"charge": grant.charge, "seq": grant.ledger["seq"], "head": grant.ledger["head"]}
    write(folder / f"{grant.charge}-{os.getpid()}.told", json.dumps(told).encode())
    zeros = np.zeros(16, dtype=np.int64)
    artefact = grant.measure(Bounded("sums", zeros, 1.0, "l2", 2**-6)).values.tobytes()
    ledger.sampled(grant, artefact)
    write(folder / f"{grant.ledger['release_index']}.release", artefact)
    failpoint("after-file")
    ledger.published(grant)


def violations(server, url: str, folder: Path) -> dict[str, object]:
    """Counts, and under ``violations`` how often each thing is not as it must be."""
    ledger = Ledger.open(url)
    entries = ledger.entries()
    with ledger._store.reading() as session:
        chain = session.history
    told = [json.loads(file.read_text()) for file in folder.glob("*.told")]
    releases = [*folder.glob("*.release")]
    # the chain once more, by the server alone
    broken = server.psql(
        "SELECT count(*) FROM (SELECT hash, sha256("
        "lag(hash, 1, decode(repeat('00', 32), 'hex')) OVER (ORDER BY seq)"
        f" || int8send(seq) || body) AS made FROM hushrec.log WHERE ledger = '{ledger.name}') x "
        "WHERE hash <> made",
        database=url.rpartition("/")[2].partition("?")[0],
    )
    wrong = {
        "another sum": ledger.spent != PLAN.spent * len(entries),
        "more than the total": ledger.spent.epsilon(BUDGET.delta) > ledger.total.epsilon,
        "granted and forgotten": sum(not chain.holds(Head(one["seq"], one["head"])) for one in told),
        "granted twice": len(told) - len({one["charge"] for one in told}),
        "another release": sum(ledger.stored(PLAN, int(file.stem)) != file.read_bytes() for file in releases),
        "another chain": int(broken),
    }
    return {
        "charges": len(entries),
        "told": len(told),
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
    assert spend(spender, tmp_path, 20) == expected == len(Ledger.open(url).entries())
    print(f"{expected} of 160 charges granted in {time.monotonic() - start:.1f} s")


def test_spenders_that_compare_nothing_are_stopped_by_the_database(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of the code is planted away; the sum that goes to the database is true."""
    limit, counted = total(0.2), history.counted

    class Blind(int):
        def __gt__(self, other: int) -> bool:
            return False

    Ledger.create(url, limit, MOST)
    monkeypatch.setattr(booking, "counted", lambda *facts: Blind(counted(*facts)))
    ledger = Ledger.open(url)
    for _ in range(affordable(limit)):
        ledger.charge(PLAN, accept="share")
    with pytest.raises(LedgerError, match="exceed the total"):
        ledger.charge(PLAN, accept="share")
    assert len(ledger.entries()) == affordable(limit)


AFTER_RECOVERY = {
    "inside-create": 1,
    "before-charge": 1,
    "inside-charge": 1,  # undone: nothing was committed
    "after-charge": 2,  # a grant may have been in use
    "after-sample": 2,
    "inside-store": 2,
    "after-store": 1,  # the stored bytes are the answer
    "after-file": 1,
    "after-publish": 1,
}


@pytest.mark.parametrize("name", AFTER_RECOVERY)
def test_a_kill_at_every_failpoint(postgres, url: str, tmp_path: Path, name: str) -> None:
    def work() -> None:
        Ledger.create(url, total(2.0), 9)
        publish(Ledger.open(url), tmp_path, 0)

    def armed() -> None:
        os.environ[VARIABLE] = name
        work()

    assert status(fork(armed)) == -signal.SIGKILL
    if name == "inside-create":
        Ledger.create(url, total(2.0), 9)  # nothing of the first remains
    assert violations(postgres, url, tmp_path)["violations"] == {}
    seen = Ledger.open(url).stored(PLAN, 0)
    publish(Ledger.open(url), tmp_path, 0)
    assert seen in (None, (tmp_path / "0.release").read_bytes())
    assert violations(postgres, url, tmp_path)["violations"] == {}
    assert len({entry.charge for entry in Ledger.open(url).entries()}) == AFTER_RECOVERY[name]


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
def test_twelve_rounds_of_crashes(postgres, url: str, tmp_path: Path) -> None:
    Ledger.create(url, total(50.0), MOST)
    found = crash(postgres, as_user(url, "pat", "hushrec_spender"), tmp_path, 12)
    print(found)
    assert found["violations"] == {}
    assert found["charges"] >= found["told"] >= found["releases"] > 20
    assert found["killed"] == 96


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
        "DELETE FROM hushrec.log WHERE seq > 0; UPDATE hushrec.account SET seq = 0, "
        f"head = '\\x{kept.head.hash}', rho = 0, epsilon_sum = 0, pure_rho = 0, spent_epsilon = 0",
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
