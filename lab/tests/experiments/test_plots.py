import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest

from hushrec.errors import ConfigError
from lab.experiments import plots, reading
from lab.experiments.grid import Grid


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
                    "unit": "record",
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


@pytest.mark.full
def test_figure_names_its_curves_and_references(grid):
    drawn = plots.figure(grid, reading.labels(grid), ["item average"], title="Effects")
    assert ElementTree.fromstring(drawn).get("aria-label") == "Effects"
    shown = words(drawn)
    level = grid.filter(name="item average")["rmse"].mean()
    for label in ("effects, published", "effects, corrected", f"item average {level:.4f}", "0.1", "1", "10"):
        assert label in shown
    assert "0.11" not in shown  # its number would touch that of 0.1
    assert drawn == plots.figure(grid, reading.labels(grid), ["item average"], title="Effects")


def test_a_figure_says_what_it_is_about(grid):
    shown = words(plots.figure(grid, reading.labels(grid), data="1,500 made-up ratings")).replace("  ", " ")
    for fact in (
        "1,500 made-up ratings",
        "unit record",
        "adjacency add-remove",
        "δ = 1e-06",
        "effects: McSherryEffects",
        "effects: GlobalEffects",
        "95 % over 2 splits",
    ):
        assert fact in shown
    once = grid.filter(split=0)
    assert "one split, so no intervals" in words(plots.figure(once, reading.labels(once)))


def test_a_line_without_noise_is_told_from_a_reference(grid):
    exact = grid.filter(epsilon=10.0, model="GlobalEffects").with_columns(
        epsilon=math.inf, unit=pl.lit(None, pl.String), adjacency=pl.lit(None, pl.String)
    )
    rows = pl.concat([grid, exact])
    levels = ["item average", *reading.exact(rows)]
    assert levels == ["item average", "effects"]
    shown = words(plots.figure(rows, reading.labels(rows), levels))
    assert f"effects without noise {exact['rmse'].mean():.4f}" in shown
    assert "item average without noise" not in shown
    assert reading.exact(grid) == []


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg "), ("a.pdf", b"%PDF-"), ("a.png", b"\x89PNG\r\n")]
)
def test_a_file_is_what_its_name_says(grid, tmp_path, name, start):
    for _ in range(2):
        plots.write(tmp_path / name, grid, reading.labels(grid), data="made-up")
        written = (tmp_path / name).read_bytes()
        assert written.startswith(start)
        (tmp_path / name).rename(tmp_path / f"first {name}")
    assert written == (tmp_path / f"first {name}").read_bytes()


def luminance(colour):
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    """WCAG 2.2: 4.5 for letters, 3 for lines."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_a_picture_is_legible_in_the_dark(grid):
    drawn = plots.figure(grid, reading.labels(grid), ["item average"])
    assert "@media (prefers-color-scheme: dark)" in drawn
    dark = plots._DARK
    used = set(re.findall(r"(?:fill|stroke): (#\w{6})", drawn.partition("</style>")[2]))
    for colour in used - {"#ffffff"}:
        letters = colour in ("#000000", plots.GREY)
        assert contrast(dark.get(colour, colour), dark["#ffffff"]) >= (4.5 if letters else 3)
    assert used & set(dark)
    assert contrast("#000000", dark["#ffffff"]) < 3  # what is not changed would be noticed


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


def test_a_model_without_a_curve_is_a_named_line(grid):
    bare = grid.filter(name="item average").with_columns(
        name=pl.lit("plain"),
        model=pl.lit("MatrixFactorization"),
        settings=pl.lit("{}"),
        analysis=pl.lit("corrected"),
    )
    rows = pl.concat([grid, bare])
    levels = ["item average", *reading.exact(rows)]
    shown = words(plots.figure(rows, reading.labels(rows), levels))
    assert f"plain without noise {bare['rmse'].mean():.4f}" in shown
    assert "plain: MatrixFactorization" in shown
    alone = words(plots.figure(bare, reading.labels(bare), reading.exact(bare)))
    assert "plain without noise" in alone


def test_noise_without_a_known_epsilon_is_marked(grid):
    own = grid.with_columns(
        true_epsilon=pl.when(model="GlobalEffects").then(math.inf).otherwise("true_epsilon")
    )
    shown = words(plots.figure(own, reading.labels(own))).replace("  ", " ")
    assert "effects, corrected †" in shown
    assert "effects, published †" not in shown
    assert "† no ε is known for effects: not private" in shown
    assert "†" not in words(plots.figure(grid, reading.labels(grid)))
