"""The tables of docs/results/top_n.md, from the files beside it: python benchmarks/top_n_tables.py"""

import csv
import math
from collections import defaultdict
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).resolve().parents[1] / "docs/results"
METRICS = "recall@20", "nDCG@100"


def shown(values: list[float]) -> str:
    """Mean over the draws ± the standard error of that mean."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return f"{np.mean(values):.3f} ± {error:.3f}".replace("0.", ".")


def read(name: str) -> dict[tuple[str, ...], list[float]]:
    found = defaultdict(list)
    with (RESULTS / name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = row.get("data", ""), row.get("protocol", ""), row.get("unit", ""), row["method"]
            found[(*place, f"{float(row['epsilon']):g}".replace("inf", "∞"), row["metric"])].append(
                float(row["value"])
            )
    return found


def main() -> None:
    found = read("top_n.csv")
    for data, protocol in dict.fromkeys((key[0], key[1]) for key in found):
        print(f"\n{data}; {protocol}\n\n| method | unit | ε | {' | '.join(METRICS)} | of EASE |")
        print(f"|---|---|---|{'---|' * len(METRICS)}---|")
        best = np.mean(found[data, protocol, "", "EASE", "∞", "nDCG@100"])
        rows = {key[2:5] for key in found if key[:2] == (data, protocol)}
        order = sorted(rows, key=lambda r: (r[0], r[1], float(r[2].replace("∞", "inf"))))
        for unit, method, epsilon in order:
            values = [found[data, protocol, unit, method, epsilon, metric] for metric in METRICS]
            share = np.mean(values[1]) / best
            cells = " | ".join(map(shown, values))
            print(f"| {method} | {unit} | {epsilon} | {cells} | {share:.1%} |")


if __name__ == "__main__":
    main()
