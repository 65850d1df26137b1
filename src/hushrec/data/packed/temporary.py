"""A temporary folder for private ratings, deleted after use."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from weakref import finalize

from hushrec.errors import DataError
from hushrec.files import draft

__all__ = ["Temporary"]


class Temporary:
    """A folder for private ratings among the temporary files of this machine, which only its owner may read.

    It is deleted when it is closed or forgotten, or when the program ends; if the program is killed, the next
    program that makes such a folder deletes it.

    Privacy: private.
    """

    def __init__(self) -> None:
        resources = ExitStack()
        try:
            self.folder = resources.enter_context(draft(Path(tempfile.gettempdir()) / "ratings"))
        except OSError as error:
            reason = f"temporary files cannot be written: {error.strerror}"
            raise DataError(f"{reason}; name another folder for them in TMPDIR") from None
        self._end = finalize(self, _closed, resources, os.getpid())

    def close(self) -> None:
        self._end()


def _closed(resources: ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # not in a copy of the process
        resources.close()
