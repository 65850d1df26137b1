import math

import polars as pl
import pytest

from hushrec.errors import ConfigError
from lab.experiments.results import SCHEMA, Results, columns_of, read


def row(key, rmse=1.0, **more):
    return {**dict.fromkeys(SCHEMA), "key": key, "rmse": rmse, **more}


@pytest.fixture(params=[".parquet", ".csv"])
def results(tmp_path, request):
    return Results(tmp_path / "deep" / f"table{request.param}")


def seen(results):
    rows = results.rows()
    return dict(zip(rows["key"], rows["rmse"], strict=True))


def test_runs_are_merged_in_the_grids_order_under_its_names(results):
    for key in "abc":
        results.add([row(key)])
    table = results.merge({"c": "curve", "a": "curve", "b": "other", "d": "other"})
    assert table.select("name", "key").rows() == [("curve", "c"), ("curve", "a"), ("other", "b")]
    assert read(results.out).equals(table)
    assert not results.folder.exists()
    assert results.merge({"c": "renamed"})["name"].to_list() == ["renamed"]


def test_a_table_of_text_keeps_every_bit(tmp_path):
    whole = {"epsilon": math.inf, "rmse": 0.1 + 0.2, "fold_in": True, "split": 3}
    rows = [
        row("a", **{**whole, "error": 'it said "no",\nand ended', "unit": "", "recall@5": 0.5}),
        row("b", 1e-300, epsilon=0.1),
    ]
    schema = {**SCHEMA, "recall@5": pl.Float64}
    tables = []
    for name in ("text.csv", "table.parquet"):
        results = Results(tmp_path / name, schema)
        for given in rows:
            results.add([given])
        results.merge({"a": "Erika's, «one»", "b": "two"})
        tables.append((results.rows(), read(results.out)))
    assert tables[0][0].equals(tables[1][0])
    assert tables[0][1].equals(tables[1][1])
    assert tables[0][1].schema == tables[1][1].schema
    assert (tmp_path / "text.csv").read_bytes().startswith(b"name,key,")


def test_runs_of_another_grid_are_kept_beside_the_table(results):
    for key in "ab":
        results.add([row(key)])
    assert results.merge({"a": "x"})["key"].to_list() == ["a"]
    assert results.merge({"b": "x"})["key"].to_list() == ["b"]
    assert seen(results) == {"a": 1.0, "b": 1.0}
    assert len(results.merge({"a": "x", "b": "x"})) == 2
    assert not results.folder.exists()


def test_a_run_that_is_made_again_replaces_the_first(results):
    results.add([row("a", None, error="it failed")])
    results.add([row("a", 1.5)])
    assert seen(results) == {"a": 1.5}
    results.merge({"a": "x"})
    results.add([row("a", 2.5)])
    assert seen(results) == {"a": 2.5}
    results.merge({})  # nobody asks for it, so it goes among the others
    results.add([row("a", 3.5)])
    assert seen(results) == {"a": 3.5}


@pytest.mark.filterwarnings("ignore:removed")
def test_what_a_kill_leaves_does_no_harm(results):
    results.add([row("a")])
    part = results.folder / "a.parquet"
    half = part.read_bytes()[:100]
    left = results.folder / ".b.parquet.x.hushrec-draft"
    left.mkdir()
    (left / "new").write_bytes(half)  # while a run was written
    assert seen(results) == {"a": 1.0}
    whole = part.read_bytes()
    results.merge({"a": "x"})
    assert not results.folder.exists()
    results.folder.mkdir()
    part.write_bytes(whole)  # between writing the table and removing the files
    assert seen(results) == {"a": 1.0}
    assert len(results.merge({"a": "x"})) == 1


def test_a_file_that_is_written_in_place_would_be_noticed(results):
    results.add([row("a")])
    (results.folder / "b.parquet").write_bytes((results.folder / "a.parquet").read_bytes()[:100])
    with pytest.raises(ConfigError):
        results.rows()


def test_other_tables_are_refused_and_untouched(results):
    results.out.parent.mkdir()
    other = pl.DataFrame({"user_id": ["u"]})
    (other.write_csv if results.out.suffix == ".csv" else other.write_parquet)(results.out)
    before = results.out.read_bytes()
    with pytest.raises(ConfigError, match="not a table of results; choose another file with --out"):
        results.merge({})
    assert results.out.read_bytes() == before


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written: .*--out"):
        Results(tmp_path / "file" / "table.parquet").add([row("a")])


def test_metrics_of_rankings_are_columns_before_the_epsilons():
    assert columns_of(True, ()) is SCHEMA  # old tables are read as they are
    both, ranked = columns_of(True, ("recall@5",)), columns_of(False, ("recall@5", "map@3"))
    assert list(both)[10:15] == ["settings", "rmse", "mae", "recall@5", "true_epsilon"]
    assert list(ranked)[10:14] == ["settings", "recall@5", "map@3", "true_epsilon"]
    assert both["recall@5"] == pl.Float64
    assert set(both) - set(SCHEMA) == {"recall@5", "measured"}
