"""Weekly fits that are killed and called again, each in a process of its own: a script for the tests.

It makes a release a week, from other ratings each time, with the default checkpoint and an equal share of
the ledger. Every week it kills the fit at the next point, and calls it again as a service manager does. It
says as JSON what became of each week. It runs no compiled loop with threads itself, so that its children may
be forked.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

from children import child, drawn_twice, status, writes_down_noise  # isort: skip
import hushrec as hr
from hushrec.curator.charging import Request
from hushrec.curator.checkpoints import folder_of
from hushrec.curator.fit import fitting
from hushrec.privacy import failpoints, grant
from hushrec.privacy.checkpoint import checkpoint

CONFIG = hr.UserLevelSGD(rank=2, epochs=2)


ratings = []


def fit(week, place, out, log):
    """As ``hushrec fit --epsilon auto -o`` does, which refuses a file that exists."""
    if out.exists():
        return
    writes_down_noise(log)
    save = hr.Release.save

    def saved(release, path):
        save(release, path)
        failpoints.failpoint("after-file")

    hr.Release.save = saved
    Request(fitting(CONFIG, "auto"), ledger=place, out=out).make(ratings[week])


def week_of(folder, place, week, point, fault):
    out, log = folder / f"week-{week:02}.safetensors", folder / f"week-{week:02}.noise"

    def first():
        os.environ[failpoints.VARIABLE] = point
        fit(week, place, out, log)

    def second():
        if fault == "other noise":
            checkpoint.Checkpoint.key = lambda self, name="", purpose="noise": os.urandom(32)
        if fault == "no checkpoint":
            for file in folder_of(hr.Ledger.open(place)).rglob("*"):
                if file.is_file():
                    file.unlink()
            for nested in folder_of(hr.Ledger.open(place)).glob("*/*"):
                nested.rmdir()
        fit(week, place, out, log)

    before = len({entry.charge for entry in hr.Ledger.open(place).entries()})
    statuses = [status(child(work)) for work in (first, second)]
    ledger = hr.Ledger.open(place)
    return {
        "point": point,
        "statuses": statuses,
        "charges": len({entry.charge for entry in ledger.entries()}) - before,
        "drawn twice": drawn_twice(log),
        "file": hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else None,
    }


def main(folder, place, points, fault=None):
    os.chdir(folder)  # where a ledger in a database has its checkpoints
    ratings.extend(hr.synthetic.netflix_like(60, 12, 600, seed=week) for week in range(len(points)))
    grant.sampler()  # proves itself once here, and not in every child
    weeks = [week_of(folder, place, week, point, fault) for week, point in enumerate(points)]
    ledger = hr.Ledger.open(place)
    states = {e.charge: e.state for e in ledger.entries()}
    left = len([*folder_of(ledger).glob("*")])
    json.dump({"weeks": weeks, "states": sorted(states.values()), "left": left}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *json.load(sys.stdin))
