"""Children of a test's script, and what they draw. Nothing here, nor what it imports, starts a thread."""

import hashlib
import json
import os
import traceback

from hushrec.privacy import grant


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


def writes_down_noise(log):
    """Write down what is drawn, before anything else happens with it."""
    add = grant._add_noise

    def add_noise(steps, event, key):
        before = steps.copy()
        add(steps, event, key)
        drawn = hashlib.sha256((steps - before).tobytes()).hexdigest()
        with log.open("a") as file:
            file.write(json.dumps([event.name, drawn]) + "\n")

    grant._add_noise = add_noise


def drawn_twice(log):
    """The measurements whose noise differs between two draws."""
    lines = [tuple(json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []
    names = [name for name, _ in set(lines)]
    return sorted({name for name in names if names.count(name) > 1})
