"""What a release of a year hands to the next: combined sums, and the lens that they were measured under."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hushrec.errors import SumsError

Arrays = Mapping[str, NDArray[Any]]
FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """Combined sums of the releases of a year, for a catalogue.

    Args:
        items: ids of the catalogue's items, in order.
        arrays: averages, their variances, and integers of the lens, by name; the model says which.

    Privacy: post-processing of released values.
    """

    items: tuple[str, ...]
    arrays: Arrays

    def save(self, path: Path) -> None:
        """Write a file."""
        about = {"format": str(FORMAT), "items": json.dumps(self.items)}
        arrays = {name: np.ascontiguousarray(array) for name, array in self.arrays.items()}
        safetensors.numpy.save_file(arrays, path, about)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a file that ``save`` wrote, whose digest the ledger knows.

        Raises:
            SumsError: It has another format.
        """
        with safetensors.safe_open(path, "numpy") as file:
            about = file.metadata() or {}
            if about.get("format") != str(FORMAT):
                raise SumsError(
                    "the sums of the release before have another format; leave them out with fresh=True "
                    "(--fresh), which costs accuracy and no ε"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        return cls(tuple(json.loads(about["items"])), arrays)
