import itertools
import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest

from hushrec.errors import ConfigError
from hushrec.experiments import plots, reading
from hushrec.experiments.grid import Grid


def words(svg):
    return " ".join(
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter() if text.tag.endswith("}text")
    )


@pytest.fixture(scope="module")
def grid():
    described = Grid.model_validate(
        {
            "data": {"generated": {"users": 100, "items": 30, "ratings": 1500, "seed": 3}},
            "split": {"kind": "kfold", "folds": 2},
            "run": [
                {
                    "name": "effects",
                    "model": model,
                    "epsilon": [0.1, 0.11, 1.0, 10.0],
                    "delta": 1e-6,
                    "unit": "rating",
                    "adjacency": "add-remove",
                }
                for model in ("McSherryEffects", "GlobalEffects")
            ],
            "reference": [{"name": "item average"}],
        }
    )
    bench = described.bench()
    made = [{"name": case.name, **case.coordinates(), **bench.measure(case)[0]} for case in described.cases()]
    return pl.DataFrame(made, infer_schema_length=None)


def test_figure_names_its_curves_and_references(grid):
    drawn = plots.figure(grid, reading.labels(grid), ["item average"], title="Effects")
    assert ElementTree.fromstring(drawn).get("aria-label") == "Effects"
    shown = words(drawn)
    level = grid.filter(name="item average")["rmse"].mean()
    for label in ("effects, published", "effects, corrected", f"item average {level:.4f}", "0.1", "1", "10"):
        assert label in shown
    assert "0.11" not in shown  # its number would touch that of 0.1
    assert drawn == plots.figure(grid, reading.labels(grid), ["item average"], title="Effects")


def test_figure_is_cut_off_where_told(grid):
    cut = words(plots.figure(grid, reading.labels(grid), limits=(0.9, 1.0)))
    assert "0.90" in cut
    assert "1.2" not in cut


def test_what_cannot_be_drawn_is_named(grid):
    with pytest.raises(ConfigError, match="no curve x among"):
        plots.figure(grid, {"x": reading.Curve("x", None, None, None)})
    with pytest.raises(ConfigError, match="'best' is 0 references"):
        plots.figure(grid, reading.labels(grid), ["best"])


@pytest.mark.parametrize("wanted", [[], [0.5], [0.5, 0.5, 0.5], [1.2, 0.99, 0.98], [-3, 0, 0.01, 0.9]])
def test_labels_stand_apart_and_inside(wanted):
    heights = plots._spread(wanted)
    assert sorted(range(len(wanted)), key=heights.__getitem__) == sorted(
        range(len(wanted)), key=wanted.__getitem__
    )
    assert all(b - a > 0.064 for a, b in itertools.pairwise(sorted(heights)))
    assert all(0 <= height <= 1 for height in heights)


def test_names_that_would_act_are_letters_of_the_picture(grid):
    named = {"$\\x$ <b>&\x1b[2J\x00": next(iter(reading.labels(grid).values()))}
    drawn = plots.figure(grid, named, title='a "title" <b>')
    assert "$\\x$ <b>&\\x1b[2J\\x00" in words(drawn)
    assert ElementTree.fromstring(drawn).get("aria-label") == 'a "title" <b>'
