"""The sources of a command, in one line."""

import pytest

from hushrec.cli.options import Given
from hushrec.errors import DataError


def test_the_first_source_stands_for_all():
    assert Given().described(["ratings/a.csv"]) == "a.csv"
    assert Given().described(["ratings/a.csv", "b/*.csv", "c"]) == "a.csv and 2 more"


def test_an_address_is_refused_without_its_password():
    with pytest.raises(DataError, match="an address with :// is not read") as caught:
        Given().load(["postgresql://ann:hunter2@host/db"], None)
    assert "hunter2" not in str(caught.value)
