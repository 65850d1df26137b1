"""A checkpoint that is bound to a fit, as every fit begins with one."""

from pathlib import Path

from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.ledger import Ledger

FIT = {"ratings": "a digest", "settings": "a plan"}
"""What the fit is of."""


def bound(folder: Path, ledger: Ledger | None = None, **other: str) -> Checkpoint:
    """The folder's checkpoint, bound to ``FIT`` but for what is named; closed again where it refuses that."""
    checkpoint = Checkpoint(folder)
    try:
        checkpoint.bind(FIT | other, ledger.id if ledger else "")
    except CheckpointError:
        checkpoint.close()
        raise
    return checkpoint
