"""The day of a charge is a day in UTC."""

from datetime import UTC, datetime

from hushrec.privacy.dates import today


def test_the_day_is_that_of_utc():
    before, day, after = datetime.now(UTC).date(), today(), datetime.now(UTC).date()
    assert before.isoformat() <= day <= after.isoformat()
