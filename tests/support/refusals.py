"""A file or table that cannot be read is refused, and nothing private hangs on the refusal."""

from typing import Any

import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.reading import Reading
from hushrec.errors import DataError

SECRET = "SECRET"
"""How every cell begins that no message may hold."""
DOMAIN = Domain(["10", "20", "30"], scale=(1, 5, 1), max_users=99)


def refused(source: Any, **options: Any) -> str:
    """The message of the refusal, after a check that nothing private hangs on the exception."""
    with pytest.raises(DataError) as caught:
        load(source, DOMAIN, Reading(**options))
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None, "a polars error hangs on it, whose message may hold cells"
    assert SECRET not in str(error) + repr(error)
    return str(error)
