"""Liu, Wang & Smola 2015 on MovieLens 1M: grids ml-1m-posterior, -certified, -personal and -user.

The page also shows ``cache.txt``, which ``lab/speed/cache.py`` prints.

Privacy: private, as the runs; the page shows averages over splits.
"""

from pathlib import Path

import polars as pl

from lab import reproduction
from lab.experiments.reading import Curve
from lab.experiments.tables import markdown, points, spread
from lab.reproduction import Reproduction, grids, read

NAMES = ("ml-1m-posterior", "ml-1m-certified", "ml-1m-personal", "ml-1m-user")
CERTIFIED = "certified"
LARGEST = 5**2
"""(hi − lo + κ)², in squared stars: the most that a rating adds to the loss."""


def page(results: Path, folder: Path) -> None:
    """Write the page, its figures and liu.csv."""
    data = read(results, *NAMES)
    trimmed, whole, own, others = data.values()
    reproduction.curves(data, folder / "liu.csv")
    part = {
        "samples": _samples(trimmed),
        "certified": _certified(trimmed, whole, others),
        "personal": _shares(whole, own),
        "cache": _cache(results / "cache.txt"),
    }
    reproduction.page("liu", part, folder)


def _curve(name: str, analysis: str = "corrected") -> Curve:
    return Curve(name, "user", "add-remove", analysis)


def _samples(rows: pl.DataFrame) -> str:
    """RMSE of the posterior samples beside the three constants of one sample, and the usual user's."""
    body = []
    for epsilon, line in sorted(points(rows, _curve("posterior sample", "published")).items()):
        three = (epsilon, line["true_epsilon"] * 2, line["true_epsilon"])
        usual = f"ε/{LARGEST / line['rmse'] ** 2:.0f}"
        body.append([*(f"{e:g}" for e in three), f"{epsilon / 10_000:g}", spread(line), usual])
    header = ["as printed, ε/4B", "replace, ε/2B", "add-remove, ε/B", "s", "RMSE", "usual user"]
    return markdown(header, body)


def _certified(trimmed: pl.DataFrame, whole: pl.DataFrame, others: pl.DataFrame) -> str:
    """RMSE at equal ε of the certified forms and of other models for whole people."""
    curves = {
        "certified, at most 100 ratings of each": (trimmed, CERTIFIED),
        "certified": (whole, CERTIFIED),
        "UserLevelSGD": (others, "PSGD"),
        "MM's SVD": (others, "MM's SVD"),
        "GlobalEffects": (others, "GE"),
    }
    epsilons, body = [0.5, 1.0, 2.0, 4.0, 8.0, 20.0], []
    for label, (rows, name) in curves.items():
        found = points(rows, _curve(name))
        body.append([label, *(spread(found.get(e)) for e in epsilons)])
    return markdown(["", *(f"ε = {e:g}" for e in epsilons)], body)


def _shares(whole: pl.DataFrame, own: pl.DataFrame) -> str:
    """RMSE with an ε per user, and where everybody has the same."""
    mine, alike = points(own, _curve("an ε per user"))[8.0], points(whole, _curve(CERTIFIED))
    lines = {f"everybody {e:g}": alike[e] for e in (0.5, 2.0)} | {
        "an ε per user": mine,
        "everybody 8": alike[8.0],
    }
    return markdown(["ε", "RMSE"], [[name, spread(line)] for name, line in lines.items()])


def _cache(path: Path) -> str:
    """What lab/speed/cache.py printed, as a table."""
    if not path.exists():
        return f"Not measured: `python -m lab bench cache > {path.name}`, in the folder of the runs.\n"
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    body = [row for row in rows if len(row) == 6 and row[0].isdigit()]
    return markdown(["rank", "order", "D1 misses", "LL misses", "lines: D1", "LL"], body)


REPRODUCTION = Reproduction(
    paper="Liu, Wang & Smola 2015",
    makes="Fig. 5, ε per user, Table 1",
    sets=("ml-1m",),
    minutes=35,
    works=grids(*NAMES),
    page=page,
)
