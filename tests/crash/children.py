"""Children of a test's script, and what they draw. Nothing here, nor what it imports, starts a thread."""

import hashlib
import json
import os
import signal
import sys
import traceback

from hushrec.privacy import failpoints
from hushrec.privacy.grant import Grant
from hushrec.privacy.sums_on_disk import ChargeSums


def child(work):
    number = os.fork()
    if number == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return number


def status(number):
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def armed(point, passes=1, act=lambda: os.kill(os.getpid(), signal.SIGKILL)):
    """Die, or do something else, when the named point is passed for that time."""
    count, real = 0, failpoints.failpoint

    def failpoint(name):
        nonlocal count
        count += name == point
        if name == point and count == passes:
            act()

    for module in list(sys.modules.values()):
        if getattr(module, "failpoint", None) is real:
            module.failpoint = failpoint


def digest(arrays):
    parts = (
        f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes()
        for name, array in sorted(arrays.items())
    )
    return hashlib.sha256(b"".join(parts)).hexdigest()


def writes_down(log):
    """Write down every value that is drawn, offered to the ledger, and returned, as soon as it is."""
    once, keep, load = Grant._once, ChargeSums.keep, ChargeSums.load

    def note(*line):
        with log.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def measured(self, booked, draw):
        def drawn():
            value = draw()
            note("drawn", booked.name, digest(value))
            return value

        value = once(self, booked, drawn)
        note("returned", booked.name, digest(value))
        return value

    def kept(self, name, arrays, record):
        def offered(sha256):
            note("offered", name, digest(arrays), sha256)
            record(sha256)

        keep(self, name, arrays, offered)

    def loaded(self, name):
        value = load(self, name)
        if value is not None:
            note("returned", name, digest(value))
        return value

    Grant._once, ChargeSums.keep, ChargeSums.load = measured, kept, loaded


def second_values(log, recorded, *, alone=True):
    """The measurements that have another value than the one that the ledger recorded.

    A value may be drawn anew only if the one before was never recorded: what was recorded was drawn last, and
    is all that was ever returned.

    Args:
        recorded: SHA-256 by name of measurement, as the ledger has it.
        alone: whether one process at a time drew. Of two at once, one draws what it cannot have recorded.
    """
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    kept = {name: value for kind, name, value, *sha256 in lines if sha256 == [recorded.get(name)]}
    last = {name: value for kind, name, value, *_ in lines if kind == "drawn"}
    returned = {(name, value) for kind, name, value, *_ in lines if kind == "returned"}
    wrong = {name for name, value in returned if kept.get(name) != value}
    if alone:
        wrong |= {name for name in last.keys() & kept.keys() if last[name] != kept[name]}
    return sorted(wrong | (recorded.keys() - kept.keys()))
