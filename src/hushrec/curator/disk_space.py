"""Room on disk for what a charge makes, held from before the charge until it is written."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hushrec.data.domain import Domain
from hushrec.data.item_design import described
from hushrec.data.people import People
from hushrec.errors import ReleaseError
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.released_data import LARGEST_STORED
from hushrec.privacy.accounting.events import Responses
from hushrec.privacy.accounting.plan import Plan
from hushrec.sums.footprint import in_bytes

_ENTRY = 8
"""Bytes of a measured entry: a float64. Releases store float32."""
_BESIDE = 32
"""Entries of a row of factors in addition to the factors: means, deviations and moments."""
_FRAME = 1 << 20
"""Bytes for what does not grow with the catalogue: the statement, settings and headers."""
_CELL = 8
"""Bytes of a data set's cell in Parquet. Compressed, it takes some two."""
_LINE = 32
"""Bytes of a data set's cell in CSV without the item's id: the user's number, the rating, and commas."""


class DiskSpace:
    """Space of a disk that a file without a name holds: nothing of it is left, however the process ends.

    Args:
        size: in bytes.
        private: whether the size follows from the records, so that no message may show it.
    """

    def __init__(self, folder: Path, size: int, *, private: bool = False) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        try:
            if hasattr(os, "posix_fallocate"):  # not on macOS, where nothing is held
                os.posix_fallocate(self._file.fileno(), 0, size)
        except OSError as error:
            self.close()
            takes = "" if private else f": this release takes up to {in_bytes(size)} there"
            raise ReleaseError(
                f"the disk of the folder {folder.resolve().name} has too little room ({error.strerror})"
                f"{takes}. Nothing was charged; make room, and try again"
            ) from None

    def free(self) -> None:
        """Give the room to what it was held for."""
        self._file.truncate(0)

    def close(self) -> None:
        self._file.close()


@contextmanager
def reserved(place: Path | None, size: int, *, private: bool = False) -> Iterator[Callable[[], None]]:
    """Hold room on a disk until the block ends, or until what it yields is called to free it.

    Args:
        place: a file or folder that will be written, there already or not; None for nothing to hold.
        size, private: as of ``DiskSpace``.
    """
    if place is None or not size:
        yield lambda: None
        return
    folder = next(one for one in (place, *place.absolute().parents) if one.is_dir())
    with closing(DiskSpace(folder, size, private=private)) as room:
        yield room.free


def require_writable(out: Path, *suffixes: str) -> None:
    """Refuse an output file, before anything is done, that could not be written afterwards."""
    if out.suffix not in suffixes:
        named = " or ".join(f"{out.name}{suffix}" for suffix in suffixes)
        raise ReleaseError(f"-o {out}: its ending says the format; name it {named}")
    if out.exists():
        raise ReleaseError(f"{out} exists; choose another file with -o")
    if not (out.parent.is_dir() and os.access(out.parent, os.W_OK)):
        raise ReleaseError(f"{out.parent} is not a writable folder; choose another file with -o")


def release_size(model: Model, planned: Plan, domain: Domain) -> int:
    """The most bytes that a release takes, by what is public.

    A model of rank k stores a row of some k entries for each item, for each user whom it lists, and, of
    interactions, for each value of a feature; any other stores at most as many entries as it measured.

    Args:
        domain: the public domain, whose ids, titles and features it carries.
    """
    text = len(domain.model_dump_json(exclude_none=True).encode())
    rank = getattr(model, "rank", None)
    if not rank:
        return _FRAME + 2 * text + _ENTRY * measured_entries(planned)
    n_rows, entries = domain.n_items + domain.n_users, 0
    if domain.feedback == "interactions":
        for group in described(domain.titles or (), domain.features or {}).features:
            n_rows += len(group.labels)
            entries += group.table.nnz
            text += sum(len(f"{group.name}{value}".encode()) for value in group.shown)
    return _FRAME + 2 * text + _ENTRY * int(n_rows * (2 * rank + _BESIDE) + entries)


def measured_entries(planned: Plan) -> int:
    """Count the entries that a plan measures, without those whose number is private."""
    return sum(max(event.size, 0) for event in planned.events)


def kept_size(planned: Plan) -> int:
    """The most bytes that a checkpoint takes: every measured value."""
    return _FRAME + _ENTRY * measured_entries(planned)


def data_size(planned: Plan, people: People, suffix: str = "") -> int:
    """The most bytes that a data set takes in a file, or in a ledger, which keeps only facts of a large one.

    Args:
        people: whose rows.
        suffix: of the file; empty for a ledger.

    Privacy: private; it follows from how many people or ratings there are.
    """
    (event,) = planned.events
    rows = people.domain.n_users or people.n_users
    cells = rows * event.size if isinstance(event, Responses) else people.n_entries
    each = _CELL
    if suffix == ".csv":
        each = _LINE + max(len(item.encode()) for item in people.domain.items)
    text = len(people.domain.model_dump_json(exclude_none=True).encode())
    return _FRAME + 2 * text + each * (cells if suffix else min(cells, LARGEST_STORED))
