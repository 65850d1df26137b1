"""A folder of people whose rows exceed memory, and where private rows lie for a while.

::

    manifest.json      the format, the domain's digest, the counts of dropped records; for each array, its
                       length and the SHA-256 of its bytes
    users.bin          ids of the users, UTF-8, one after the other, uint8
    user_ends.bin      where the first id starts, then where each ends, int64
    indptr.bin, items.bin, values.bin, timestamps.bin, personal_epsilon.bin     the arrays of ``People``

The files are private: only their owner may read them.

Privacy: private.
"""

import hashlib
import json
import os
from contextlib import ExitStack, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrec import files
from hushrec.arrays import Bytes, Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.readers.sources import MANIFEST
from hushrec.errors import DataError
from hushrec.progress import fraction

FORMAT = "hushrec people 5"
TYPES = {
    "users": np.uint8,
    "user_ends": np.int64,
    "indptr": np.int64,
    "items": np.int32,
    "values": np.uint8,
    "timestamps": np.int64,
    "personal_epsilon": np.float64,
}
ENTRIES = ("items", "values", "timestamps")
"""The arrays with a value for each entry."""


def bounds(domain: Domain) -> tuple[int, int | None]:
    """Return the smallest and the largest of ``People.values`` under a domain; None if it has no values."""
    if domain.feedback == "ratings":
        return 0, domain.scale.n_values - 1
    return 1, domain.counts


class Folder:
    """A folder of people while it is written, array by array, in any number of parts.

    Args:
        folder: empty, for the files.

    Privacy: private.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[BinaryIO, Any]] = {}
        self._lengths: dict[str, int] = {}
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def add(self, name: str, part: NDArray[Any]) -> None:
        """Append a part of an array; an empty one makes the array known."""
        if name not in self._open:
            path = self._folder / f"{name}.bin"
            file: BinaryIO = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
            self._open[name] = self._files.enter_context(file), hashlib.sha256()
            self._lengths[name] = 0
        dtype = np.dtype(TYPES[name]).newbyteorder("<")
        file, digest = self._open[name]
        data = np.ascontiguousarray(part, dtype=dtype).data
        file.write(data)
        digest.update(data)
        self._lengths[name] += len(part)

    def finish(
        self, domain: Domain, users: Any, indptr: Ints, personal_epsilon: Floats | None, dropped: Dropped
    ) -> None:
        """Write what is known of each user, close the files, and write the manifest."""
        ids, ends = encoded(users)
        self.add("users", ids)
        self.add("user_ends", ends)
        self.add("indptr", indptr)
        if personal_epsilon is not None:
            self.add("personal_epsilon", personal_epsilon)
        arrays = {}
        for name, (file, digest) in self._open.items():
            file.close()
            arrays[name] = {"length": self._lengths[name], "sha256": digest.hexdigest()}
        manifest = {"format": FORMAT, "domain": domain.digest, "dropped": asdict(dropped), "arrays": arrays}
        path = self._folder / MANIFEST
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(json.dumps(manifest, indent=1).encode())


def manifest_of(folder: Path) -> Any:
    manifest: Any = None
    with suppress(OSError, ValueError, RecursionError):
        manifest = json.loads((folder / MANIFEST).read_bytes())
    if isinstance(manifest, dict) and manifest.get("format", FORMAT) != FORMAT:
        raise DataError(f"{folder} is of another version of hushrec; load the records again")
    try:
        manifest = {
            "domain": str(manifest["domain"]),
            "dropped": {field.name: int(manifest["dropped"][field.name]) for field in fields(Dropped)},
            "arrays": {
                name: {"length": int(stored["length"]), "sha256": str(stored["sha256"])}
                for name, stored in manifest["arrays"].items()
            },
        }
        known = set(TYPES) >= set(manifest["arrays"]) >= {"users", "user_ends", "indptr", "items"}
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        known = False
    if not known:
        raise damaged(folder)
    return manifest


def opened(folder: Path, domain: Domain) -> dict[str, Any]:
    """Return the fields of ``People`` in a folder, with arrays mapped from its files.

    Raises:
        DataError: there are none, they are damaged, or they were written for another domain.
    """
    manifest = manifest_of(folder)
    if manifest["domain"] != domain.digest:
        raise DataError(f"{folder} was loaded for another domain; open it with that one, or load again")
    arrays: dict[str, Any] = {
        name: mapped(folder / f"{name}.bin", np.dtype(TYPES[name]), 0, stored["length"])
        for name, stored in manifest["arrays"].items()
    }
    ends, entries = arrays.pop("user_ends"), {name for name in ENTRIES if name in arrays}
    ids, (_, highest) = arrays.pop("users"), bounds(domain)
    starts = arrays["indptr"]
    fits = (
        len(ends) == len(starts) > 0
        and starts[0] == 0
        and bool((starts[1:] > starts[:-1]).all())
        and all(len(arrays[name]) == starts[-1] for name in entries)
        and (highest is None) == ("values" not in arrays)
        and len(arrays.get("personal_epsilon", starts[1:])) == len(starts) - 1
    )
    if not fits:
        raise damaged(folder)
    with suppress(ValueError):
        users = decoded(ids, ends)
        return {"users": users, **arrays, "dropped": Dropped(**manifest["dropped"]), "folder": folder}
    raise damaged(folder)


def mapped(path: Path, dtype: Any, start: int, length: int) -> NDArray[Any]:
    """Map entries of a file of an array, which may have none.

    Raises:
        DataError: the file is missing or too short.
    """
    dtype = np.dtype(dtype)
    with suppress(OSError, ValueError, OverflowError):
        if path.stat().st_size >= (start + length) * dtype.itemsize:
            if not length:
                return np.zeros(0, dtype)
            little = dtype.newbyteorder("<")
            return np.memmap(path, little, "r", start * dtype.itemsize, (length,)).astype(dtype, copy=False)
    raise DataError(f"{path} is missing, damaged or cut short; load the records again")


def damaged(folder: Path) -> DataError:
    return DataError(f"{folder} holds no people, or is damaged; load the records again")


def encoded(users: Any) -> tuple[Bytes, Ints]:
    """Return the bytes of all ids, and where the first starts and each ends."""
    _, ends, data = users.buffers()
    offsets = np.frombuffer(ends, np.int64) if ends else np.zeros(1, np.int64)
    offsets = offsets[users.offset : users.offset + len(users) + 1]
    if not len(users):
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    text = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return text[offsets[0] : offsets[-1]], offsets - offsets[0]


def decoded(ids: Bytes, ends: Ints) -> Any:
    """Return user ids as Arrow text from what ``encoded`` returns.

    Raises:
        ValueError: they do not fit together, or are not UTF-8.
    """
    if not len(ends) or ends[0] != 0 or ends[-1] != len(ids) or (ends[1:] < ends[:-1]).any():
        raise ValueError
    users = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(ids))
    users.validate(full=True)
    return users


def verify(folder: Path) -> None:
    """Read every file of a folder, and compare its hash with the manifest.

    Raises:
        DataError: a file differs from what was written. Names the file.
    """
    arrays = manifest_of(folder)["arrays"]
    with fraction("verifying") as progress:
        for number, (name, stored) in enumerate(arrays.items()):
            path, digest = folder / f"{name}.bin", None
            with suppress(OSError):
                digest = files.sha256(path)
            if digest != stored["sha256"]:
                raise DataError(f"{path} is not what was written; load the records again")
            progress.reach(number + 1, len(arrays))
