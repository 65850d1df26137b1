"""Verbs that are killed after their charge beside a ledger that is restored, or that leave a child: a script.

It says as JSON how each call ended. It runs no compiled loop with threads itself, neither of polars nor of
numba, so that its children may be forked.

    restored.py FOLDER [VERB,POINT,CHECKPOINT] ...
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from children import child, status  # isort: skip

import hushrec as hr
from hushrec.errors import LedgerStale
from hushrec.privacy import failpoints, grant
from hushrec.privacy.ledger.ledger import Ledger

USERS = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
VERBS = {
    "fit": (USERS, lambda data, **how: hr.fit(data, hr.GlobalEffects(), USERS, **how)),
    "randomize": (ROWS, lambda data, **how: hr.randomize(data, hr.RandomizedResponse(), ROWS, **how)),
}


def calling(path, verb, checkpoint=True):
    data = hr.synthetic.netflix_like(60, 12, 600, seed=1)
    return VERBS[verb][1](data, ledger=path, accept=("share", "weak"), checkpoint=checkpoint)


def restored(folder, verb, point, named):
    """Kill a verb at a point, put back the ledger of before, and call the verb twice again."""
    folder.mkdir()
    path, backup = folder / "ledger.db", folder / "ledger.backup"
    hr.Ledger.create(path, VERBS[verb][0], max_releases=2)
    shutil.copy(path, backup)
    checkpoint = folder / "named" if named == "named" else True

    def first():
        os.environ[failpoints.VARIABLE] = point
        calling(path, verb, checkpoint)

    def again():
        try:
            calling(path, verb, checkpoint)
        except LedgerStale:
            os._exit(3)

    killed = status(child(first))
    shutil.copy(backup, path)
    statuses = [killed, *(status(child(again)) for _ in range(2))]
    return {"statuses": statuses, "charges": len(Ledger.open(path).entries())}


def left_alone(folder):
    """Kill a fit that forked a child which lives on, and call it again."""
    folder.mkdir()
    path = folder / "ledger.db"
    hr.Ledger.create(path, USERS, max_releases=2)
    held, holding = os.pipe()

    def parent():
        def die(*_):
            if os.fork() == 0:
                os.close(holding)  # its own end: it lives until the script closes the other one
                os.read(held, 1)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)

        Ledger.sampled = die
        calling(path, "fit")

    statuses = [status(child(parent)), status(child(lambda: calling(path, "fit")))]
    os.close(holding)
    charges = {entry.charge for entry in Ledger.open(path).entries()}
    return {"statuses": statuses, "charges": len(charges)}


if __name__ == "__main__":
    grant.sampler()  # proves itself once here, and not in every child
    home = Path(sys.argv[1])
    found = {"left alone": left_alone(home / "left")}
    for number, case in enumerate(sys.argv[2:]):
        found[case] = restored(home / str(number), *case.split(","))
    print(json.dumps(found))
