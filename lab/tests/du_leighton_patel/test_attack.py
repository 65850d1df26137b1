import polars as pl

from hushrec.data.synthetic import netflix_like
from lab.du_leighton_patel import attack


def test_raw_rows_are_found_and_noisy_ones_are_not(tmp_path):
    made = netflix_like(1500, 60, 30_000, 3)
    steps = made.values.astype("float64") + 1
    columns = {"user": made.user_index() + 1, "item": made.items + 1, "rating": steps}
    pl.DataFrame(columns).write_parquet(tmp_path / "ml-1m.parquet")
    work = attack.work(tmp_path)
    by_name = {case.name: case for case in work.cases()}
    bench = work.bench()
    raw = bench.measure(by_name["raw"])
    noisy = bench.measure(by_name["randomized response, corrected, ε = 50"])
    assert raw[0]["attacker"] == "Scoreboard-RH"
    assert raw[-1]["first"] > 500 > 100 > noisy[-1]["first"]
    assert (raw[0]["epsilon"], noisy[0]["epsilon"]) == ("∞", "50")
    (kept,) = {row["epsilon"] for row in bench.measure(by_name["distance-based, p = p* = 0.9"])}
    assert kept.endswith("(items only)")
    (shared,) = {row["epsilon"] for row in bench.measure(by_name["shared representatives, p = p* = 0.9"])}
    assert shared == "∞"
