"""The day of a charge, by the clock of this machine: it is written down and decides nothing."""

from datetime import UTC, datetime


def today() -> str:
    """The day in UTC, as in 2026-11-22."""
    return datetime.now(UTC).date().isoformat()
