import itertools
import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest

from hushrec.curator.fit import fit
from hushrec.errors import ConfigError
from hushrec.experiments import plots, reading
from hushrec.experiments.demo import budget
from hushrec.experiments.grid import Grid
from hushrec.experiments.measure import Bench
from hushrec.models.covariance_svd import CovarianceSVD
from hushrec.privacy.noise.entropy import Seeded


@pytest.fixture(scope="module")
def statement(ratings):
    return fit(ratings, CovarianceSVD(rank=3), budget(1), entropy=Seeded(0)).statement


@pytest.fixture(scope="module")
def figures(rows, statement):
    return {
        "curve": plots.curve(rows),
        "popularity": plots.popularity(rows),
        "split": plots.budget_split(statement),
    }


def words(svg):
    return " ".join(
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter() if text.tag.endswith("}text")
    )


def test_figures_are_svg_with_a_title_and_letters_as_letters(figures):
    for svg in figures.values():
        root = ElementTree.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("aria-label")
        assert words(svg)


def test_curve_shows_every_epsilon_infinity_and_the_references(figures, rows):
    shown = words(figures["curve"])
    for label in (
        "1",
        "8",
        "∞",
        "item average",
        "global average",
        "CovarianceSVD without noise",
        "RMSE, stars",
    ):
        assert label in shown
    assert all(f"{row.rmse:.3f}" in shown for row in rows)


def test_popularity_and_split_name_their_parts(figures, statement):
    shown = words(figures["popularity"])
    assert all(
        label in shown for label in ("ε = 1", "ε = 8", "ε = ∞", "item average", "fifth of the catalogue")
    )
    shown = words(figures["split"])
    assert all(f"{part.name} {part.share:.1%}" in shown for part in statement.measurements)


def test_the_same_numbers_give_the_same_bytes(figures, rows):
    assert plots.curve(rows) == figures["curve"]


@pytest.fixture(scope="module")
def grid():
    described = Grid.model_validate(
        {
            "data": {"generated": {"users": 100, "items": 30, "ratings": 1500, "seed": 3}},
            "split": {"kind": "kfold", "folds": 2},
            "run": [
                {
                    "name": "effects",
                    "model": "GlobalEffects",
                    "analysis": ["published", "corrected"],
                    "epsilon": [0.1, 0.11, 1.0, 10.0],
                    "delta": 1e-6,
                    "unit": "rating",
                    "adjacency": "add-remove",
                }
            ],
            "reference": [{"name": "item average"}],
        }
    )
    bench = Bench(described.data, described.split)
    made = [{"name": case.name, **bench.measure(case)} for case in described.cases()]
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
