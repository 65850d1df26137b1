import pytest

from lab.experiments.results import SCHEMA, Results, read


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
