import math
import xml.etree.ElementTree as ElementTree

import polars as pl
import pytest

from lab.experiments import plots, reading
from lab.experiments.grid import Grid


def words(svg):
    return " ".join(
        "".join(text.itertext()) for text in ElementTree.fromstring(svg).iter() if text.tag.endswith("}text")
    )


@pytest.fixture(scope="module")
def grid():
    data = {"generated": {"users": 100, "items": 30, "ratings": 1500, "seed": 3}}
    budget = {"epsilon": [0.1, 1.0, 10.0], "delta": 1e-6, "unit": "record", "adjacency": "add-remove"}
    run = [{"name": "effects", "model": model, **budget} for model in ("McSherryEffects", "GlobalEffects")]
    described = Grid.model_validate({"data": data, "split": {"kind": "kfold", "folds": 2}, "run": run})
    bench = described.bench()
    made = [{"name": case.name, **case.coordinates(), **bench.measure(case)[0]} for case in described.cases()]
    return pl.DataFrame(made, infer_schema_length=None)


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


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<svg "), ("a.pdf", b"%PDF-"), ("a.png", b"\x89PNG\r\n")]
)
def test_a_file_is_what_its_name_says(grid, tmp_path, name, start):
    plots.write(tmp_path / name, grid, reading.labels(grid), data="made-up")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_noise_without_a_known_epsilon_is_marked(grid):
    own = grid.with_columns(
        true_epsilon=pl.when(model="GlobalEffects").then(math.inf).otherwise("true_epsilon")
    )
    shown = words(plots.figure(own, reading.labels(own))).replace("  ", " ")
    assert "effects, corrected †" in shown
    assert "effects, published †" not in shown
    assert "† no ε is known for effects: not private" in shown
