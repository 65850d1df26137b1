import pytest

from hushrec.errors import ConfigError
from hushrec.experiments.demo import demonstration
from hushrec.models.private_ease import PrivateEASE


def test_its_own_folder_is_cleared(tmp_path):
    folder = tmp_path / "deep" / "demo"
    demonstration.prepare(folder)
    for name in (
        demonstration.LEDGER,
        f"{demonstration.LEDGER}-wal",
        demonstration.RELEASE,
        f"{demonstration.RELEASE}.part",
        demonstration.REPORT,
    ):
        (folder / name).write_text("old")
    demonstration.prepare(folder)
    assert [entry.name for entry in folder.iterdir()] == [demonstration.MARKER]


@pytest.mark.parametrize("mine", ["thesis.txt", "mine.safetensors", demonstration.LEDGER])
def test_what_it_did_not_write_is_never_deleted(tmp_path, mine):
    (tmp_path / mine).write_text("precious")
    with pytest.raises(ConfigError, match=rf"{mine}.*--out"):
        demonstration.prepare(tmp_path)
    assert (tmp_path / mine).read_text() == "precious"


def test_nor_is_anything_else_then(tmp_path):
    demonstration.prepare(tmp_path)
    (tmp_path / demonstration.LEDGER).write_text("old")
    (tmp_path / "mine.safetensors").write_text("precious")
    with pytest.raises(ConfigError, match=r"mine\.safetensors"):
        demonstration.prepare(tmp_path)
    assert (tmp_path / demonstration.LEDGER).exists()


def test_an_unusable_folder_is_an_error_with_its_fix(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--out"):
        demonstration.prepare(tmp_path / "file")


def test_a_folder_with_the_files_of_another_version_is_cleared(tmp_path):
    demonstration.prepare(tmp_path)
    (tmp_path / "curve.csv").write_text("old")
    demonstration.prepare(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == [demonstration.MARKER]


def test_the_release_is_of_clicks_private_and_charged(made, clicks):
    assert (made.model, made.kind, made.feedback) == ("PrivateEASE", "linear items", "interactions")
    assert made.items == clicks.domain.items
    assert made.statement.private
    assert (made.statement.epsilon, made.statement.unit) == (pytest.approx(1), "user")


@pytest.mark.parametrize("size", [demonstration.FULL, demonstration.QUICK])
def test_clicks_are_many_enough_for_pairs_of_items(size):
    """Otherwise PrivateEASE would list by popularity, and the columns of the table would be the same."""
    domain = size.make_clicks().domain
    for epsilon in size.epsilons:
        names = [query.name for query in PrivateEASE().queries(domain, demonstration.budget(epsilon))]
        assert "item pairs" in names


def cells(path):
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_the_table_of_clicks_has_the_numbers_and_why_they_are_not_private(list_rows, tmp_path):
    demonstration.write_clicks(list_rows, tmp_path / "clicks.csv")
    written = cells(tmp_path / "clicks.csv")
    assert [c["not_private_because"] for c in written] == ["seeded noise"] * 2 + ["no noise"]
    assert [(c["model"], c["epsilon"]) for c in written] == [("PrivateEASE", e) for e in ("1", "8", "inf")]
    for cell, row in zip(written, list_rows, strict=True):
        for name, number in (
            ("recall@20", row.found.recall),
            ("ndcg@100", row.found.ndcg),
            ("ndcg@100_deviation", row.deviation),
            ("popularity_recall@20", row.popular.recall),
            ("popularity_ndcg@100", row.popular.ndcg),
        ):
            assert float(cell[name]) == pytest.approx(number, rel=1e-5)


def test_the_table_of_ratings_too(rows, tmp_path):
    demonstration.write_ratings(rows, tmp_path / "ratings.csv")
    written = cells(tmp_path / "ratings.csv")
    assert [c["not_private_because"] for c in written] == ["seeded noise"] * 2 + ["no noise"] * 3
    assert [c["epsilon"] for c in written] == ["1", "8", "inf", "inf", "inf"]
    assert all(
        float(c["rmse"]) == pytest.approx(row.rmse, rel=1e-5) for c, row in zip(written, rows, strict=True)
    )
