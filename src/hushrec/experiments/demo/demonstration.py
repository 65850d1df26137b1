"""The demonstration: made-up ratings, private fits over several ε, and one real release with its ledger."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hushrec.curator.fit import fit
from hushrec.data.ratings import Ratings
from hushrec.data.synthetic import netflix_like
from hushrec.errors import ConfigError
from hushrec.experiments.demo.sweep import Row
from hushrec.models.covariance_svd import CovarianceSVD
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release

DATA_SEED = 7
DELTA = 1e-6
MARKER = ".hushrec-demo"
RELEASE, LEDGER = "release-eps1.safetensors", "ledger.db"
CURVE, TABLE, REPORT = "curve.svg", "curve.csv", "report.html"
_OURS = (MARKER, RELEASE, LEDGER, CURVE, TABLE, REPORT)
"""What it writes; SQLite and interrupted writes put files of the same names with a suffix beside."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the demonstration is."""

    users: int
    items: int
    ratings: int
    epsilons: tuple[float, ...]
    seeds: int

    def make(self) -> Ratings:
        """The made-up ratings. Privacy: public: nobody's ratings."""
        return netflix_like(self.users, self.items, self.ratings, DATA_SEED)


FULL = Size(users=6_000, items=1_500, ratings=400_000, epsilons=(0.5, 1, 4, 8), seeds=3)
QUICK = Size(users=400, items=80, ratings=8_000, epsilons=(1, 8), seeds=2)


def budget(epsilon: float) -> Budget:
    """ε per user at the demonstration's δ, under add-remove."""
    return Budget(epsilon=float(epsilon), delta=DELTA, unit="user", adjacency="add-remove")


def prepare(folder: Path) -> None:
    """An empty folder for the demonstration. One that an earlier demonstration left is cleared.

    Args:
        folder: where the demonstration writes.

    Raises:
        ConfigError: The folder holds something that the demonstration did not write; nothing was deleted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(entry.name for entry in folder.iterdir())
        foreign = [name for name in found if MARKER not in found or not name.startswith(_OURS)]
        if foreign:
            raise ConfigError(
                f"{folder} holds {foreign[0]}, which is not known to come from the demonstration; move "
                "it, or choose another folder with --out"
            )
        for name in found:
            (folder / name).unlink()
        (folder / MARKER).write_text("hushrec demo wrote this folder and clears it when it runs again\n")
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}; choose another folder with --out") from None


def compile_kernels() -> None:
    """Have all kernels compiled, so that no run's seconds hold it."""
    fit(netflix_like(50, 20, 300, 0), CovarianceSVD(rank=2), budget(1), entropy=Seeded(0))


def real_release(ratings: Ratings, folder: Path) -> Release:
    """A release at ε = 1 as a curator makes it: entropy of the operating system, and a durable ledger.

    Privacy: charged (every event of the plan).
    """
    ledger = Ledger.create(folder / LEDGER, budget(1), domain=ratings.domain.digest)
    release = fit(ratings, CovarianceSVD(), budget(1), ledger=ledger)
    release.save(folder / RELEASE)
    return release


def telling_items(release: Release, count: int) -> list[str]:
    """The items whose ratings tell most about a person's taste: those of longest factors.

    Privacy: post-processing.
    """
    lengths = np.linalg.norm(release.tensors["item_factors"], axis=1)
    return [release.items[i] for i in np.argsort(-lengths, kind="stable")[:count]]


def write_table(rows: Sequence[Row], path: Path) -> None:
    """The numbers behind the curve, as CSV. Each row says that it is not private, and why."""
    lines = [
        "model,epsilon,delta,unit,adjacency,seeds,rmse,rmse_deviation,against_non_private,"
        + ",".join(f"rmse_popularity_{part}_of_5" for part in range(1, 6))
        + ",seconds,not_private_because"
    ]
    for row in rows:
        delta, why = (0, "no noise") if math.isinf(row.epsilon) else (DELTA, "seeded noise")
        numbers = (row.rmse, row.deviation, row.loss, *row.fifths, row.seconds)
        shown = ",".join("" if math.isnan(number) else f"{number:.6g}" for number in numbers)
        lines.append(f"{row.name},{row.epsilon:g},{delta:g},user,add-remove,{row.seeds},{shown},{why}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
