"""Models that a cluster can run make the same release there, byte for byte, as from memory and files."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import hushrec as hr
from hushrec import models
from hushrec.data.spark import people as spark_people
from hushrec.data.spark.people import SparkPeople
from hushrec.errors import ConfigError, DataError
from support.everywhere import class_of, configured, fits, made, world
from support.spark import sent

pytestmark = pytest.mark.spark


def on_spark(spark, memory, n_blocks):
    """The same people in another order, in blocks that are not those of files."""
    part = np.random.default_rng(4).integers(0, 3, memory.n_users)
    mixed = [memory.select(np.repeat(part == k, memory.counts)) for k in (2, 0, 1)]
    return sent(spark, mixed, n_blocks)


def cut(source, partitions, monkeypatch):
    """The same rows in so many partitions, in an order of Spark's, each added up by a task of its own."""
    monkeypatch.setattr(spark_people, "_cores", lambda frame: partitions)
    return dataclasses.replace(source, frame=source.frame.repartition(partitions))


def able(name):
    return class_of(name).sums_alone


FITS = [fit for fit in fits() if able(fit.values[0])]
FIRST = [fit for fit in FITS if fit.values[1] == min(class_of(fit.values[0]).supports)]
"""Of each model one."""
QUICK = {"GlobalEffects", "CovarianceSVD", "PosteriorMF", "PrivateEASE"}
"""One of each kind of sums: of items, of pairs, of gradients, of interactions."""
SMALL = [
    fit if fit.values[0] in QUICK else pytest.param(*fit.values, id=fit.id, marks=pytest.mark.full)
    for fit in FIRST
]


@pytest.fixture(scope="module")
def sources(spark):
    """By kind of feedback, the same people in memory and on Spark."""
    found = {}
    for kind, likes in (("ratings", None), ("interactions", 1)):
        memory = world(300, 40, 4000, likes=likes)
        found[kind] = memory, on_spark(spark, memory, 8)
    yield found
    for _, there in found.values():
        there.__exit__()


@pytest.mark.parametrize(("name", "pair"), SMALL)
def test_a_release_does_not_depend_on_where_the_ratings_are(name, pair, sources, monkeypatch):
    memory, there = sources[class_of(name).feedback]
    assert made(name, pair, memory) == made(name, pair, cut(there, 7, monkeypatch))


def test_the_head_of_a_catalogue_is_measured_where_the_ratings_are(sources, monkeypatch):
    memory, there = sources["ratings"]
    config = hr.CovarianceSVD(rank=2, covariance={"pair_items": 15, "cleaning": "shrink"})
    budget = hr.Budget(epsilon=4.0, delta=1e-7, unit="user", adjacency="add-remove")
    here, far = (
        hr.testing.fit(source, config, budget, entropy=hr.testing.Seeded(5)).tensors
        for source in (memory, cut(there, 7, monkeypatch))
    )
    assert here["item_factors"].any(axis=1).sum() == 15
    assert {name: array.tobytes() for name, array in here.items()} == {
        name: array.tobytes() for name, array in far.items()
    }


@pytest.mark.parametrize("name", ["CovarianceSVD", "PrivateEASE"])
def test_triangles_that_no_task_may_hold_are_summed_band_by_band(name, sources, monkeypatch):
    memory, there = sources[class_of(name).feedback]
    pair, passes = min(class_of(name).supports), []
    total = SparkPeople.total

    def counted(self, add, *shapes, **weighted):
        passes.append(sum(int(np.prod(shape)) for shape in shapes))
        return total(self, add, *shapes, **weighted)

    monkeypatch.setattr(SparkPeople, "most_cells", 300)
    monkeypatch.setattr(SparkPeople, "total", counted)
    assert made(name, pair, memory) == made(name, pair, cut(there, 3, monkeypatch))
    assert sum(size > 200 for size in passes) > 2, "bands of 820 or 1640 cells"
    assert max(passes) <= 300 + 42, "and the sums that each pass computes anew"


@pytest.mark.parametrize("name", [name for name in models.MODELS if not able(name)])
def test_other_models_are_refused_before_anything_is_charged(name, sources, tmp_path):
    kind = class_of(name)
    if (pair := min(kind.supports, default=None)) is None:
        with pytest.raises(ConfigError, match=f"{name} needs more than sums.*choose AdaptiveFactors,.*or "):
            hr.baseline(sources[kind.feedback][1], kind())
        return
    budget = hr.Budget(epsilon=4.0, delta=1e-7, unit=pair[0], adjacency=pair[1])
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)
    with pytest.raises(ConfigError, match=f"{name} needs more than sums"):
        hr.fit(sources[kind.feedback][1], configured(name), budget, ledger=ledger)
    assert not ledger.state().charges


def test_the_page_names_the_models_that_run_on_spark():
    page = (Path(__file__).resolve().parents[2] / "docs" / "large.md").read_text("utf-8")
    (told,) = re.findall(r"<!-- models on Spark -->(.*?)<!-- end of models -->", page, re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == [name for name in models.MODELS if able(name)]


def test_a_model_that_gathers_ratings_is_no_model_of_sums():
    domain = world(30, 10, 100).domain
    for name in models.MODELS:
        kind = class_of(name)
        for unit, adjacency in kind.supports if kind.feedback == "ratings" else ():
            budget = hr.Budget(epsilon=4.0, delta=1e-7, unit=unit, adjacency=adjacency)
            assert not (configured(name).footprint(domain, budget).gathered and able(name))


def test_one_rating_less_is_noticed(spark, sources):
    memory, _ = sources["ratings"]
    mask = np.ones(memory.n_entries, dtype=np.bool_)
    mask[-1] = False
    pair = ("user", "add-remove")
    with on_spark(spark, memory.select(mask), 8) as there:
        assert made("CovarianceSVD", pair, memory) != made("CovarianceSVD", pair, there)


OWN = [fit for fit in FIRST if fit.values[0] in models.MODELS]


@pytest.mark.full
@pytest.mark.parametrize(("name", "pair"), [fit for fit in FITS if fit not in FIRST])
def test_other_units_and_forms_make_the_same_release(name, pair, sources, monkeypatch):
    memory, there = sources[class_of(name).feedback]
    assert made(name, pair, memory) == made(name, pair, cut(there, 7, monkeypatch))


@pytest.mark.full
@pytest.mark.parametrize("partitions", [1, 2, 64])
@pytest.mark.parametrize(("name", "pair"), OWN)
def test_partitions_change_no_bit(name, pair, partitions, sources, monkeypatch):
    memory, there = sources[class_of(name).feedback]
    assert made(name, pair, memory) == made(name, pair, cut(there, partitions, monkeypatch))


def test_a_check_counts_what_is_in_spark_and_an_evaluation_says_what_to_load(spark, sources):
    memory, there = sources["ratings"]
    table = memory.table()
    frame, here = (
        spark.createDataFrame(table.to_pandas()),
        hr.check(table, memory.domain).facts() | {"columns": {}, "unused": [], "hints": []},
    )
    assert here["ratings"] == memory.n_entries
    assert hr.check(frame, memory.domain).facts() == here
    with hr.load(frame, memory.domain, where="spark") as kept:
        assert hr.check(kept, memory.domain).facts() == here
    release = hr.baseline(memory, hr.GlobalEffects())
    for parts in ({"train": memory, "test": there}, {"train": there, "test": memory}):
        with pytest.raises(DataError, match=r"takes rows in memory.*hash of their ids.*where='memory'"):
            hr.evaluate(release, **parts)
