"""The blocks of documents."""

from typing import get_args

from hushrec.pages.cards import document


def test_every_block_has_a_kind_of_its_own():
    kinds = [block.kind for block in get_args(document.Block)]
    assert len(set(kinds)) == len(kinds) == 8
