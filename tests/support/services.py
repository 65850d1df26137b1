"""Services on ports of their own, for tests that reach them over a network."""

import contextlib
import threading
import time
from types import SimpleNamespace

from hushrec.service import server
from hushrec.service.public_releases import PublicReleases


@contextlib.contextmanager
def running(folder, **settings):
    """The service on a port of its own, in a thread."""
    listening = server.listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    made = server.server(PublicReleases(folder), **settings)
    thread = threading.Thread(target=made.run, args=([listening],), daemon=True)
    thread.start()
    while not made.started:
        time.sleep(0.01)
    try:
        yield SimpleNamespace(port=port, url=f"http://127.0.0.1:{port}", server=made)
    finally:
        made.should_exit = True
        thread.join(30)
