import pytest
from pydantic import ValidationError

from hushrec.service.answers import Health, ReleaseFacts


def test_health_knows_two_states():
    with pytest.raises(ValidationError):
        Health(status="fine", releases=1, left_out=0)


def test_every_fact_of_a_release_is_told():
    assert all(field.is_required() for field in ReleaseFacts.model_fields.values())
