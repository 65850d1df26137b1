"""What a finished release leaves in its ledger."""

from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger


def finish(ledger: Ledger, grant: Grant, artefact: bytes = b"factors") -> None:
    ledger.sampled(grant, artefact)
    ledger.published(grant)
