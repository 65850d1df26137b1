"""What the rows of a grid say: curves with intervals, differences, and where a curve crosses a reference.

Intervals are of the paired bootstrap over splits: splits are drawn with replacement, the same ones for every
curve and reference, and a split comes with all its noise seeds. They tell how far the result moves with the
splits and the noise, on these ratings; not with other people.

Privacy: private, as the rows.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.random import default_rng
from scipy.special import ndtr, stdtrit

from hushrec.arrays import Floats
from hushrec.errors import ConfigError
from hushrec.evaluation.compare import METRICS
from hushrec.text import escaped

RESAMPLES = 10_000


class Curve(NamedTuple):
    """Which runs make a curve over ε; a reference, or a baseline without noise, has no unit nor adjacency."""

    name: str
    unit: str | None
    adjacency: str | None
    analysis: str | None

    def __str__(self) -> str:
        return escaped(", ".join(filter(None, self)))


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its 95 % interval, NaN where there is a single split.

    Of 10 splits the interval covers the truth in 94.5 % of cases, of 5 in 93 %, of 4 in 88 %, of 3 in 75 %:
    no resample can reach beyond the splits that there are.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """The smallest ε from which a curve stays as good as a reference.

    Attributes:
        value: 0 where it is as good at the grid's first ε, infinite where it is not at the last.
        low: lower end of the 95 % interval, read likewise.
        high: upper end.
        first: the grid's first ε.
        last: the grid's last ε.
    """

    value: float
    low: float
    high: float
    first: float
    last: float

    def __str__(self) -> str:
        if self.low == self.high or math.isnan(self.low):
            return self._shown(self.value)
        return f"{self._shown(self.value)} ({self._shown(self.low)} to {self._shown(self.high)})"

    def _shown(self, epsilon: float) -> str:
        if epsilon == 0:
            return f"≤ {self.first:g}"
        return f"> {self.last:g}" if math.isinf(epsilon) else f"{float(f'{epsilon:.2g}'):g}"


def metrics(rows: pl.DataFrame) -> list[str]:
    """The metrics that the rows have, in the order of their columns. The first is the one that is shown."""
    return [name for name in rows.columns if name in METRICS or "@" in name]


def curves(rows: pl.DataFrame) -> list[Curve]:
    """The curves with a finite ε, in the order of the rows."""
    noisy = measured(rows).filter(pl.col("epsilon").is_finite())
    return [Curve(*row) for row in noisy.select(Curve._fields).unique(maintain_order=True).iter_rows()]


def labels(rows: pl.DataFrame) -> dict[str, Curve]:
    """The curves by name, with so much of unit, adjacency and analysis as tells them from each other."""
    found = curves(rows)
    differ = {
        name: [len({curve[i] for curve in found if curve.name == name}) > 1 for i in range(4)]
        for name in {curve.name for curve in found}
    }
    named = {}
    for curve in found:
        parts = (part for part, needed in zip(curve, differ[curve.name], strict=True) if part and needed)
        named[", ".join((curve.name, *parts))] = curve
    return named


def references(rows: pl.DataFrame) -> list[str]:
    """Names of the references, in the order of the rows."""
    exact = measured(rows).filter(pl.col("settings").is_null())
    return exact["name"].unique(maintain_order=True).to_list()


def unpriced(rows: pl.DataFrame) -> list[Curve]:
    """The curves for whose noise no finite ε is known: their budget's ε only names their points."""
    endless = pl.col("epsilon").is_finite() & pl.col("true_epsilon").is_infinite()
    return curves(rows.filter(endless.fill_null(value=False)))


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """A line for every curve and ε, references and baselines without noise included.

    Args:
        rows: of one grid; failed runs are passed over. Lines of an earlier summary are returned as they are.

    Returns:
        ``name, unit, adjacency, analysis, epsilon``; numbers of ``splits`` and ``runs``; the metric under its
        own name, such as ``rmse``: the mean over splits of the means over seeds, with its ``standard_error``
        and 95 % interval ``low, high``; means of the other metrics; ``true_epsilon`` (the largest) and
        ``claimed_epsilon``; medians ``fit_seconds`` and ``predict_seconds``. The first of ``metrics`` has the
        interval.
    """
    metric = metrics(rows)[0]
    if "low" in rows.columns:
        return measured(rows)
    others = [name for name in metrics(rows) if name != metric]
    rows = measured(rows)
    where = [*Curve._fields, "epsilon"]
    lines = rows.group_by(where, maintain_order=True).agg(
        pl.col("split").n_unique().alias("splits"),
        pl.len().alias("runs"),
        pl.max("true_epsilon"),
        pl.max("claimed_epsilon"),
        pl.median("fit_seconds"),
        pl.median("predict_seconds"),
    )
    errors = _by_split(rows, metric)
    draws = _draws(errors.shape[1])
    found = [interval(line, draws) for line in errors]
    added = [
        pl.Series(metric, [f.value for f in found]),
        pl.Series("standard_error", [_standard_error(line) for line in errors]),
        pl.Series("low", [f.low for f in found]),
        pl.Series("high", [f.high for f in found]),
        *(pl.Series(name, _over_splits(_by_split(rows, name))) for name in others),
    ]
    return lines.with_columns(added)


def crossing(rows: pl.DataFrame, curve: Curve, level: str) -> Crossing:
    """Where a curve crosses a reference that was measured on the same splits.

    A curve with noise wiggles, so of its points on the grid all from some ε on must be as good as the
    reference: not above it with errors, and not below it with metrics of rankings. Between that point and the
    one before, the difference is taken to be linear in log ε.

    Args:
        rows: of one grid.
        curve: whose points with finite ε are read.
        level: name of a reference, or of a curve of which the baseline without noise is meant.

    Returns:
        The crossing with its interval.
    """
    metric = metrics(rows)[0]
    rows = measured(rows)
    where = [*Curve._fields, "epsilon"]
    lines = rows.select(where).unique(maintain_order=True)
    errors = _by_split(rows, metric) * (1 if metric in METRICS else -1)
    mine = [i for i, line in enumerate(lines.iter_rows()) if line[:4] == curve and math.isfinite(line[4])]
    if not mine:
        raise ConfigError(f"there is no curve {curve!s}; there are {'; '.join(map(str, curves(rows)))}")
    mine.sort(key=lambda i: lines["epsilon"][i])
    apart = errors[mine] - errors[_level(lines, level)]
    epsilons = lines["epsilon"].to_numpy()[mine]
    used = int(np.isfinite(apart).any(axis=0).sum())
    found = _first_below(_means(apart, _draws(errors.shape[1])), np.log(epsilons))
    low, high = _ends(found[1:], used)
    return Crossing(float(found[0]), low, high, float(epsilons[0]), float(epsilons[-1]))


def interval(values: Floats, draws: Floats) -> Interval:
    """Mean over splits, and its interval over drawn splits.

    Args:
        values: a value for every split, shape (splits,); NaN where it was not run.
        draws: how often each split was drawn, shape (draws, splits); the first line draws each once.

    Returns:
        The mean with its interval.
    """
    means = _means(values[None, :], draws)[:, 0]
    return Interval(float(means[0]), *_ends(means[1:], int(np.isfinite(values).sum())))


def _draws(n: int) -> Floats:
    """How often each of n splits is drawn: once each first, then the resamples; shape (RESAMPLES + 1, n)."""
    drawn = (
        default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES) if n else np.zeros((RESAMPLES, 0))
    )
    return np.vstack([np.ones(n), drawn])


def _means(values: Floats, draws: Floats) -> Floats:
    """Means over drawn splits of each line of values, shape (draws, lines); NaN where no run was drawn."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(draws @ np.where(there, values, 0.0).T / (draws @ there.T))


def _ends(resampled: Floats, n: int) -> tuple[float, float]:
    """Ends of the expanded percentile interval (Hesterberg 2015, §5.3).

    Percentiles of a bootstrap over n values are too close by √((n − 1)/n), and take the normal for Student's
    law; at tail probability Φ(−t √(n/(n − 1))), t = t(0.975; n − 1), both are made good.
    """
    if n < 2:
        return math.nan, math.nan
    tail = float(ndtr(-stdtrit(n - 1, 0.975) * math.sqrt(n / (n - 1))))
    known = resampled[~np.isnan(resampled)]
    low, high = np.quantile(known, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high)


def _first_below(apart: Floats, places: Floats) -> Floats:
    """The ε from which each line of differences stays at 0 or below; 0 if always, infinite if not at the end.

    Args:
        apart: curve less reference, shape (lines, points).
        places: log ε of the points, ascending.
    """
    above = ~(apart <= 0)
    last = apart.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)  # the last point above
    found = np.zeros(len(apart))
    found[above[:, -1]] = math.inf
    inside = np.flatnonzero(above.any(axis=1) & ~above[:, -1])
    here = last[inside]
    before, after = apart[inside, here], apart[inside, here + 1]
    part = before / (before - after)
    found[inside] = np.exp(places[here] + part * (places[here + 1] - places[here]))
    return found


def measured(rows: pl.DataFrame) -> pl.DataFrame:
    """The runs that have the first metric: those that failed do not, nor do references of another kind."""
    return rows.filter(pl.col(metrics(rows)[0]).is_not_null())


def _over_splits(table: Floats) -> list[float]:
    """Means of each line; NaN where nothing was run."""
    known = np.isfinite(table)
    counts = known.sum(axis=1)
    sums = np.where(known, table, 0.0).sum(axis=1)
    return [float(total / n) if n else math.nan for total, n in zip(sums, counts, strict=True)]


def _by_split(rows: pl.DataFrame, metric: str) -> Floats:
    """Mean over seeds, shape (curve × ε in the order of the rows, splits); NaN where nothing was run."""
    where = [*Curve._fields, "epsilon"]
    means = rows.group_by([*where, "split"], maintain_order=True).agg(pl.mean(metric))
    line = {key: i for i, key in enumerate(rows.select(where).unique(maintain_order=True).iter_rows())}
    column = {split: j for j, split in enumerate(sorted(set(rows["split"])))}
    table = np.full((len(line), len(column)), np.nan)
    for *key, split, value in means.iter_rows():
        table[line[tuple(key)], column[split]] = value
    return table


def _level(lines: pl.DataFrame, name: str) -> int:
    """The line of a reference, or of a curve without noise."""
    found = [i for i, line in enumerate(lines.iter_rows()) if line[0] == name and line[4] == math.inf]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            f"{name!r} without noise has been run under several analyses; name each curve apart"
        )
    raise ConfigError(f"there is neither a reference {name!r} nor a curve of that name without noise")


def _standard_error(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.std(known, ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.nan
