"""Work in a forked child, and how it ended."""

import os
import sys
import traceback
from collections.abc import Callable


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
    """Exit status of a child; minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
