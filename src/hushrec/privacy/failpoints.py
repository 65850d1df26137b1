"""Named points where tests crash the process. Only this module reads the environment variable.

With HUSHREC_FAILPOINT set to a name, the process kills itself (SIGKILL: no cleanup, as in a power cut) when
it reaches that point. The points, in the order in which a release reaches them: inside-create, before-charge,
inside-charge, after-charge, after-mark; for each value after-draw, after-draft, inside-record, after-record,
after-keep; then inside-finish and after-finish.
"""

import os
import signal

VARIABLE = "HUSHREC_FAILPOINT"


def failpoint(name: str) -> None:
    """Kill the process here if the environment variable names this point."""
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
