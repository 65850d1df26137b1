"""Pipes, from which bytes can be read once."""

import contextlib
import os
import threading


@contextlib.contextmanager
def piped(path, content):
    """A pipe into which a thread writes, as often as somebody reads."""
    os.mkfifo(path)

    def write():
        with contextlib.suppress(BrokenPipeError), path.open("wb") as pipe:
            for part in content:
                pipe.write(part)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path
    writer.join()
