"""Places where a crash is rehearsed. A test hook, and the only place that reads its variable.

With HUSHREC_FAILPOINT set to a name, the process kills itself (SIGKILL: no cleanup, as in a power cut) when
it comes by that name. Names, in the order in which a release passes them: inside-create, before-charge,
inside-charge, after-charge, after-sample, inside-store, after-store, after-publish. With a checkpoint also
after-key and after-bind before the charge, inside-keep and after-keep after every sample, and after-shred.
"""

import os
import signal

VARIABLE = "HUSHREC_FAILPOINT"


def failpoint(name: str) -> None:
    """Die here if the environment says so. Nothing else ever depends on it.

    Privacy: public.
    """
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
