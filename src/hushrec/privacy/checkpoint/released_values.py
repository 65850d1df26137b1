"""Released values in a checkpoint: on disk before anything is computed from them, equal in every run."""

from typing import Any, cast

from numpy.typing import NDArray

from hushrec.privacy.accounting.events import Event
from hushrec.privacy.bounded import Noisy, NoisyMatrix
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, Fact

_PREFIX = "released: "


def save(checkpoint: Checkpoint, noisy: Noisy | NoisyMatrix) -> None:
    """Store a released value on disk.

    Privacy: the value is public; its folder is private.
    """
    arrays: dict[str, NDArray[Any]] = {"values": noisy.values}
    facts: dict[str, Fact] = {"sigma": noisy.sigma, "step": noisy.step}
    if isinstance(noisy, NoisyMatrix):
        rows, columns = noisy.shape
        arrays |= {"indptr": noisy.indptr, "columns": noisy.columns}
        facts |= {"rows": rows, "columns": columns}
    checkpoint.save_state(_PREFIX + noisy.name, arrays, facts)


def load(checkpoint: Checkpoint, event: Event) -> Noisy | NoisyMatrix | None:
    """The value that was released for an event, or None if it is not on disk.

    Privacy: charged (``event``).
    """
    state = checkpoint.load_state(_PREFIX + event.name)
    if state is None:
        return None
    arrays, facts = state.arrays, state.facts
    sigma, step = float(facts["sigma"]), float(facts["step"])
    if "indptr" not in arrays:
        return Noisy(event.name, arrays["values"], sigma, step, event)
    shape = cast(int, facts["rows"]), cast(int, facts["columns"])
    parts = arrays["indptr"], arrays["columns"], arrays["values"]
    return NoisyMatrix(event.name, shape, *parts, sigma, step, event)
