import re
from html.parser import HTMLParser

import pytest

from hushrec.experiments.demo import report
from hushrec.experiments.demo.tastes import side_by_side, two_tastes


@pytest.fixture(scope="module")
def tastes(clicks):
    return two_tastes(clicks)


@pytest.fixture(scope="module")
def page(clicks, list_rows, ratings, rows, made, tastes):
    return report.page(clicks, list_rows, ratings, rows, made, tastes, "hushrec recommend <release>")


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


def requests_of(page):
    """Everything that makes a browser fetch or run something."""
    parsed = Tags(page)
    found = [
        tag for tag in parsed.tags if tag in ("script", "link", "img", "iframe", "object", "embed", "image")
    ]
    found += [
        f"{name}={value}" for name, value in parsed.attributes if name == "src" or name.startswith("on")
    ]
    found += [
        value for name, value in parsed.attributes if name.endswith("href") and not value.startswith("#")
    ]
    return found + re.findall(r"@import|url\((?!#)", page)


def test_the_page_asks_nobody_for_anything(page):
    assert requests_of(page) == []


@pytest.mark.parametrize(
    "planted",
    [
        "<script>1</script>",
        '<img src="https://x">',
        "<style>a{background:url(https://x)}</style>",
        '<a href="//x">',
    ],
)
def test_a_request_would_be_noticed(page, planted):
    assert requests_of(page.replace("</body>", f"{planted}</body>")) != []


def test_it_holds_curves_tables_lists_statement_and_the_next_command(page, made, rows, list_rows, tastes):
    assert Tags(page).tags.count("svg") == 4
    for row in report.table(rows):
        assert f"{row.rmse} {row.deviation}" in page
    for row in report.list_table(list_rows):
        cells = (row.epsilon, row.recall, row.popular_recall, f"{row.ndcg} {row.deviation}", row.popular_ndcg)
        assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    for place in side_by_side(made, *tastes):
        assert "".join(f"<td>{cell}</td>" for cell in place) in page
    assert all(", ".join(own) in page for own in tastes)
    assert "40,000 made-up clicks by 1,500 people on 200 items" in page
    assert "ε = 1 at δ = 1e-06, unit user" in page
    assert "item pairs" in page
    assert "hushrec recommend &lt;release&gt;" in page  # escaped
    assert "is not private" in page


def test_table_of_lists_as_text(list_rows):
    cells = list(report.list_table(list_rows))
    assert [cell.epsilon for cell in cells] == ["1", "8", "∞"]
    assert cells[0].recall == f"{list_rows[0].found.recall:.3f}"
    assert cells[0].popular_ndcg == f"{list_rows[0].popular.ndcg:.3f}"
    assert cells[0].deviation.startswith("± ")


def test_table_as_text(rows):
    cells = list(report.table(rows))
    assert [cell.epsilon for cell in cells] == ["1", "8", "∞", "item average", "global average"]
    assert cells[0].loss.endswith("%")
    assert cells[2].loss == ""
    assert cells[3].seconds == ""
