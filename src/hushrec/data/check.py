"""A check of a source before any budget is spent on it.

Privacy: private; what it says is for the curator alone. It may show ratings, because a scale cannot be mended
without them, and never an id.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.assemble import in_memory
from hushrec.data.clean import Cleaner
from hushrec.data.declarations import MAX_VALUES, Scale
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped, Refusal, fraction
from hushrec.data.load import cleaned, load, loaded_folder
from hushrec.data.readers.scans import Scan
from hushrec.data.readers.sources import parts_of
from hushrec.data.reading import PLAIN, Reading
from hushrec.data.spark.records import is_frame
from hushrec.documents import terminal
from hushrec.documents.document import Block, Document, Facts, Paragraph, Points, Section

CONFIDENTIAL = "Confidential, for the curator only: do not publish, do not log"

_STEPS = (25, 20, 10, 5, 2, 1, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01)  # of usual scales: chosen by hand
_EVERY_RECORD = (
    "Whatever these columns say, every record counts as an item that the user gave or liked: {}. Leave out "
    "the records of what a user did not want; or, if people rate, declare the scale and which ratings are "
    "likes (hushrec domain --scale LO HI STEP --likes RATING)."
)
_ACCEPT = "If this is right, accept it:"
_VERDICTS: dict[Refusal, str] = {
    "nobody": "no one has an item left.",
    "empty": f"there is no record. {_ACCEPT} --accept dropped, accept='dropped'.",
    "dropped": "more than a tenth of the records were dropped or changed. "
    f"{_ACCEPT} --accept dropped, accept='dropped'.",
    "users": "there are more than twice as many users as the domain declares, so another column may stand in "
    "place of users. If all of them are real users, declare a larger bound from public knowledge; or accept "
    "it: --accept users, accept='users'.",
    "rating": "there are ratings other than 1, which a domain of interactions does not use. If they do not "
    "say whether a user liked an item, accept it: --accept rating, accept='rating'.",
}


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """The result of loading a source. Print it to read it.

    Attributes:
        domain: the public domain.
        n_users: users with at least one item left.
        n_entries: ratings or interactions left, one for each user and item.
        n_items: items of the catalogue that occur.
        dropped: how many records were read, and what was dropped or changed.
        columns: role to the column that is read for it; empty if the source was loaded before.
        unused: names of the other columns.
        hints: user ids that differ only by blanks or case, a scale that would hold all ratings, and that
            unused columns do not say what interactions are.

    Privacy: private, for the curator alone. ``repr`` shows nothing of it.
    """

    domain: Domain
    n_users: int
    n_entries: int
    n_items: int
    dropped: Dropped
    columns: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Every reason why ``fit`` would refuse to charge for it: see ``Dropped.refused``."""
        return self.dropped.refused(self.domain, self.n_users)

    @property
    def n_unliked(self) -> int | None:
        """Users' last ratings of an item that are below the domain's ``likes``; None without ``likes``."""
        if self.domain.likes is None:
            return None
        dropped = self.dropped
        gone = dropped.lost_records + dropped.duplicate
        return max(dropped.records - gone - self.n_entries, 0)

    def facts(self) -> Mapping[str, Any]:
        """Return the same facts as one object for JSON."""
        records = self.dropped.records
        return {
            "confidential": CONFIDENTIAL,
            "records": records,
            "users": self.n_users,
            "declared_users": self.domain.max_users,
            "items": self.n_items,
            "catalogue": self.domain.n_items,
            self.domain.feedback: self.n_entries,
            **({} if self.n_unliked is None else {"unliked": self.n_unliked}),
            "dropped": [
                {
                    "reason": loss.reason,
                    "records": loss.count,
                    "fraction": loss.count / records if records else None,
                    "text": loss.text,
                }
                for loss in self.dropped.losses(self.domain)
            ],
            "columns": dict(self.columns),
            "unused": list(self.unused),
            "hints": list(self.hints),
            "refused": list(self.refused),
        }

    def document(self) -> Document:
        """Return a document of the records read, dropped and changed, and of the reasons to refuse a fit."""
        records, domain = self.dropped.records, self.domain
        rows = [
            ("records", f"{records:,}"),
            ("users", f"{self.n_users:,} left; the domain declares at most {domain.max_users:,}"),
            ("items", f"{self.n_items:,} of the {domain.n_items:,} of the catalogue"),
            ("kept", f"{self.n_entries:,} {domain.feedback}, one for each user and item"),
        ]
        if self.columns:
            rows.append(("columns", ", ".join(f"{name} as {role}" for role, name in self.columns.items())))
            rows.append(("unused", ", ".join(self.unused) or "no other column"))
        if self.n_unliked is not None:
            unliked = f"{self.n_unliked:,} ratings below {domain.likes:g}, which are not used"
            rows.append(("unliked", unliked))
        blocks: list[Block] = [Paragraph(CONFIDENTIAL, "strong"), Facts(rows), _lost(self.dropped, domain)]
        if self.hints:
            blocks.append(Section("Hints", [Points(self.hints)]))
        first = "; read the hints first" if self.hints else ""
        verdicts = [f"A fit is refused before its charge: {_VERDICTS[reason]}" for reason in self.refused]
        blocks += map(Paragraph, verdicts or [f"A fit goes on with these records{first}."])
        return Document("check", "Check", blocks, facts=self.facts())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)

    def __repr__(self) -> str:
        return "Check(confidential)"


def _lost(dropped: Dropped, domain: Domain) -> Block:
    losses = dropped.losses(domain)
    if not losses:
        return Paragraph("None were dropped or changed.")
    listed = [f"{loss.count:,} ({fraction(loss.count, dropped.records)}) {loss.text}" for loss in losses]
    return Section("Dropped or changed", [Points(listed)])


def check(source: Any, domain: Domain, reading: Reading = PLAIN) -> Check:
    """Load a source as ``load`` does, and report what was read, dropped or changed, and why.

    Args:
        source: as for ``load``; or ``People`` or ``SparkPeople``. For these, a folder of people and a
            DataFrame of Spark, only counts are known.
        domain: the public domain.
        reading: as for ``load``.

    Returns:
        The result of loading the source, for the curator alone.

    Raises:
        DataError: the structure cannot be read.

    Privacy: private; charges nothing.
    """
    if is_frame(source):
        with load(source, domain, reading, where="spark") as kept:
            return _summed(kept)
    if loaded_folder(source):
        source = load(source, domain, reading)
    if hasattr(type(source), "facts"):
        return _summed(source)
    cleaner, scans = cleaned(parts_of(source, reading), domain, reading, again=True)
    with closing(cleaner):
        people = in_memory(cleaner)
        columns = dict(pair for scan in scans for pair in scan.columns.items())
        unused = tuple(dict.fromkeys(name for scan in scans for name in scan.unused))
        hints = [*_hints(cleaner, scans, reading.decimal, people.dropped)] if scans else []
        if unused and domain.rating_scale is None:
            hints.append(_EVERY_RECORD.format(", ".join(unused[:12])))
        return _summed(people, columns=columns, unused=unused, hints=tuple(hints))


def _summed(loaded: AnyPeople, **of_source: Any) -> Check:
    domain, n_entries = loaded.domain, 0
    occurs = np.zeros(domain.n_items, dtype=np.bool_)
    for block in loaded.blocks():
        occurs[block.items] = True
        n_entries += len(block.items)
    return Check(domain, loaded.n_users, n_entries, int(occurs.sum()), loaded.dropped, **of_source)


def _hints(cleaner: Cleaner, scans: list[Scan], decimal: str, dropped: Dropped) -> Iterator[str]:
    """Yield what the counts do not say. The files and tables are read again for the ratings."""
    alike = cleaner.db.execute(
        "SELECT sum(n) FROM (SELECT count(DISTINCT user_id) AS n FROM records WHERE user_id IS NOT NULL "
        "GROUP BY lower(trim(user_id)) HAVING n > 1)"
    ).fetchall()[0][0]
    if alike:
        yield (
            f"{alike:,} user ids differ from another only by blanks or case, and each counts as a person: "
            "write the ids of a person alike."
        )
    scale, off = cleaner.domain.rating_scale, dropped.clamped + dropped.rounded
    if scale is not None and 100 * off >= dropped.records > 0:
        cells = " UNION ALL ".join(scan.select(decimal) for scan in scans)
        listed = (
            f"SELECT DISTINCT value FROM ({cells}) WHERE isfinite(value) ORDER BY ALL LIMIT {MAX_VALUES + 1}"
        )
        values = np.array(cleaner.db.execute(listed).fetchall(), np.float64).ravel()
        fits = _fitting(values)
        yield (
            f"{fraction(off, dropped.records)} of the ratings are not on the scale {scale}; "
            f"{'no usual scale holds them all' if fits is None else f'the scale {fits} holds them all'}. "
            "Declare another scale only if it is known publicly, such as from the form on which people rate, "
            "never because the ratings show it."
        )


def _fitting(values: Floats) -> Scale | None:
    """Return the coarsest usual scale that holds all values."""
    for step in _STEPS if 0 < len(values) <= MAX_VALUES else ():
        steps, fits = (values - values[0]) / step, Scale(float(values[0]), float(values[-1]), step)
        if (np.abs(steps - np.round(steps)) < 1e-6 * (1 + steps)).all() and fits.n_values <= MAX_VALUES:
            return fits
    return None
