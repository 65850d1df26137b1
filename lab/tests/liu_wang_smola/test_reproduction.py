import re

from lab.liu_wang_smola import reproduction

CACHE = """200000 ratings of 956 people for 17770 items
rank  order    D1 misses  LL misses   lines a rating: D1     LL
  16  random      1.23%      0.50%                1.20   0.30
"""


def test_page_and_csv_from_finished_runs(made_up):
    folder = made_up(*reproduction.NAMES)
    (folder / "cache.txt").write_text(CACHE)
    reproduction.page(folder, folder / "pages")
    names = {path.name for path in (folder / "pages").iterdir()}
    assert names == {"liu.md", "liu.csv"}
    page = (folder / "pages" / "liu.md").read_text("utf-8")
    assert "| 16 | random | 1.23% | 0.50% | 1.20 | 0.30 |" in page
    assert "| 7000 | 7000 | 3500 | 0.7 |" in page  # s, and the ε's of one sample
    line = next(line for line in page.splitlines() if line.startswith("| 7000 | 7000 | 3500 | 0.7 |"))
    error, usual = re.fullmatch(r".* \| ([\d.]+) ± [\d.]+ \| ε/(\d+) \|", line).groups()
    assert int(usual) == round(25 / float(error) ** 2)
