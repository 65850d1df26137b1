"""Rows of MOSTLY AI's engine with its differential privacy: people, and the items of each in a random order.

    python mostly_rows.py LIKES.npz ROWS.npz EPSILON DELTA PEOPLE SEED

It runs in an environment of its own, which ``lab/requirements-mostly.txt`` lists. Settings are the engine's
own, but for ε and δ; a tenth of ε goes to values, as by default. ``lab/scoreboard/top_n.md`` says what it
reads without a charge.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from mostlyai import engine
from mostlyai.engine.domain import DifferentialPrivacyConfig
from scipy.sparse import csr_matrix, save_npz


def people(number: int) -> pd.DataFrame:
    return pd.DataFrame({"person": [str(person) for person in range(number)]})


def main() -> None:
    likes, out, epsilon, delta, number, seed = sys.argv[1:]
    engine.set_random_state(int(seed))
    torch.set_num_threads(1)
    with np.load(likes) as given:
        person, item, shape = (given[name] for name in ("person", "item", "shape"))
    rng = np.random.default_rng(int(seed))
    order = np.lexsort((rng.random(len(item)), person))
    table = pd.DataFrame({"person": person[order].astype(str), "item": [f"i{at}" for at in item[order]]})
    config = DifferentialPrivacyConfig(
        max_epsilon=float(epsilon), delta=float(delta), value_protection_epsilon=float(epsilon) / 10
    )
    private = {"differential_privacy": config, "workspace_dir": Path("engine")}
    engine.split(
        table,
        ctx_data=people(shape[0]),
        ctx_primary_key="person",
        tgt_context_key="person",
        tgt_encoding_types={"item": "TABULAR_CATEGORICAL"},
        workspace_dir="engine",
    )
    engine.analyze(**private)
    engine.encode(workspace_dir="engine")
    engine.train(device="cpu", **private)
    engine.generate(ctx_data=people(int(number)), workspace_dir="engine")
    made = (
        pd.read_parquet("engine/SyntheticData").query("item.str.startswith('i', na=False)").drop_duplicates()
    )
    cells = made["person"].astype(int), made["item"].str[1:].astype(int)
    save_npz(out, csr_matrix((np.ones(len(made), np.float32), cells), (int(number), shape[1])))


if __name__ == "__main__":
    main()
