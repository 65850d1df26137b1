"""Settings: frozen, known by name, and JSON in a release."""

import json

import pytest
from pydantic import Field, ValidationError

from hushrec.errors import ConfigError
from hushrec.settings import Settings


class Toy(Settings):
    rank: int = Field(default=3, ge=1)
    shrinkage: tuple[float, float] = (10.0, 100.0)


@pytest.mark.parametrize("wrong", [{"rank": 0}, {"rank": "many"}, {"ranks": 2}, {"shrinkage": (1.0,)}])
def test_a_wrong_setting_is_named_beside_those_there_are(wrong):
    with pytest.raises(ConfigError) as caught:
        Toy(**wrong)
    assert str(caught.value).startswith(f"invalid settings for Toy: {next(iter(wrong))}")
    assert str(caught.value).endswith("; valid settings are rank, shrinkage")
    assert caught.value.__cause__ is None


def test_settings_do_not_change_once_they_are_made():
    """A plan was charged for these and no others."""
    made = Toy(rank=2)
    with pytest.raises(ValidationError, match="frozen"):
        made.rank = 5
    assert made == Toy(rank=2) != Toy()


def test_settings_are_json_values():
    assert Toy().settings() == {"rank": 3, "shrinkage": [10.0, 100.0]}
    assert json.loads(json.dumps(Toy(rank=2).settings())) == Toy(rank=2).settings()
