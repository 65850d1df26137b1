"""Documents as lines of text: filled to the terminal's width, and without anything that acts on it."""

import pytest

from hushrec.documents.terminal import text
from support.documents import EACH, filled
from support.hostile import HOSTILE, harmless


@pytest.mark.parametrize("width", [None, 80])
def test_no_text_acts_on_the_terminal(width):
    shown = text(filled(HOSTILE).blocks, width)
    assert harmless(shown)
    if width is None:
        assert shown.count(r"\x1b[2J") == 2 + 2 * (EACH + 1)  # and the title of the commands
