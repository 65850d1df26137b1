"""The same lists measured by hushrec, LensKit and RecTools, each by its own definitions.

    LENSKIT=PYTHON RECTOOLS=PYTHON python -m lab bench elsewhere [--data FILE] [--epsilon 4] [--held-out 100]

One draw of people (``top_n.protocol``) and a release of ``PrivateEASE``, unit user. The variables name the
Python of each environment (``make test-elsewhere``); the scripts are ``examples/evaluate_elsewhere``.
Noise is seeded: the release is not private.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix
from top_n import protocol
from top_n.entries import Asked, released
from top_n.protocol import DATA, DELTA, likes, measured, people, scores

import hushrec as hr

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "evaluate_elsewhere"


def pairs(rows: csr_matrix) -> pl.DataFrame:
    users, items = rows.nonzero()
    return pl.DataFrame({"user_id": users.astype(str), "item_id": items.astype(str)})


def lists(ranked: np.ndarray, given: csr_matrix) -> pl.DataFrame:
    """The hundred best of everybody, without what they fold in."""
    ranked = np.array(ranked, np.float32)
    ranked[given.nonzero()] = -np.inf
    best = np.argsort(-ranked, axis=1, kind="stable")[:, :100]
    users, places = np.indices(best.shape)
    columns = {"user_id": users.astype(str), "item_id": best.astype(str)}
    columns["score"], columns["rank"] = np.take_along_axis(ranked, best, axis=1), places + 1
    return pl.DataFrame({name: column.ravel() for name, column in columns.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--likes", type=float, default=4.0)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--held-out", type=int, default=protocol.HELD_OUT, help="people of each part")
    options = parser.parse_args()
    protocol.HELD_OUT = options.held_out
    split = people(likes(options.data, options.likes), 0)
    release = released(hr.PrivateEASE(), Asked(split, {}, "user", options.epsilon, DELTA, 0))
    given, hidden = split.test
    ranked = scores(release, given)
    with tempfile.TemporaryDirectory() as folder:
        known = csr_matrix(given.multiply(split.train.sum(0) > 0))  # LensKit's EASE refuses other items
        parts = {"train": split.train, "fold_in": known, "test": hidden}
        tables = {name: pairs(rows) for name, rows in parts.items()} | {"lists": lists(ranked, given)}
        for name, table in tables.items():
            table.write_parquet(Path(folder) / f"{name}.parquet")
        print(*(f"{name}  {of.mean():.4f}" for name, of in measured(ranked, split.test).items()), sep="\n")
        for name in ("lenskit", "rectools"):
            subprocess.run([os.environ[name.upper()], EXAMPLE / f"with_{name}.py", folder], check=True)


if __name__ == "__main__":
    main()
