"""The recommended model beside every other one, on every named data set: RMSE by privacy unit and ε.

The page is written from its CSV, so it can be written anew where no run is.

Privacy: private: the CSV holds errors of single runs, on ratings that are public.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from hushrec import models
from lab import reproduction
from lab.experiments.plots import COLOURS, GREY, MARKS, REFERENCE, canvas, caption, svg
from lab.experiments.tables import markdown
from lab.reproduction import Line, Reproduction, Trial, read
from lab.scoreboard.contest import AVERAGE, DELTA, RECOMMENDED, TYPES, UNDECLARED, contender, trials

__all__ = ["REPRODUCTION", "page"]

NAME = "every-set"
TITLE = "The recommended model beside the simplest, on every set"
SETS = "ml-100k", "filmtrust", "ml-latest-small", "netflix-sample", "anime", "ml-1m", "ciao"
LARGEST = "ciao"
EPSILONS = 0.5, 1.0, 2.0, 4.0, 8.0, 20.0
UNITS = "record", "user"
SIMPLEST = "GlobalEffects"
LEFT_OUT = "PosteriorSampleMF", "AdaptiveFactors"
"""The ε of the first holds only if its chain converges; the second is the recommended model itself."""
SPLITS = 3
MARK = 1.002
"""How much worse than the best of the others the recommended model may be."""
BUDGETS = (*product(UNITS, EPSILONS), (None, math.inf))
COLUMNS = [name for name in TYPES if name != "public"]
WHY = "the choice is made from the first sums, under noise"


def others(unit: str | None) -> list[str]:
    """Models of ratings that add noise and support a unit; without noise, those of any."""
    found = []
    for name in models.MODELS:
        model: Any = models.class_of(name)
        if name in LEFT_OUT or model.feedback != "ratings":
            continue
        if any(unit in (None, offered) for offered, _ in model.supports):
            found.append(name)
    return found


def _runs(sets: tuple[str, ...]) -> Iterator[Trial]:
    """Every run: first one split of what the marks compare, then of the other models, then more splits.

    On the largest set the other models, of which some take minutes, are run on the first split alone.
    """
    for data in sets:
        yield contender(data, AVERAGE, None, math.inf, 0)
        yield from (contender(data, model, *budget, 0) for budget in BUDGETS for model in _first(budget[0]))
    for data in sets:
        for unit, epsilon in BUDGETS:
            rest = (model for model in others(unit) if model not in _first(unit))
            yield from (contender(data, model, unit, epsilon, 0) for model in rest)
    for split, data in product(range(1, SPLITS), sets):
        yield contender(data, AVERAGE, None, math.inf, split)
        for unit, epsilon in BUDGETS:
            first = _first(unit)
            models = first if data == LARGEST else dict.fromkeys((*first, *others(unit)))
            yield from (contender(data, model, unit, epsilon, split) for model in models)


def _first(unit: str | None) -> tuple[str, ...]:
    """What the marks compare; a crowd says nothing where there is no noise."""
    return (RECOMMENDED, UNDECLARED, SIMPLEST) if unit else (RECOMMENDED, SIMPLEST)


def _quick() -> Iterator[Trial]:
    """The smallest part that has every unit."""
    for unit, model in product(UNITS, (RECOMMENDED, SIMPLEST)):
        yield contender(SETS[0], model, unit, 1.0, 0)


def page(results: Path, folder: Path) -> None:
    """Write the page and its figure; the CSV first, if the table of runs is there."""
    path = folder / f"{NAME}.csv"
    if (results / f"{NAME}.parquet").exists() or not path.exists():
        write_csv(read(results, NAME)[NAME].select(COLUMNS), path)
    rows = _stored(path)
    told = {
        "marks": _marks(rows),
        **figures(folder),
        **{unit: _summary(rows, unit) for unit in UNITS},
        "no noise": _summary(rows, None),
        "sparse": _sparse(folder / "sparse.csv"),
        "sets": "\n".join(_everything(rows, data) for data in SETS),
    }
    reproduction.page(NAME, told, folder)


def figures(folder: Path) -> dict[str, str]:
    """Draw the figure of the CSV."""
    return {"figure": reproduction.redrawn(_figure(_stored(folder / f"{NAME}.csv")), NAME, TITLE, folder)}


def _stored(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, schema_overrides={name: TYPES[name] for name in COLUMNS})


def write_csv(rows: pl.DataFrame, path: Path) -> None:
    """Write runs of contenders, errors to five digits."""
    digits = {"rmse": ".5f", "mae": ".5f", "fit_seconds": ".2f"}
    shown = (_figures(name, how) for name, how in digits.items())
    rows.with_columns(*shown).write_csv(path)


def _figures(column: str, digits: str) -> pl.Expr:
    return pl.col(column).map_elements(lambda value: format(value, digits), pl.String)


@dataclass(frozen=True, slots=True)
class Cell:
    """What the models come to on a set, for a unit and an ε: RMSE over the splits that there are.

    Attributes:
        recommended: of the recommended model.
        simplest: of ``SIMPLEST``.
        chosen: which model was recommended.
        seconds: processor seconds of its fit, a mean.
        best: name of the best other model.
        error: of that one.
        ratio: of the recommended model's to it, over the splits that both were run on.
        over_simplest: the same ratio to ``SIMPLEST``.
        undeclared: ratio to the best other model where no crowd is declared; NaN without noise.

    Privacy: private.
    """

    recommended: float
    simplest: float
    chosen: str
    seconds: float
    best: str
    error: float
    ratio: float
    over_simplest: float
    undeclared: float

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "Cell | None":
        """From the rows of one set, unit and ε; None without a run of the recommended model and another."""
        there = rows.filter(pl.col("rmse").is_not_null(), pl.col("model") != AVERAGE)
        errors = {
            name: dict(there.filter(model=name).select("split", "rmse").iter_rows())
            for name in there["model"].unique(maintain_order=True)
        }
        mine, hintless = errors.pop(RECOMMENDED, {}), errors.pop(UNDECLARED, {})
        ratios = {name: ratio for name, theirs in errors.items() if (ratio := _ratio(mine, theirs))}
        if not ratios:
            return None
        best = max(ratios, key=lambda name: ratios[name])
        own = there.filter(model=RECOMMENDED)
        return cls(
            fmean(mine.values()),
            fmean(errors[SIMPLEST].values()) if SIMPLEST in errors else math.nan,
            own["chosen"][0],
            fmean(own["fit_seconds"]),
            best,
            fmean(errors[best].values()),
            ratios[best],
            ratios.get(SIMPLEST, math.nan),
            _ratio(hintless, errors[best]) or math.nan,
        )


def _ratio(mine: Mapping[int, float], theirs: Mapping[int, float]) -> float | None:
    """Mean error over that of another model, over the splits that both were run on; None without any."""
    shared = theirs.keys() & mine.keys()
    return sum(mine[s] for s in shared) / sum(theirs[s] for s in shared) if shared else None


def cells(rows: pl.DataFrame) -> dict[tuple[str, str | None, float], Cell]:
    """Every cell of the table that was run, by set, unit and ε."""
    found = {}
    for data, (unit, epsilon) in product(SETS, BUDGETS):
        mine = rows.filter(pl.col("unit").eq_missing(pl.lit(unit)), data=data, epsilon=epsilon)
        if cell := Cell.of(mine):
            found[data, unit, epsilon] = cell
    return found


def _marks(rows: pl.DataFrame) -> str:
    """In how many cells both marks are met, and where not."""
    found = cells(rows)
    near = sum(cell.ratio <= MARK for cell in found.values())
    noisy = [cell for cell in found.values() if not math.isnan(cell.undeclared)]
    hintless = sum(cell.undeclared <= MARK for cell in noisy)
    above = {key: cell for key, cell in found.items() if cell.over_simplest > 1}
    text = (
        f"In {near} of {len(found)} cells the recommended model is at most {MARK:g} times the best other "
        f"model, and in {len(found) - len(above)} it is at most `{SIMPLEST}`. Where no crowd is declared, it "
        f"is at most {MARK:g} times the best other model in {hintless} of {len(noisy)}.\n"
    )
    missed = {key: cell for key, cell in found.items() if max(cell.ratio, cell.undeclared) > MARK}
    if not missed:
        return text
    header = ["not met", "unit", "ε", "recommended", "RMSE", "best other", "RMSE", "ratio", "undeclared"]
    body = [
        [
            data,
            unit or "",
            _epsilon(epsilon),
            f"`{cell.chosen}`",
            f"{cell.recommended:.4f}",
            f"`{cell.best}`",
            f"{cell.error:.4f}",
            f"{cell.ratio:.4f}",
            "" if math.isnan(cell.undeclared) else f"{cell.undeclared:.4f}",
        ]
        for (data, unit, epsilon), cell in missed.items()
    ]
    return f"{text}\n{markdown(header, body)}"


def _summary(rows: pl.DataFrame, unit: str | None) -> str:
    """The recommended model beside effects, the best other model and the item average."""
    averages = dict(rows.filter(model=AVERAGE, split=0).select("data", "rmse").iter_rows())
    header = [
        "set",
        "ε",
        "chosen",
        "RMSE",
        "effects",
        "best other",
        "RMSE",
        "ratio",
        "undeclared",
        "item average",
        "seconds",
    ]
    body = []
    for (data, protected, epsilon), cell in cells(rows).items():
        if protected == unit:
            body.append(
                [
                    data,
                    _epsilon(epsilon),
                    f"`{cell.chosen}`",
                    f"{cell.recommended:.4f}",
                    f"{cell.simplest:.4f}",
                    f"`{cell.best}`",
                    f"{cell.error:.4f}",
                    f"{cell.ratio:.4f}",
                    "" if math.isnan(cell.undeclared) else f"{cell.undeclared:.4f}",
                    f"{averages[data]:.4f}" if data in averages else "",
                    f"{cell.seconds:.1f}",
                ]
            )
    return markdown(header, body)


def _sparse(path: Path) -> str:
    """What lab/speed/sparse_catalogue.py measured, as a table."""
    if not path.exists():
        return "Not measured yet.\n"
    header = ["unit", "ε", "model", "chosen", "RMSE", "seconds", "GB"]
    rows = pl.read_csv(path, infer_schema=False).iter_rows()
    body = [[unit, e, f"`{name}`", f"`{chosen}`", *cells] for unit, e, name, chosen, *cells in rows]
    return markdown(header, body)


def _everything(rows: pl.DataFrame, data: str) -> str:
    """Every model on one set, split 0."""
    mine = rows.filter(data=data, split=0)
    header = [data, *(f"{unit or 'no noise'} {_epsilon(e) if unit else ''}".strip() for unit, e in BUDGETS)]
    body = []
    for model in [RECOMMENDED, UNDECLARED, *others(None)]:
        line = [model if model in (RECOMMENDED, UNDECLARED) else f"`{model}`"]
        for unit, epsilon in BUDGETS:
            found = mine.filter(pl.col("unit").eq_missing(pl.lit(unit)), model=model, epsilon=epsilon)
            values = found["rmse"].to_list()
            line.append("" if not values else "refused" if values[0] is None else f"{values[0]:.4f}")
        body.append(line)
    return markdown(header, [line for line in body if any(line[1:])])


def _figure(rows: pl.DataFrame) -> str:
    """RMSE of the recommended model, of the simplest and of the best other one, a panel a set."""
    found = cells(rows)
    shown = [data for data in SETS if any(key[0] == data for key in found)]
    with canvas(6.2, width=9.0, panels=(2, math.ceil((len(SETS) + 1) / 2)), letters=9) as (drawing, panels):
        for axes, data in zip(panels, shown, strict=False):
            for unit, colour, mark in zip(UNITS, COLOURS, MARKS, strict=False):
                mine = [(e, cell) for (d, u, e), cell in found.items() if (d, u) == (data, unit)]
                at = [epsilon for epsilon, _ in mine]
                look: Any = {"color": colour, "marker": mark, "markersize": 4}
                errors = [cell.recommended for _, cell in mine]
                axes.plot(at, errors, linewidth=1.5, label=f"recommended, unit {unit}", **look)
                errors = [cell.simplest for _, cell in mine]
                axes.plot(at, errors, color=colour, linestyle=":", label=f"effects, unit {unit}")
                errors = [cell.recommended / cell.ratio for _, cell in mine]
                axes.scatter(at, errors, marker="x", color=GREY, s=25, zorder=3, label="best other")
            if bare := found.get((data, None, math.inf)):
                axes.axhline(bare.recommended, label="recommended, no noise", **REFERENCE)
            axes.set_xscale("log")
            axes.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
            axes.minorticks_off()
            axes.set_title(data, fontsize=9)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        handles, names = panels[0].get_legend_handles_labels()
        apart = dict(zip(names, handles, strict=True))
        panels[-1].legend(apart.values(), apart.keys(), loc="center", frameon=False, fontsize=8)
        drawing.supylabel("RMSE", fontsize=9)
        caption(drawing, "against ε, logarithmic", "adjacency add-remove", f"δ = {DELTA:g}")
        return svg(drawing, TITLE)


def _epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:g}"


def lines(data: Mapping[str, pl.DataFrame]) -> list[Line]:
    """What the cells come to, beside effects."""
    return [
        Line(
            f"RMSE on {name}, {f'unit {unit}, ' if unit else ''}ε = {_epsilon(epsilon)}",
            "",
            f"{cell.simplest:.4f} ({SIMPLEST})",
            f"{cell.recommended:.4f} ({cell.chosen})",
            WHY,
        )
        for (name, unit, epsilon), cell in cells(data[NAME]).items()
    ]


REPRODUCTION = Reproduction(
    paper="The recommended model",
    makes="RMSE of every model on every set, by unit and ε",
    sets=SETS,
    minutes=90,
    works=lambda folder: {NAME: trials(_runs(SETS), folder)},
    quick=lambda folder: {NAME: trials(_quick(), folder)},
    page=page,
    figures=figures,
    lines=lines,
)
