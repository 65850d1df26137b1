"""Fits that are stopped once everything is measured."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger


@contextmanager
def stopped(*, made: bool = False) -> Iterator[list[bytes]]:
    """Stop the one fit of the block at its last record, or just after it if ``made``.

    Yields:
        The release's bytes, once the fit has come so far.
    """
    finish, artefacts = Ledger.finish, list[bytes]()

    def end(ledger: Ledger, grant: Grant, artefact: bytes, carried: str = "") -> None:
        artefacts.append(artefact)
        if made:
            finish(ledger, grant, artefact, carried)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Ledger, "finish", end)
        yield artefacts
    assert len(artefacts) == 1
