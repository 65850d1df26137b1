"""Fits that are stopped, and what becomes of the same call afterwards: a script for the tests beside it.

It reads plays as JSON, by name, and says as JSON what became of each. It runs no compiled loop with threads
itself, neither of DuckDB nor of numba, so that its children may be forked.

    stopped.py FOLDER < plays.json
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from children import armed, child, second_values, status, writes_down  # isort: skip

import hushrec as hr
from hushrec import files
from hushrec.curator.charging import charged
from hushrec.curator.fit import recipe
from hushrec.curator.randomize import data_recipe
from hushrec.curator.stopped_fits import stopped_fits, sums_of
from hushrec.errors import ChargeUnpublished, GrantError, LedgerError, LedgerStale, SumsError
from hushrec.privacy.grant import sampler
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.sums_on_disk import ChargeSums

USERS = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")


@functools.cache
def data():
    """Made in each child."""
    return hr.synthetic.netflix_like(60, 12, 600, seed=int(os.environ.get("SEED", "1")))


def of_model(model):
    return USERS, lambda stopped: recipe(data().facts, model, USERS, None, stopped)


VERBS = {
    "descent": of_model(hr.UserLevelSGD(rank=2, epochs=3)),
    "branches": of_model(hr.AdaptiveFactors()),
    "draw": of_model(hr.PosteriorSampleMF(rank=2, chain={"epochs": 5})),
    "effects": of_model(hr.GlobalEffects()),
    "covariance": of_model(hr.CovarianceSVD(rank=2, covariance={"pair_items": 6})),
    "rows": (ROWS, lambda stopped: data_recipe(data().facts, hr.RandomizedResponse(), ROWS)),
}
FAULTS = {
    "nothing comes back": lambda: setattr(ChargeSums, "load", lambda sums, name: None),
    "nothing is recorded": lambda: setattr(Ledger, "_record", lambda *_, **__: None),
    "nothing is settled": lambda: setattr(ChargeSums, "settle", lambda sums, recorded: None),
}
STALE, REFUSED = 3, 4


class Play:
    """One verb and one ledger in a folder of its own."""

    def __init__(self, folder, verb, place=None):
        (folder / "made").mkdir(parents=True)  # where the ledger does not look for releases
        (self.budget, self.recipe), self.folder = VERBS[verb], folder
        self.place, self.sums, self.log = place or str(folder / "ledger.db"), folder / "sums", folder / "log"
        self.out = folder / "made" / ("out.parquet" if verb == "rows" else "out.safetensors")

    def started(self):
        total = self.budget.model_copy(update={"epsilon": 10 * self.budget.epsilon})
        with contextlib.suppress(LedgerError):  # it was created before
            Ledger.create(self.place, total, max_releases=9)
        return Ledger.open(self.place)

    def call(self, sums=None, out=None):
        """As the command line does; it refuses a file that exists."""
        with stopped_fits(self.started(), sums or self.sums) as stopped:
            made = self.recipe(stopped)
            charged(data(), made, stopped, accept="share", save=lambda one: one.save(out or self.out))

    def watched(self, *how):
        writes_down(self.log)
        self.call(*how)

    def refusing(self, *how):
        """The same in a child, whose status tells refusals from failures."""
        try:
            self.call(*how)
        except LedgerStale:
            os._exit(STALE)
        except (ChargeUnpublished, GrantError, SumsError):
            os._exit(REFUSED)

    def told(self, statuses, *, alone=True):
        charges = self.charges()
        recorded = {name: sha256 for charge in charges for name, sha256 in charge.measured.items()}
        return {
            "statuses": statuses,
            "charges": len(charges),
            "states": sorted(charge.state for charge in charges),
            "measured": len(recorded),
            "second values": second_values(self.log, recorded, alone=alone),
            "written": hashlib.sha256(self.out.read_bytes()).hexdigest() if self.out.exists() else None,
            "stored": [
                hashlib.sha256(self.started().artefact(charge.release_index)).hexdigest()
                for charge in charges
                if charge.state == "made"
            ],
            "left": [*map(str, self.sums.glob("*-*/"))],
        }

    def charges(self):
        return Ledger.open(self.place).state().charges


def killed(play, point, passes=1, fault=None, created=True):
    """Kill a call at a point, and repeat it."""

    def first():
        armed(point, passes)
        play.watched()

    def second():
        if fault:
            FAULTS[fault]()
        play.watched()

    if created:
        play.started()
    return play.told([status(child(work)) for work in (first, second)])


def hounded(play, delays):
    """Kill a call after each delay in turn, and repeat it until it has written its file."""
    play.started()
    statuses = []
    for delay in [*delays, None]:
        if not play.out.exists():
            number = child(play.watched)
            if delay is not None:
                time.sleep(delay)  # at any moment
                os.kill(number, signal.SIGKILL)
            statuses.append(status(number))
    return play.told(statuses)


def restored(play, point):
    """Kill a call at a point, or not, put the ledger of before back, and repeat it twice."""
    play.started()
    shutil.copy(play.place, play.folder / "backup")

    def first():
        armed(point)
        play.call()

    statuses = [status(child(first))]
    shutil.copy(play.folder / "backup", play.place)
    statuses += [status(child(play.refusing)) for _ in range(2)]
    return {"statuses": statuses, "charges": len(play.charges())}


def copied(play, point, passes=1):
    """Kill a call, copy its sums as to another host, and repeat it from both at once."""
    play.started()
    play.log.touch()

    def first():
        armed(point, passes)
        play.watched()

    def again(sums, out):
        writes_down(play.log)
        play.refusing(sums, out)

    statuses = [status(child(first))]
    elsewhere = play.folder / "elsewhere"
    shutil.copytree(play.sums, elsewhere)
    hosts = (play.sums, play.out), (elsewhere, play.out.with_stem("other"))
    children = [child(lambda host=host: again(*host)) for host in hosts]
    statuses += [status(number) for number in children]
    return play.told(statuses, alone=False) | {
        "files": sorted({hashlib.sha256(out.read_bytes()).hexdigest() for _, out in hosts if out.exists()})
    }


def changed(play, point):
    """Kill a call at a point, and repeat it with other people's ratings, and then with the same."""
    play.started()

    def first():
        armed(point)
        play.watched()

    def others():
        os.environ["SEED"] = "2"
        writes_down(play.log)
        play.refusing()

    return play.told([status(child(work)) for work in (first, others, play.watched)])


def forfeited(play, point, passes=1):
    """Another process gives the charge up while the call measures."""
    play.started()

    def give_up():
        assert status(child(lambda: Ledger.open(play.place).forfeit(0))) == 0

    def first():
        armed(point, passes, give_up)
        writes_down(play.log)
        play.refusing()

    return play.told([status(child(first)), status(child(play.call))])


def raced(play, processes):
    """So many processes make the same call at once: each has a charge and a release of its own."""
    play.started()
    children = [child(lambda n=n: play.call(None, play.out.with_stem(f"out{n}"))) for n in range(processes)]
    found = play.told([status(number) for number in children])
    files = play.out.parent.glob(f"*{play.out.suffix}")
    return found | {"files": sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)}


def left_alone(play):
    """Kill a call that forked a child which lives on, and repeat it."""
    play.started()
    (held, holding), (ready, start) = os.pipe(), os.pipe()

    def parent():
        def die():
            if os.fork() == 0:
                os.close(holding)  # its own end: it lives until the script closes the other one
                os.write(start, b"x")
                os.read(held, 1)
                os._exit(0)
            os.read(ready, 1)
            os.kill(os.getpid(), signal.SIGKILL)

        armed("after-record", act=die)
        play.watched()

    statuses = [status(child(parent)), status(child(play.watched))]
    os.close(holding)
    return play.told(statuses)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dying(step):
    """Die at a step that no failpoint names, of a release that hands its sums over."""
    hand_over, publish, fixed = ChargeSums.hand_over, files.publish, ChargeSums.fixed

    def published(draft, place):
        if place.suffix == ".carried":
            die()
        publish(draft, place)

    steps = {
        "before-fixed": (ChargeSums, "fixed", lambda *_: die()),
        "after-fixed": (ChargeSums, "fixed", lambda *rest: fixed(*rest) and die()),
        "before-hand-over": (ChargeSums, "hand_over", lambda *_: die()),
        "inside-hand-over": (files, "publish", published),
        "after-hand-over": (ChargeSums, "hand_over", lambda *rest: hand_over(*rest) and die()),
        "before-finish": (Ledger, "finish", lambda *_: die()),
        "before-remove": (ChargeSums, "remove", lambda *_: die()),
        "inside-remove": (Path, "rename", lambda *_: die()),
    }
    setattr(*steps[step])


class Year(Play):
    """Releases that take over each other's sums: each with a log and a file of its own."""

    def __init__(self, *how):
        super().__init__(*how)
        self.turn = -1
        self.next()

    def next(self):
        self.turn += 1
        self.log, self.out = self.folder / f"log{self.turn}", self.out.with_stem(f"out{self.turn}")

    def handed(self, charge):
        """The sums that a charge handed over, if they are as the ledger has them."""
        return sums_of(self.started(), self.sums).carried(charge.sums, charge.carried)

    def crowds(self, charge):
        """The crowds that a made release holds, one for each release that is inside."""
        carried = self.handed(charge)
        return carried and carried.arrays["crowd.sizes"].tolist()

    def of(self, charge, turn):
        """What became of a charge."""
        out, log = self.out.with_stem(f"out{turn}"), self.folder / f"log{turn}"
        state, made = self.started().state(), charge.state == "made"
        before = [state.made(index) for index in charge.year.releases]
        return {
            "state": charge.state,
            "measured": len(charge.measured),
            "second values": second_values(log, charge.measured),
            "inside": [*charge.year.releases],
            "spent": charge.year.spent - sum(one.cost for one in before),
            "crowds": self.crowds(charge) if made else None,
            "crowds before": self.crowds(before[-1]) if before else [],
            "written": made
            and out.exists()
            and hashlib.sha256(out.read_bytes()).hexdigest()
            == hashlib.sha256(self.started().artefact(charge.release_index)).hexdigest(),
        }

    def story(self, statuses):
        here = {path.stem.rpartition("-")[2] for path in self.sums.glob("*.carried")}
        return {
            "statuses": statuses,
            "charges": [self.of(charge, turn) for turn, charge in enumerate(self.charges())],
            "handed": sorted(here) == sorted(one.sums for one in self.charges() if one.state == "made"),
            "left": [*map(str, self.sums.glob("*-*/"))],
        }


def continued(year, point, passes=1, fault=None):
    """Kill the second release of a year at a point, and repeat it; then make the third."""

    def second():
        dying(point) if "hand" in point or point in STEPS else armed(point, passes)
        year.watched()

    def again():
        if fault:
            FAULTS[fault]()
        year.watched()

    statuses = [status(child(year.watched))]
    year.next()
    statuses += [status(child(work)) for work in (second, again)]
    year.next()
    return year.story([*statuses, status(child(year.watched))])


def continued_anew(year, point):
    """Kill the second release of a year at a point, give its charge up, and make two more."""

    def second():
        dying(point)
        year.watched()

    statuses = [status(child(year.watched))]
    year.next()
    statuses.append(status(child(second)))
    lost = year.out
    statuses.append(status(child(lambda: Ledger.open(year.place).forfeit(1))))
    assert not lost.exists()
    for _ in range(2):
        year.next()
        statuses.append(status(child(year.watched)))
    return year.story(statuses)


def continued_while_hounded(year, delays):
    """Make a year of three; kill each of them after these delays, and repeat it until it is made."""
    statuses = []
    for delay in [*delays, None, None]:
        if year.out.exists() and [*year.sums.glob("*-*/people")]:
            year.out.unlink()  # killed before the folder went: the same call writes the same file again
        elif year.out.exists():
            year.next()
        number = child(year.watched)
        if delay is not None:
            time.sleep(delay)
            os.kill(number, signal.SIGKILL)
        statuses.append(status(number))
    return year.story(statuses)


STEPS = "before-fixed", "after-fixed", "before-finish", "before-remove", "inside-remove"
YEARS = continued, continued_anew, continued_while_hounded
PLAYS = {
    play.__name__: play
    for play in (killed, hounded, restored, copied, changed, forfeited, raced, left_alone, *YEARS)
}


def main(root):
    sampler()  # proves itself once here, and not in every child
    os.chdir(root)
    found = {}
    for name, facts in json.load(sys.stdin).items():
        verb, what, place = facts.pop("verb"), facts.pop("play"), facts.pop("place", None)
        played = PLAYS[what]
        found[name] = played((Year if played in YEARS else Play)(root / name, verb, place), **facts)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
