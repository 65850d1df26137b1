"""What a finished release leaves in its ledger."""

from hushrec.privacy.ledger import Ledger
from hushrec.privacy.mechanisms import Grant


def finish(ledger: Ledger, grant: Grant, artefact: bytes = b"factors") -> None:
    ledger.sampled(grant, artefact)
    ledger.published(grant)
