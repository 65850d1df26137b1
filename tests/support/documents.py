"""Reads a page of HTML: whether it is well formed, what in it could act or fetch, and what it shows; and a
document of every block."""

from html.parser import HTMLParser

from hushrec.documents.document import Commands, Document, Facts, Paragraph, Points, Section, Table

VOID = frozenset({"meta", "link", "br", "path", "line", "circle"})
_ACTS = frozenset(
    {"script", "iframe", "object", "embed", "form", "base", "img", "video", "audio", "foreignobject"}
)
_ADDRESSES = frozenset({"href", "src", "action", "xlink:href", "srcset", "data"})


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.shown, self.addresses, self.tags = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert tag not in _ACTS, tag
        named = dict(attrs)
        assert len(named) == len(attrs), f"an attribute of {tag} is given twice"
        assert not any(name.startswith("on") or name == "style" for name in named), attrs
        self.addresses += [value for name, value in attrs if name in _ADDRESSES]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.shown.append(data)


def read(page):
    """The text that a page shows, in one line, if nothing in it can act."""
    reader = _reader(page)
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.tags.count("h1") == reader.tags.count("main") == reader.tags.count("title") == 1
    return " ".join(" ".join(reader.shown).split())


def addresses(page):
    """All that a page links to or loads."""
    return _reader(page).addresses


def piece(text):
    """A piece of a page, as notebooks show, if it is whole, and nothing in it acts or fetches anything."""
    reader = _fed(text)
    assert not reader.addresses
    assert not {"html", "body", "main"} & set(reader.tags)
    assert "url(" not in text
    return text


def _reader(page):
    assert page.startswith("<!doctype html>\n<html lang=")
    return _fed(page)


def _fed(page):
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open, reader.open
    return reader


def filled(text, **given):
    """A document of every block, with one text everywhere."""
    every = [
        Paragraph(text),
        Paragraph(text, "strong"),
        Paragraph(text, "caution"),
        Paragraph(text, "caution"),
        Points([text]),
        Points([text, text], open=True),
        Facts([(text, text)]),
        Table(text, [text, "n"], [(text, text)]),
        Commands(text, [text, text]),
    ]
    inner = Section(text, [Section(text, every)])
    return Document("statement", text, [*every, inner], about=text, label=text, **given)


EACH = 14
"""How often ``filled`` says its text in each run of blocks, in tables, lists and lines as well; two runs."""
AROUND = 5
"""How often it does so elsewhere: title, about, label and two headings."""
