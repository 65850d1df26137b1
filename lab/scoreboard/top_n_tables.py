"""Write the tables of lab/scoreboard/top_n.md, from the rows beside it: python -m lab bench top_n_tables"""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parent
METRICS = "recall@20", "nDCG@100"
Found = dict[tuple[str, str, str], dict[str, list[float]]]


def read(name: str, data: str = "", protocol: str = "") -> Found:
    """Method, unit and ε → metric → the value of every draw."""
    found: Found = defaultdict(lambda: defaultdict(list))
    with (RESULTS / name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row.get("data", ""), row.get("protocol", "")) == (data, protocol):
                key = row["method"], row.get("unit", ""), f"{float(row['epsilon']):g}".replace("inf", "∞")
                found[key][row["metric"]].append(float(row["value"]))
    return found


def cell(values: dict[str, list[float]] | None) -> str:
    if not values:
        return ""
    return " / ".join(f"{np.mean(values[metric]):.3f}".replace("0.", ".") for metric in METRICS)


def table(found: Found) -> list[str]:
    """A row for each method and unit, a column for each ε."""
    epsilons = sorted({key[2] for key in found}, key=lambda text: float(text.replace("∞", "inf")))
    lines = [f"| method | unit | {' | '.join(epsilons)} |", f"|---|---|{'---|' * len(epsilons)}"]
    for method, unit in sorted({key[:2] for key in found}):
        cells = [cell(found.get((method, unit, epsilon))) for epsilon in epsilons]
        lines.append(f"| {method} | {unit or '–'} | {' | '.join(cells)} |")
    errors = [
        np.std(each, ddof=1) / len(each) ** 0.5
        for values in found.values()
        for each in values.values()
        if len(each) > 1
    ]
    draws = max(len(each) for values in found.values() for each in values.values())
    note = f"Means of {draws} draws; standard errors of these means are at most {max(errors):.3f}."
    return [*lines, "", note]


def main() -> None:
    page = RESULTS / "top_n.md"
    text = page.read_text(encoding="utf-8")
    for name, data, protocol in re.findall(r"<!-- table: (\S+?\.csv)(?:; (.+?); (\w+))? -->", text):
        mark = f"<!-- table: {name}{f'; {data}; {protocol}' if data else ''} -->"
        made = "\n".join(table(read(name, data, protocol)))
        start = text.index(mark) + len(mark)
        end = text.index("<!-- end of table -->", start)
        text = f"{text[:start]}\n{made}\n{text[end:]}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
