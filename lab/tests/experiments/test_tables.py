import math

import polars as pl

from lab.experiments import tables
from lab.experiments.reading import Curve

COLUMNS = ["name", "unit", "adjacency", "analysis", "epsilon", "split", "rmse"]
OURS = Curve("ours", "record", "replace", "corrected")
STILL = Curve("still", "record", "replace", "corrected")


def rows():
    made = [("average", None, None, None, math.inf, split, 0.95) for split in range(5)]
    made += [("ours", None, None, "corrected", math.inf, split, 0.9) for split in range(5)]
    for split in range(5):
        made += [(*OURS, e, split, r) for e, r in ((0.5, 0.96 + 0.001 * (split - 2)), (2.0, 0.94))]
        made += [(*STILL, e, split, 1.0) for e in (0.5, 2.0)]
    reference = (pl.col("name") == "average").replace_strict(
        {True: None, False: "{}"}, return_dtype=pl.String
    )
    zeros = [pl.lit(0.0).alias(name) for name in ("mae", "true_epsilon", "claimed_epsilon", "fit_seconds")]
    table = pl.DataFrame(made, schema=COLUMNS, orient="row", infer_schema_length=None)
    return table.with_columns(reference.alias("settings"), *zeros, pl.lit(0.0).alias("predict_seconds"))


def test_errors_in_columns_of_epsilon():
    text = tables.errors(rows(), {"Ours": OURS, "Still": STILL}, [0.5, 2, 4, math.inf], ["average"])
    lines = text.splitlines()
    assert lines[0] == "|  | ε = 0.5 | ε = 2 | ε = 4 | no noise |"
    assert lines[1] == "| --- | ---: | ---: | ---: | ---: |"
    assert lines[2].startswith("| Ours | 0.9600 ± 0.00")
    assert lines[2].endswith("| 0.9400 ± 0.0000 |  | 0.9000 ± 0.0000 |")
    assert lines[3] == "| Still | 1.0000 ± 0.0000 | 1.0000 ± 0.0000 |  |  |"
    assert lines[4] == "| average |  |  |  | 0.9500 ± 0.0000 |"


def test_crossings_beside_the_papers():
    printed = {("Ours", "average"): 0.9, ("Still", "average"): "–"}
    lines = tables.crossings(rows(), {"Ours": OURS, "Still": STILL}, ["average"], printed).splitlines()
    assert lines[0] == "|  | crosses average at ε = | in the paper |"
    assert lines[2].startswith("| Ours | 1 (0.9")
    assert lines[2].endswith(") | 0.9 |")
    assert lines[3] == "| Still | > 2 | – |"
    alone = tables.crossings(rows(), {"Ours": OURS}, ["average"]).splitlines()
    assert alone[1] == "| --- | ---: |"
