import pytest

from hushrec.data.domain import Domain


@pytest.fixture
def domain() -> Domain:
    """Three items, ratings 1 to 5."""
    return Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3)
