"""A data set that is killed and called again, in a process of its own: a script for a test.

It says as JSON, by point, how both calls ended, how many charges there are, in which state, and how
often randomized rows were drawn twice. It runs no compiled loop with threads itself, neither of
polars nor of numba, so that its children may be forked.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

from children import child, drawn_twice, status  # isort: skip

import hushrec as hr
from hushrec.curator.charging import Request
from hushrec.curator.randomize import randomizing
from hushrec.privacy import failpoints, grant

ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


def writes_down_rows(log):
    """Write down what rows were randomized to, before anything else happens with them."""
    randomize = grant.Grant.randomize

    def randomized(self, rows, randomizer):
        made = randomize(self, rows, randomizer)
        parts = made.indptr.tobytes(), made.columns.tobytes(), made.marks.tobytes()
        with log.open("a") as file:
            file.write(json.dumps([rows.name, hashlib.sha256(b"".join(parts)).hexdigest()]) + "\n")
        failpoints.failpoint("after-sample")
        return made

    grant.Grant.randomize = randomized


def killed(folder, point):
    """Kill the verb at a point, and call it again."""
    folder.mkdir()
    hr.Ledger.create(folder / "ledger.db", ROWS, max_releases=2)
    log, out = folder / "drawn", folder / "out.parquet"
    resolve = randomizing(hr.RandomizedResponse(), ROWS)

    def call():
        writes_down_rows(log)
        Request(resolve, ledger=folder / "ledger.db", out=out, accept="share").make(
            hr.synthetic.netflix_like(60, 12, 600, seed=1)
        )

    def first():
        os.environ[failpoints.VARIABLE] = point
        call()

    statuses = [status(child(work)) for work in (first, call)]
    entries = hr.Ledger.open(folder / "ledger.db").entries()
    return {
        "statuses": statuses,
        "charges": len({entry.charge for entry in entries}),
        "states": sorted({entry.state for entry in entries}),
        "drawn twice": drawn_twice(log),
        "draws": len(log.read_text().splitlines()),
        "written": out.exists(),
        "left": len([*folder.glob("*.checkpoints")]),
    }


if __name__ == "__main__":
    grant.sampler()  # proves itself once here, and not in every child
    place, points = Path(sys.argv[1]), sys.argv[2:]
    json.dump({at: killed(place / at, at) for at in points}, sys.stdout)
