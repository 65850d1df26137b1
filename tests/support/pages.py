"""Whether HTML is whole and does nothing."""

from html.parser import HTMLParser

TAGS = frozenset(
    "section strong p br table thead tbody tr th td div details summary ul li pre".split()  # noqa: SIM905
)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS
        assert {name for name, _ in attrs} <= {"style", "scope"}
        assert not any("url(" in value for _, value in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(page):
    """The page, if its tags are closed and none can act or fetch anything."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return page
