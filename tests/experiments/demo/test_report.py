import re
from html.parser import HTMLParser

import pytest

from hushrec.experiments.demo import charts, demonstration, report


@pytest.fixture(scope="module")
def made(ratings, tmp_path_factory):
    return demonstration.real_release(ratings, tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def page(made, ratings, rows):
    return report.page(rows, ratings, made, charts.curve(rows), "hushrec recommend <release>")


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


def test_it_holds_curve_table_statement_and_the_next_command(page, made, rows):
    assert Tags(page).tags.count("svg") == 3
    for row in report.table(rows):
        assert f"{row.rmse} {row.deviation}" in page
    assert "ε = 1 at δ = 1e-06, unit user" in page
    assert "co-rating weights" in page
    assert "hushrec recommend &lt;release&gt;" in page  # escaped
    assert "are not private" in page


def test_the_saved_release_is_private_and_the_runs_are_not(made, rows, tmp_path):
    assert made.statement.private
    demonstration.write_table(rows, tmp_path / "curve.csv")
    lines = (tmp_path / "curve.csv").read_text().splitlines()
    header = lines[0].split(",")
    cells = [dict(zip(header, line.split(","), strict=True)) for line in lines[1:]]
    assert [c["not_private_because"] for c in cells] == ["seeded noise"] * 2 + ["no noise"] * 3
    assert [c["epsilon"] for c in cells] == ["1", "8", "inf", "inf", "inf"]
    assert all(
        float(c["rmse"]) == pytest.approx(row.rmse, rel=1e-5) for c, row in zip(cells, rows, strict=True)
    )


def test_table_as_text(rows):
    cells = list(report.table(rows))
    assert [cell.epsilon for cell in cells] == ["1", "8", "∞", "item average", "global average"]
    assert cells[0].loss.endswith("%")
    assert cells[2].loss == ""
    assert cells[3].seconds == ""
