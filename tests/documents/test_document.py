"""The blocks of documents: every writer knows all of them."""

import pytest

from hushrec.documents.document import Document
from hushrec.documents.html import notebook, page
from hushrec.documents.terminal import text
from support.documents import filled


@pytest.mark.parametrize("write", [page, notebook, lambda document: text(document.blocks)])
@pytest.mark.parametrize("block", filled("told").blocks, ids=lambda block: type(block).__name__)
def test_every_writer_writes_every_block(write, block):
    assert "told" in write(Document("statement", "", [block]))
