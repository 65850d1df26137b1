"""A released data set: ratings that people randomized themselves, with what that promises them."""

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.errors import HushrecError, ReleaseError
from hushrec.figures import above
from hushrec.local import dataset_files
from hushrec.local.estimates import estimates
from hushrec.privacy.accounting.local_events import cell_loss
from hushrec.release.statement import Statement

LARGEST_STORED = 2**26
"""Cells of the largest data set that a ledger keeps whole."""
_DAMAGED = "this is no data set of hushrec, or it was damaged; fetch it again"
_GRAVEST = "NOT PRIVATE"
_MOST = 2**33
"""More people than there are."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleasedData:
    """A data set in place of private ratings, for anybody and any algorithm.

    Args:
        method: name of the method that made it.
        settings: the method's settings, as JSON values.
        ratings: the released rows. People are numbered from "1", with zeros in front, and who comes out
            without a cell is absent; the domain has no roster, and caps and bounds nothing beyond what there
            is.
        n_people: how many people there are, those without a cell included.
        statement: the statement of privacy.

    Raises:
        ReleaseError: The parts do not fit together.

    Privacy: public; post-processing of what the statement lists.
    """

    method: str
    settings: Mapping[str, Any]
    ratings: Ratings
    n_people: int
    statement: Statement

    def __post_init__(self) -> None:
        given = self.ratings
        try:
            settings = json.loads(json.dumps(dict(self.settings), allow_nan=False))
        except (TypeError, ValueError):
            raise ReleaseError("the settings of a data set are JSON values, all of them finite") from None
        object.__setattr__(self, "settings", settings)
        if not (
            self.method.isprintable()
            and self.n_people >= given.n_users
            and given.timestamps is None
            and given.asked is None
            and _numbers(given.users, self.n_people)
        ):
            raise ReleaseError(
                "the people of a data set are numbered: take their ids from dataset_files.numbered(n_people),"
                " in order, and leave times and wishes out"
            )
        if not self._keeps_its_word():
            raise ReleaseError("the settings tell more of a cell than the statement says")
        frame = frame_of(given.domain.items, tuple(given.domain.scale), self.n_people)
        if given.domain != frame:
            object.__setattr__(self, "ratings", replace(given, domain=frame))

    @property
    def table(self) -> pl.DataFrame:
        """``user_id, item_id, rating``, one row a cell."""
        return self.ratings.to_polars()

    def estimates(self) -> pl.DataFrame:
        """How many people rated each item, and their mean rating, without the bias of randomized response.

        Returns:
            ``item_id, count, count_error, mean, mean_error``: see ``hushrec.local.estimates``.

        Raises:
            ReleaseError: The data were made by another method, whose ratings are to be used as they stand.
        """
        return estimates(self.ratings, self.n_people, self.method, self.settings)

    def save(self, path: str | Path) -> Path:
        """Write the data set, and its facts beside it as ``NAME.statement.json``.

        Args:
            path: ending in ``.parquet`` or ``.csv``. A CSV file is read again only with its facts beside it.

        Returns:
            The path.

        Raises:
            ReleaseError: The name has another ending.
        """
        path = Path(path)
        dataset_files.write(path, self.ratings, self._facts())
        return path

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read and check a data set.

        Raises:
            ReleaseError: The file is missing, no data set, or altered.
        """
        path = Path(path)
        try:
            return cls._of(dataset_files.read_facts(path), path)
        except OSError as error:
            raise ReleaseError(f"{path} cannot be read: {error.strerror}") from None

    def to_bytes(self) -> bytes:
        """The Parquet file's bytes; the same data give the same bytes."""
        return dataset_files.to_parquet(self.ratings, self._facts())

    def for_ledger(self) -> bytes:
        """What a ledger keeps: the file, or of a data set of more than 2^26 cells the facts alone."""
        if self.ratings.n_ratings <= LARGEST_STORED:
            return self.to_bytes()
        return dataset_files.text(self._facts()).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The data set that these bytes hold.

        Raises:
            ReleaseError: They are none, were altered, or are but the facts of a large one.
        """
        if data[:1] == b"{":
            raise ReleaseError(
                "the ledger keeps only the digest of a data set this large: open the file that was saved"
            )
        with tempfile.TemporaryDirectory(prefix="hushrec-") as folder:
            file = Path(folder) / "data.parquet"
            file.write_bytes(data)
            try:
                return cls.open(file)
            except ReleaseError as error:
                raise ReleaseError(str(error).replace(str(file), "this")) from None

    @classmethod
    def collect(cls, reports: Iterable[Self | str | Path]) -> Self:
        """One data set of the reports of many people, each made on a device of his own.

        Args:
            reports: data sets or their files, with the same catalogue, scale, method and settings, in any
                order. People are numbered anew, in the order of their reports' digests, which tells nothing
                of whose they are.

        Returns:
            All their rows, with the largest ε of any of them.

        Raises:
            ReleaseError: There are none; they do not belong together; two are of one ledger, or the same one
                twice; one was collected before; or δ is too large for so many people.
        """
        opened = (cls.open(report) if isinstance(report, str | Path) else report for report in reports)
        found = sorted(
            ((str(report._facts()["sha256"]), report) for report in opened), key=lambda one: one[0]
        )
        given = [report for _, report in found]
        if not given:
            raise ReleaseError("there is no report to collect; give one or more")
        first = given[0]
        if any(_sort(report) != _sort(first) for report in given):
            raise ReleaseError(
                "these reports differ in catalogue, scale, method, settings or kind of promise; collect those"
                " that were made alike"
            )
        if len(given) > 1 and any(r.statement.private and not r.statement.ledger for r in given):
            raise ReleaseError(
                "one of these was collected before, and does not say from whom: collect the reports "
                "themselves, all at once"
            )
        ledgers = [report.statement.ledger["id"] for report in given if "id" in report.statement.ledger]
        if len(set(ledgers)) < len(ledgers) or len({digest for digest, _ in found}) < len(found):
            raise ReleaseError(
                "two of these are of one ledger, or one is given twice: the same people would count as "
                "others, and their losses would not be added; give one report of each ledger"
            )
        starts = np.cumsum([0, *(report.n_people for report in given)])
        n_people = int(starts[-1])
        if n_people > _MOST or first.statement.delta * 10 * n_people >= 1:
            raise ReleaseError(
                f"δ = {above(first.statement.delta)} is too large for {n_people:,} people, or they are too "
                "many to be true; a device's domain declares max_users of all people, and a δ that "
                "goes with it"
            )
        each = [
            report.ratings.users.cast(pl.Int64).to_numpy() - 1 + start
            for report, start in zip(given, starts, strict=False)
        ]
        counts = np.concatenate([report.ratings.counts for report in given])
        ratings = Ratings(
            frame_of(first.ratings.domain.items, tuple(first.ratings.domain.scale), n_people),
            dataset_files.numbered(n_people, np.concatenate(each) + 1),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([report.ratings.items for report in given]),
            np.concatenate([report.ratings.steps for report in given]),
        )
        return cls(first.method, first.settings, ratings, n_people, _together(given))

    def _keeps_its_word(self) -> bool:
        """Whether a cell's answer, by the settings, loses no more than the statement says."""
        law = [self.settings.get(name) for name in ("symbols", "exponent")]
        local = self.statement.local
        if self.method != "RandomizedResponse" or local is None or None in law:
            return True
        try:
            return float(cell_loss(*law)) <= local.epsilon * (1 + 1e-9)
        except (HushrecError, TypeError, ValueError, ArithmeticError):
            return False

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "format": dataset_files.FORMAT,
            "kind": dataset_files.KIND,
            "method": self.method,
            "settings": dict(self.settings),
            "items": list(self.ratings.domain.items),
            "scale": list(self.ratings.domain.scale),
            "n_people": self.n_people,
            "statement": self.statement.to_json(),
        }
        facts["sha256"] = dataset_files.digest(facts, self.ratings)
        return facts

    @classmethod
    def _of(cls, facts: Any, path: Path) -> Self:
        try:
            if facts["kind"] != dataset_files.KIND:
                raise ReleaseError(_DAMAGED)
            if facts["format"] != dataset_files.FORMAT:
                raise ReleaseError(f"{path} is of format {facts['format']!r}; upgrade hushrec to read it")
            n_people = facts["n_people"]
            lo, hi, step = map(float, facts["scale"])
            if not isinstance(n_people, int) or not 0 <= n_people <= _MOST:
                raise ReleaseError(_DAMAGED)
            domain = frame_of(tuple(map(str, facts["items"])), (lo, hi, step), n_people)
            statement = Statement.from_json(facts["statement"])
            ratings = dataset_files.read_rows(path, domain)
            if facts.pop("sha256") != dataset_files.digest(facts, ratings):
                raise ReleaseError("the data set was altered after it was written; fetch it again")
            return cls(str(facts["method"]), dict(facts["settings"]), ratings, n_people, statement)
        except ReleaseError:
            raise
        except (HushrecError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise ReleaseError(_DAMAGED) from None

    def __repr__(self) -> str:
        about = str(self.statement).splitlines()[0]
        return (
            f"ReleasedData({self.method}, {self.n_people:,} people, {self.ratings.domain.n_items:,} items, "
            f"{self.ratings.n_ratings:,} cells, {about})"
        )


@lru_cache(maxsize=8)
def frame_of(items: tuple[str, ...], scale: tuple[float, ...], n_people: int) -> Domain:
    """The domain of a data set, which is public itself: nothing is capped. Privacy: public."""
    return Domain(items, scale=scale, max_users=max(n_people, 1), cap=len(items))


def _numbers(users: pl.Series, n_people: int) -> bool:
    """Whether the ids are numbers from 1 to ``n_people`` as ``numbered`` writes them, ascending."""
    right = users.str.contains(rf"^[0-9]{{{len(str(n_people))}}}$")
    if users.null_count() or not right.all():
        return False
    numbers = users.cast(pl.Int64).to_numpy()
    return bool((np.diff(numbers, prepend=0) > 0).all()) and numbers.max(initial=0) <= n_people


def _sort(report: ReleasedData) -> tuple[Any, ...]:
    """What the reports that are collected must have in common."""
    domain, said = report.ratings.domain, report.statement
    promise = said.unit, said.adjacency, said.delta, said.analysis
    return report.method, report.settings, domain.items, domain.scale, promise


_LISTED = "the list of "
"""How the assumption begins that a roster is public: here of one person each."""
_ONCE = "each person's report was charged to a ledger of their own, on their device, and reported once"


def _grave(caveat: str) -> tuple[bool, bool, str]:
    """What says that nothing is promised comes first, somebody's claim last."""
    return not caveat.startswith(_GRAVEST), caveat.startswith("AUTHOR"), caveat


def _together(reports: Sequence[ReleasedData]) -> Statement:
    """What all reports together promise to each of their people."""
    said = [report.statement for report in reports]
    caveats = sorted({one.caveat for one in said if one.caveat}, key=_grave)
    if caveats and not caveats[0].startswith(_GRAVEST):
        caveats = ["; ".join(caveats)]
    alike = dict.fromkeys(line for one in said for line in one.assumes if not line.startswith(_LISTED))
    return replace(
        max(said, key=lambda one: one.epsilon),
        caveat=next(iter(caveats), ""),
        assumes=(*alike, *([_ONCE] if all(report.n_people <= 1 for report in reports) else [])),
        ledger={},
    )
