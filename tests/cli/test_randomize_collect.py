"""``hushrec randomize --collect``: reports of devices, put together."""

from pathlib import Path

import polars as pl
import pytest

from hushrec.models.du_leighton_patel.released_data import ReleasedData

BUDGET = "--epsilon 30 --delta 0 --unit user --adjacency replace --accept weak"


@pytest.fixture
def reports(here, hushrec):
    """Reports of four devices, each of which holds one person's ratings and a ledger of its own."""
    table = pl.read_csv("train.csv", infer_schema=False)
    Path("reports").mkdir()
    for number, person in enumerate(table["user_id"].unique().sort()[:4].to_list()):
        Path(f"device{number}").mkdir()
        table.filter(pl.col("user_id") == person).write_csv("own.csv")
        hushrec(
            f"randomize own.csv --domain domain.json --method randomized-response {BUDGET} "
            f"--ledger device{number}/ledger.db --new-ledger -o reports/{number}.parquet"
        )
    return " ".join(f"reports/{number}.parquet" for number in range(4))


def test_reports_are_put_together(reports, hushrec, refused):
    shown = hushrec(f"randomize --collect {reports} -o all.parquet").out
    assert shown.startswith("Wrote all.parquet: 4 people.\nε = 30 at δ = 0 per user, replace\n")
    assert shown.endswith("Next: hushrec show all.parquet\n")
    together = ReleasedData.open("all.parquet")
    assert together.statement.private
    assert together.statement.epsilon == pytest.approx(30)
    assert together.ratings.n_entries == sum(
        ReleasedData.open(report).ratings.n_entries for report in reports.split()
    )
    assert "exists; choose another file" in refused(f"randomize --collect {reports} -o all.parquet")


def test_what_is_no_report_is_refused(reports, hushrec, refused):
    assert "not a data set" in refused(f"randomize --collect {reports} domain.json -o all.parquet")
    hushrec(
        "randomize train.csv --domain domain.json --method randomized-response "
        "--epsilon 20 --delta 0 --unit user --adjacency replace --accept weak --ledger other.db --new-ledger "
        "-o other.parquet"
    )
    assert "reports differ" in refused(f"randomize --collect {reports} other.parquet -o all.parquet")
    assert "leave out --domain and --plan" in refused(
        f"randomize --collect {reports} -o all.parquet --domain domain.json --plan"
    )
    assert "needs the data sets to combine, and -o" in refused(f"randomize --collect {reports}")
    assert "give --domain and --method" in refused(f"randomize {reports} -o all.parquet")
    assert "name it all.txt.parquet" in refused(f"randomize --collect {reports} -o all.txt")
