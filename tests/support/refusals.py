"""What a source gives; or that it is refused, and nothing private hangs on the refusal."""

from pathlib import Path
from typing import Any

import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading
from hushrec.errors import DataError

SECRET = "SECRET"
"""How every cell begins that no message may hold."""
DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99)


def rows_of(people: Any) -> list[tuple[Any, ...]]:
    """The rows of people, each a tuple of their cells."""
    return [tuple(row.values()) for row in people.table().to_pylist()]


def rows(source: Any, domain: Domain = DOMAIN, **options: Any) -> list[tuple[Any, ...]]:
    """The rows of the people whom a source holds."""
    return rows_of(load(source, domain, Reading(**options)))


def refused(source: Any, domain: Domain = DOMAIN, **options: Any) -> str:
    """The message of the refusal, the same in memory and on disk, without a cell on the exception."""
    said = set()
    for where in ("memory", "disk") if isinstance(source, Path) and source.is_file() else ("memory",):
        with pytest.raises(DataError) as caught:
            load(source, domain, Reading(**options), where=where)
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None, "an error hangs on it, whose message may hold cells"
        assert SECRET not in str(error) + repr(error)
        said.add(str(error))
    (message,) = said
    return message
