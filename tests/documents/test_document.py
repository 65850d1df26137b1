"""The blocks of documents: every writer knows all of them."""

from typing import get_args

import pytest

from hushrec.documents.document import Block, Document, Facts, Section, Table
from hushrec.documents.html import notebook, page
from hushrec.documents.terminal import text
from support.documents import filled


def kinds(blocks):
    """All kinds of blocks among these, and inside them."""
    found = {type(block) for block in blocks}
    return found.union(*(kinds(block.blocks) for block in blocks if isinstance(block, Section)))


def test_the_document_of_the_tests_has_every_block():
    assert kinds(filled("a").blocks) == set(get_args(Block))


@pytest.mark.parametrize("write", [page, notebook, lambda document: text(document.blocks)])
@pytest.mark.parametrize("block", filled("told").blocks, ids=lambda block: type(block).__name__)
def test_every_writer_writes_every_block(write, block):
    assert "told" in write(Document("statement", "", [block]))


@pytest.mark.parametrize("write", [page, notebook, lambda document: text(document.blocks)])
def test_what_is_empty_is_written_as_well(write):
    assert write(Document("statement", "told", [Facts([]), Table("t", ["told"], []), Section("told", [])]))
