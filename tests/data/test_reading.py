"""How records are written, said once: what cannot be is refused before anything is read."""

from dataclasses import FrozenInstanceError

import pytest

from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"format": "xml"}, "format='xml' is unknown; the formats are csv, tsv, u.data"),
        ({"decimal": "·"}, "decimal='·' is not a decimal sign; give"),
        ({"separator": "::"}, "one ASCII character, not a quote"),
        ({"separator": ""}, "one ASCII character, not a quote"),
        ({"separator": "é"}, "one ASCII character, not a quote"),
        ({"separator": '"'}, "one ASCII character, not a quote"),
        ({"separator": "\n"}, "one ASCII character, not a quote"),
    ],
)
def test_what_no_file_is_written_like_is_refused(said, message):
    with pytest.raises(DataError, match=message):
        Reading(**said)


def test_what_is_said_of_files_of_text_is_named():
    assert PLAIN.of_text == [] == Reading(columns={"user_id": "who"}, max_bytes=9).of_text
    said = Reading(format="tsv", separator=";", decimal=",", quotes=False).of_text
    assert said == ["format=", "separator=", "decimal=", "quotes="]


def test_a_reading_stays_as_it_is():
    assert Reading() == PLAIN
    with pytest.raises(FrozenInstanceError):
        PLAIN.decimal = ","
