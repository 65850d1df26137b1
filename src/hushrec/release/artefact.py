"""A release: one safetensors file with its statement of privacy, checked before anybody uses it."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors.numpy
from numpy.typing import DTypeLike, NDArray

from hushrec.errors import ReleaseError
from hushrec.release import untrusted_json as facts_of
from hushrec.release.statement import Statement

FORMAT = 1
LARGEST_FILE = 4 * 2**30
LARGEST_RANK = 2048
LARGEST_ID = 256
"""Bytes of an id, as in a domain."""
LARGEST_COUNT = 10**6
"""Of neighbours among people or items."""
DISTANCES = ("squared", "cosine", "pearson")
"""How far apart people are, ‖a − b‖², 1 − cos(a, b) or the same after centring; constant ``distance``."""
_FACTORS = {"user_mean": (-1e30, 1e30), "user_variance": (1e-30, 1e30)}
_NEIGHBOURS = {**_FACTORS, "level_noise": (1e-30, 1e30), "neighbours": (1.0, 1000.0)}
_COUNT = {"neighbours": (1.0, float(LARGEST_COUNT))}
CONSTANTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "factors": _FACTORS,
    "factors and people": _FACTORS,
    "neighbours": _NEIGHBOURS,
    "dense neighbours": _NEIGHBOURS,
    "people's rows": {**_COUNT, "distance": (0.0, len(DISTANCES) - 1.0)},
    "item neighbours": _COUNT,
}
"""Kind of predictor → the constants that it needs, each with its least and largest value."""
KINDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "factors": {"item_effects": ("items",), "item_noise": ("items",), "item_factors": ("items", "rank")},
    "factors and people": {
        "item_effects": ("items",),
        "item_noise": ("items",),
        "item_factors": ("items", "rank"),
        "user_effects": ("people",),
        "user_factors": ("people", "rank"),
    },
    "neighbours": {
        "item_effects": ("items",),
        "item_noise": ("items",),
        "item_factors": ("items", "rank"),
        "similarity_factors": ("items", "similarity rank"),
    },
    "dense neighbours": {
        "item_effects": ("items",),
        "item_noise": ("items",),
        "covariance": ("pairs",),
        "similarity": ("pairs",),
    },
    "people's rows": {"row_starts": ("starts",), "row_items": ("ratings",), "row_steps": ("ratings",)},
    "item neighbours": {"item_means": ("items",), "similarity": ("pairs",)},
}
"""Kind of predictor → its tensors with their dimensions; ``pairs`` is a packed upper triangle."""
DTYPES: Mapping[str, DTypeLike] = {"row_starts": np.int64, "row_items": np.int32, "row_steps": np.uint8}
"""Types of the tensors that are not float32: compressed rows of ratings, each a number of steps above lo."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """Everything that a person needs to predict at home, and what it promises to those it was made from.

    Attributes:
        model: name of the model.
        config: the model's settings.
        kind: how it predicts, a key of ``KINDS``.
        items: item ids, in the order of the tensors' rows.
        scale: (lo, hi, step) of the ratings.
        constants: public numbers that the predictor needs.
        tensors: name → array, float32 unless ``DTYPES`` says otherwise.
        statement: the statement of privacy.
        users: ids of the people whose effects and factors are among the tensors, in the order of the rows;
            empty for kinds without people.

    Raises:
        ReleaseError: The parts do not fit together or are not finite.

    Privacy: public; post-processing of what the statement lists.
    """

    model: str
    config: Mapping[str, Any]
    kind: str
    items: tuple[str, ...]
    scale: tuple[float, float, float]
    constants: Mapping[str, float]
    tensors: Mapping[str, NDArray[Any]]
    statement: Statement
    users: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expected = KINDS.get(self.kind)
        if expected is None or set(self.tensors) != set(expected):
            raise ReleaseError(f"a release of kind {self.kind!r} is not known, or its tensors are others")
        n = len(self.items)
        sizes = {"items": n, "pairs": n * (n + 1) // 2, "people": len(self.users)}
        if bool(self.users) != any("people" in dimensions for dimensions in expected.values()):
            raise ReleaseError(f"a release of kind {self.kind!r} lists people where it should not, or none")
        for name, dimensions in expected.items():
            tensor = self.tensors[name]
            shape = tuple(sizes.setdefault(d, m) for d, m in zip(dimensions, tensor.shape, strict=False))
            dtype = DTYPES.get(name, np.float32)
            if tensor.dtype != dtype or tensor.shape != shape or len(shape) != len(dimensions):
                raise ReleaseError(f"tensor {name} has not the type or shape that it should have")
            if not np.isfinite(tensor).all():
                raise ReleaseError(f"tensor {name} holds numbers that are not finite")
        if "item_noise" in expected and (self.tensors["item_noise"] <= 0).any():
            raise ReleaseError("tensor item_noise holds variances that are not positive")
        lo, hi, step = self.scale
        rank = max(sizes.get("rank", 0), sizes.get("similarity rank", 0))
        if not lo < hi or not step > 0 or rank > min(LARGEST_RANK, max(n, 1)):
            raise ReleaseError("the scale is empty, or there are more factors than any release has")
        for name, (least, most) in CONSTANTS[self.kind].items():
            if not least <= self.constants.get(name, math.nan) <= most:
                raise ReleaseError(f"the constant {name} is missing, or is none that a release has")
        if "row_starts" in expected and not _are_rows(self.tensors, n, (hi - lo) / step):
            raise ReleaseError("the rows do not fit together, or hold an item or a rating that there is not")
        if "distance" in CONSTANTS[self.kind] and self.constants["distance"] % 1:
            raise ReleaseError("the constant distance is none that a release has")
        if not self.model.isprintable() or not all(map(_is_id, (*self.items, *self.users))):
            raise ReleaseError("the model's name or an id holds what is no character, or an id is too long")
        if (
            len(set(self.items)) != n
            or len(set(self.users)) != len(self.users)
            or not np.isfinite([*self.scale, *self.constants.values()]).all()
        ):
            raise ReleaseError("ids repeat, or the scale or a constant is not finite")

    def to_bytes(self) -> bytes:
        """The file's bytes; the same release gives the same bytes."""
        facts = {
            "format": FORMAT,
            "model": self.model,
            "config": dict(self.config),
            "kind": self.kind,
            "items": list(self.items),
            "scale": list(self.scale),
            "constants": dict(self.constants),
            "statement": self.statement.to_json(),
        }
        if self.users:
            facts["users"] = list(self.users)
        facts["sha256"] = _digest(facts, self.tensors)
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        arrays = {name: np.ascontiguousarray(self.tensors[name]) for name in sorted(self.tensors)}
        return safetensors.numpy.save(arrays, {"hushrec": text})

    def save(self, path: str | Path) -> Path:
        """Write the release as one file.

        Args:
            path: ending in ``.safetensors``.

        Returns:
            The path.

        Raises:
            ReleaseError: The name does not end in ``.safetensors``.
        """
        path = Path(path)
        if path.suffix != ".safetensors":
            raise ReleaseError(f"name it {path.name}.safetensors: by that ending its ledger finds it again")
        part = path.with_name(path.name + ".part")
        part.write_bytes(self.to_bytes())
        part.replace(path)
        return path

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The release that these bytes hold.

        Raises:
            ReleaseError: They are no release, were altered, or are of another format.
        """
        try:
            size = int.from_bytes(data[:8], "little")
            facts = _facts(data[8 : 8 + size] if size <= facts_of.LARGEST else b"")
            if facts["format"] != FORMAT:
                raise ReleaseError(
                    f"this is a release of format {facts['format']!r}; upgrade hushrec to read it"
                )
            tensors = safetensors.numpy.load(data)
            release = cls(
                model=str(facts["model"]),
                config=dict(facts["config"]),
                kind=str(facts["kind"]),
                items=tuple(map(str, facts["items"])),
                scale=(float(facts["scale"][0]), float(facts["scale"][1]), float(facts["scale"][2])),
                constants={str(name): float(value) for name, value in facts["constants"].items()},
                tensors=tensors,
                statement=Statement.from_json(facts["statement"]),
                users=tuple(map(str, facts.get("users", ()))),
            )
            intact = facts.pop("sha256") == _digest(facts, tensors)
        except ReleaseError:
            raise
        except Exception:  # whatever a crafted file makes the parsers say, the answer is the same
            if data[:4] == b"PAR1":
                raise ReleaseError(
                    "this is a table, and no release; if it is a released data set, fit a model on it first "
                    "(hushrec fit)"
                ) from None
            raise ReleaseError("this is not a hushrec release, or it was damaged; fetch it again") from None
        if not intact:
            raise ReleaseError("the release was altered after it was written; fetch it again")
        return release

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read and check a release.

        Raises:
            ReleaseError: The file is missing, too large, no release, or altered.
        """
        path = Path(path)
        try:
            size = path.stat().st_size
            if not (path.is_file() or path.is_dir()):
                raise ReleaseError(f"{path} is not a file, and may never end; name the release itself")
            if size > LARGEST_FILE:
                raise ReleaseError(f"{path} is larger than any release may be")
            return cls.from_bytes(path.read_bytes())
        except OSError as error:
            raise ReleaseError(f"{path} cannot be read: {error.strerror}") from None

    def __repr__(self) -> str:
        people = f"{len(self.users):,} people, " if self.users else ""
        return (
            f"Release({self.model}, {len(self.items)} items, {people}{str(self.statement).splitlines()[0]})"
        )


def _facts(header: bytes) -> Any:
    """What the header of a safetensors file holds under our name; beside it there are a few tensors."""
    outer = facts_of.parse(header.decode(), strings=0, others=1 << 14)
    return facts_of.parse(outer["__metadata__"]["hushrec"])


def _are_rows(tensors: Mapping[str, NDArray[Any]], n_items: int, most: float) -> bool:
    """Whether these are compressed rows of items, ascending in each, with ratings on the scale."""
    starts, items, steps = (tensors[name] for name in ("row_starts", "row_items", "row_steps"))
    if not len(starts) or starts[0] != 0 or starts[-1] != len(items) or starts.min() < 0:
        return False
    falls = np.flatnonzero(items[1:] <= items[:-1]) + 1  # any step that does not ascend leads to a new row
    return bool(
        (np.diff(starts) >= 0).all()
        and items.min(initial=0) >= 0
        and items.max(initial=-1) < n_items
        and steps.max(initial=0) <= most + 1e-6
        and np.isin(falls, starts).all()
    )


def _is_id(name: str) -> bool:
    try:
        return 1 <= len(name.encode()) <= LARGEST_ID
    except UnicodeEncodeError:
        return False


def _digest(facts: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over everything in the file: finds damage and careless edits, not a forger, who updates it."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name}{tensors[name].shape}".encode())
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()
