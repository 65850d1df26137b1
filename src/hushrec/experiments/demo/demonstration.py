"""The demonstration: made-up clicks and ratings, fits over several ε, and a real release with its ledger."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hushrec.curator.fit import fit
from hushrec.data.interactions import Interactions
from hushrec.data.ratings import Ratings
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import ConfigError
from hushrec.experiments.demo.clicks import METRICS, ListRow
from hushrec.experiments.demo.made_up_titles import MadeUp, made_up_titles
from hushrec.experiments.demo.sweep import Row
from hushrec.models.covariance_svd import CovarianceSVD
from hushrec.models.private_ease import PrivateEASE
from hushrec.pages import recommender
from hushrec.pages.item_table import ItemTable
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release

DATA_SEED = 7
DELTA = 1e-6
MARKER = ".hushrec-demo"
RELEASE, LEDGER = "release-eps1.safetensors", "ledger.db"
CLICKS_CURVE, CLICKS_TABLE = "clicks.svg", "clicks.csv"
RATINGS_CURVE, RATINGS_TABLE, REPORT = "ratings.svg", "ratings.csv", "report.html"
TITLES, PAGE = "titles.csv", "page"
_FILES = (REPORT, CLICKS_CURVE, CLICKS_TABLE, RATINGS_CURVE, RATINGS_TABLE, RELEASE, TITLES, LEDGER)
WRITTEN = (*_FILES, PAGE)
_OURS = (MARKER, *_FILES, "curve.svg", "curve.csv")
"""What any version writes; SQLite and interrupted writes put files of the same names with a suffix beside.
The page is a folder."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large the demonstration is.

    Attributes:
        clicks: numbers of users, of items and of their clicks.
        held_out: number of users who are held out of the clicks.
        ratings: numbers of users, of items and of their ratings.
        epsilons: of the budgets.
        seeds: number of splits, each with its own noise.
    """

    clicks: tuple[int, int, int]
    held_out: int
    ratings: tuple[int, int, int]
    epsilons: tuple[float, ...]
    seeds: int

    def make_clicks(self) -> Interactions:
        """The made-up clicks. Privacy: public: nobody's clicks."""
        return interactions(*self.clicks, DATA_SEED)

    def make_ratings(self) -> Ratings:
        """The made-up ratings. Privacy: public: nobody's ratings."""
        return netflix_like(*self.ratings, DATA_SEED)


FULL = Size((6_000, 800, 300_000), 1_000, (6_000, 1_500, 400_000), epsilons=(0.5, 1, 4, 8), seeds=3)
QUICK = Size((2_000, 200, 40_000), 200, (400, 80, 8_000), epsilons=(1, 8), seeds=2)


def budget(epsilon: float) -> Budget:
    """ε per user at the demonstration's δ, under add-remove."""
    return Budget(epsilon=float(epsilon), delta=DELTA, unit="user", adjacency="add-remove")


def prepare(folder: Path) -> None:
    """An empty folder for the demonstration. One that an earlier demonstration left is cleared.

    Args:
        folder: where the demonstration writes.

    Raises:
        ConfigError: The folder holds something that the demonstration did not write; nothing was deleted.
        ReleaseError: The page in it does; nothing was deleted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(entry.name for entry in folder.iterdir())
        ours = [name for name in found if name.startswith(_OURS) or name == PAGE]
        foreign = [name for name in found if MARKER not in found or name not in ours]
        if foreign:
            raise ConfigError(
                f"{folder} holds {foreign[0]}, which is not known to come from the demonstration; move "
                "it, or choose another folder with --out"
            )
        if PAGE in found:
            recommender.clear(folder / PAGE)
        for name in found:
            if name != PAGE:
                (folder / name).unlink()
        (folder / MARKER).write_text("hushrec demo wrote this folder and clears it when it runs again\n")
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}; choose another folder with --out") from None


def compile_kernels() -> None:
    """Have all kernels compiled, so that no run's seconds hold it."""
    fit(netflix_like(50, 20, 300, 0), CovarianceSVD(rank=2), budget(1), entropy=Seeded(0))
    fit(interactions(300, 20, 1_500, 0), PrivateEASE(rank=2), budget(1), entropy=Seeded(0))


def real_release(clicks: Interactions, folder: Path) -> Release:
    """A release at ε = 1 as a curator makes it: entropy of the operating system, and a durable ledger.

    Privacy: charged (every event of the plan).
    """
    ledger = Ledger.create(folder / LEDGER, budget(1), domain=clicks.domain.digest)
    release = fit(clicks, PrivateEASE(), budget(1), ledger=ledger)
    release.save(folder / RELEASE)
    return release


def write_page(release: Release, folder: Path) -> None:
    """Made-up titles of the items, and the page on which people find and like them.

    Privacy: post-processing of the release; the titles are public.
    """
    made = made_up_titles(release.items)
    lines = [",".join(MadeUp._fields), *map(",".join, made)]
    (folder / TITLES).write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = dict(zip(MadeUp._fields, map(list, zip(*made, strict=True)), strict=True))
    table = ItemTable(columns["item_id"], columns["title"], columns["year"], columns["genres"])
    recommender.write(folder / RELEASE, folder / PAGE, titles=table)


def write_clicks(rows: Sequence[ListRow], path: Path) -> None:
    """The numbers behind the curve of clicks, as CSV. Each row says that it is not private, and why."""
    names = [*METRICS, f"{METRICS[1]}_deviation", *(f"popularity_{name}" for name in METRICS), "seconds"]
    numbers = ((*row.found, row.deviation, *row.popular, row.seconds) for row in rows)
    _write(path, names, zip(rows, numbers, strict=True))


def write_ratings(rows: Sequence[Row], path: Path) -> None:
    """The numbers behind the curve of ratings, as CSV. Each row says that it is not private, and why."""
    fifths = (f"rmse_popularity_{part}_of_5" for part in range(1, 6))
    names = ["rmse", "rmse_deviation", "against_non_private", *fifths, "seconds"]
    numbers = ((row.rmse, row.deviation, row.loss, *row.fifths, row.seconds) for row in rows)
    _write(path, names, zip(rows, numbers, strict=True))


def _write(path: Path, names: Sequence[str], rows: Iterable[tuple[Row | ListRow, tuple[float, ...]]]) -> None:
    lines = [f"model,epsilon,delta,unit,adjacency,seeds,{','.join(names)},not_private_because"]
    for row, numbers in rows:
        delta, why = (0, "no noise") if math.isinf(row.epsilon) else (DELTA, "seeded noise")
        shown = ",".join("" if math.isnan(number) else f"{number:.6g}" for number in numbers)
        lines.append(f"{row.name},{row.epsilon:g},{delta:g},user,add-remove,{row.seeds},{shown},{why}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
