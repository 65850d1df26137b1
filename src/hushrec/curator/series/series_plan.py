"""The plan of a series: one charge, of which every release draws its part; and its folder of people."""

import hmac
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from hushrec.arrays import Floats
from hushrec.curator.authors import signed
from hushrec.data.domain import Domain
from hushrec.errors import BudgetError, BudgetUnsupported, CheckpointError, ConfigError, LedgerStale
from hushrec.models.base import Model, PrivateModel, Repeated
from hushrec.privacy.accounting.ages import Part, joint_norm
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.checkpoint.folder import Folder, Holder
from hushrec.privacy.ledger.booking import Remainder
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.sums.series import Arrivals

_TERMS = "series.json"
_MEMORY, _MEASURED = re.compile(r"memory-(\d{4,})\.parquet"), re.compile(r"measured-(\d{4,})\.safetensors")
_KNOWN = re.compile(rf"series\.json|{_MEMORY.pattern}|{_MEASURED.pattern}")


class SeriesFolder(Holder):
    """A folder that one process holds at a time; only its owner can read it (0700).

    It is as private as the ratings, because it holds who gave which item, without the rating. Its noisy
    measurements are public. Without it, or with an older copy of it, a series cannot go on.

    Args:
        path: a folder of its own on a local disk, new or of the series.

    Privacy: private.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(Folder(Path(path).absolute(), _KNOWN, "series"))

    @property
    def path(self) -> Path:
        return self._folder.path

    @property
    def name(self) -> str:
        return self._folder.path.name

    def terms(self) -> dict[str, Any]:
        """The recorded start of the series; empty for a new folder. Privacy: public."""
        file = self._folder.path / _TERMS
        return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}

    def start(self, terms: Mapping[str, Any]) -> None:
        """Keep what the series is started with, as JSON values. Privacy: public."""
        with self._folder.translated():
            self._folder.write(_TERMS, json.dumps(dict(terms), sort_keys=True).encode())

    @property
    def part(self) -> int:
        """Number of the last release that is remembered; −1 in a new folder. Privacy: public."""
        return max(self._numbers(_MEMORY), default=-1)

    @property
    def last_measured(self) -> int:
        """Number of the last release whose measurements are kept; −1 if there are none. Privacy: public."""
        return max(self._numbers(_MEASURED), default=-1)

    @property
    def mark(self) -> str:
        """Commitment to what is remembered, under the series' own random number; empty in a new folder.

        Privacy: public; without that number, which stays in the folder, no one can test a guess.
        """
        if not (content := self._memory()):
            return ""
        return hmac.new(bytes.fromhex(self.terms()["series"]), content, "sha256").hexdigest()

    def arrivals(self) -> Arrivals:
        """The remembered rows. Privacy: private."""
        return Arrivals.from_bytes(content) if (content := self._memory()) else Arrivals()

    def remember(self, part: int, arrivals: Arrivals) -> None:
        """Keep what is remembered from a release on, on disk, in place of what was before.

        With it goes the mark of what was remembered at the release before. While no charge names this memory,
        that mark ties it to the one that the last charge names.

        Privacy: private.
        """
        before = self.arrivals().before if part == self.part else self.mark
        with self._folder.translated():
            self._folder.write(f"memory-{part:04}.parquet", replace(arrivals, before=before).to_bytes())
            for number in self._numbers(_MEMORY) - {part}:
                (self._folder.path / f"memory-{number:04}.parquet").unlink()

    def keep(self, part: int, measured: Mapping[str, Noisy], items: tuple[str, ...]) -> None:
        """Keep what a release measured. Privacy: the values are public."""
        values = {name: noisy.values for name, noisy in measured.items()}
        about = {"items": json.dumps(items)}
        with self._folder.translated():
            content = safetensors.numpy.save(values, about)
            self._folder.write(f"measured-{part:04}.safetensors", content)

    def measured(self, event: Event, items: tuple[str, ...]) -> dict[int, Noisy]:
        """Return the values measured under an event's name so far, by release.

        Args:
            event: what every release of the series measures.
            items: the catalogue. Where it is larger than that of a release, that release measured 0.

        Privacy: public.
        """
        places = {item: place for place, item in enumerate(items)}
        measurements = {}
        for part in sorted(self._numbers(_MEASURED)):
            path = self._folder.path / f"measured-{part:04}.safetensors"
            with self._folder.translated(), safetensors.safe_open(path, "np") as content:
                values = content.get_tensor(event.name)
                before = json.loads(content.metadata()["items"])
            if len(values) == len(before) and before != [*items]:
                values = _aligned(values, [places.get(item, -1) for item in before], len(items))
            measurements[part] = Noisy(event.name, values, event.deviation, event.step, event)
        return measurements

    def _memory(self) -> bytes:
        if self.part < 0:
            return b""
        with self._folder.translated():
            return (self._folder.path / f"memory-{self.part:04}.parquet").read_bytes()

    def _numbers(self, pattern: re.Pattern[str]) -> set[int]:
        return {int(match[1]) for name in self._folder.files() if (match := pattern.fullmatch(name))}


def _aligned(values: Floats, places: list[int], size: int) -> Floats:
    aligned, where = np.zeros(size), np.array(places)
    aligned[where[where >= 0]] = values[where >= 0]
    return aligned


def require_part(folder: SeriesFolder, charges: Sequence[Charge]) -> None:
    """Refuse a folder that does not remember exactly what the releases that the ledger knows have measured.

    A fit that was killed before its charge has remembered one more, which follows from the last one and is
    then charged. It measured nothing: a measurement that the ledger does not know was charged and forgotten.
    """
    recorded = f"the ledger knows {len(charges)} releases of this series"
    if folder.last_measured >= len(charges):
        raise LedgerStale(
            f"{folder.name}: {recorded}, but release {folder.last_measured + 1} was measured already: the "
            "ledger was restored from a backup. Put the ledger's latest copy back; without it the series "
            "cannot go on, because the same release would be measured again with new noise"
        )
    differs = f"{recorded}, the folder {folder.part + 1}"
    if folder.part in (len(charges) - 1, len(charges)):
        follows = folder.mark if folder.part < len(charges) else folder.arrivals().before
        if follows == (charges[-1].memory if charges else ""):
            return
        differs = f"release {len(charges)} of this series was measured with another copy of this folder"
    raise CheckpointError(
        f"{folder.name}: {differs}; put its latest copy back. Without it no one knows how much of each user "
        "was counted, so the series cannot go on"
    )


def plan_series(domain: Domain, model: Model, ledger: Ledger | str | Path) -> Plan:
    """Plan a series of ``fit`` with a folder that takes all that a ledger has left. Reads no data.

    Args:
        domain: the public domain.
        model: ``GlobalEffects`` or ``Popularity``.
        ledger: the population's ledger, or its path.

    Returns:
        The plan of the first release. All others have the same noise and cost nothing more.

    Raises:
        BudgetError: The ledger has no release left, or too little ε for them.
        BudgetUnsupported: A series protects users under add-remove, with δ above 0.
        ConfigError: The model has no series.
        LedgerError: The ledger does not exist, or cannot be trusted.
    """
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    releases = account.releases_left
    if releases < 1:
        raise BudgetError("this ledger has no release left; let its owner raise max_releases")
    left = Remainder(account.total, 1, account.spent)
    budget = left.share(lambda budget: _first(model, domain, budget, releases))
    return _first(model, domain, budget, releases)


def _first(model: Model, domain: Domain, budget: Budget, releases: int) -> Plan:
    """The plan of the first release, which settles what later ones take over as it is."""
    _require(model, domain, budget)
    assert isinstance(model, PrivateModel)
    settled = model.settled(domain, seen(budget, releases))
    split = repeated(settled, domain, budget, releases).split
    return series_plan(settled, domain, budget, releases, split)


def series_plan(
    model: Model, domain: Domain, budget: Budget, releases: int, split: Mapping[str, float]
) -> Plan:
    """Plan the releases of a series, with noise that makes all of them together cost the budget.

    Args:
        model: a model's settings, written out.
        budget: what the series may cost.
        releases: how many releases it has.
        split: of the budget, by name of measurement.
    """
    measured = repeated(model, domain, budget, releases)
    queries = [*measured.sums.queries()]
    total = math.fsum(split[query.name] for query in queries)
    split = {query.name: split[query.name] / total for query in queries}
    events = calibrated(queries, split, budget)
    assert isinstance(model, PrivateModel)  # others have no series
    plan = model.plan_of(events, split, domain, budget)
    return signed(replace(plan, part=Part(0, releases)), model, domain)


def repeated(model: Model, domain: Domain, budget: Budget, releases: int) -> Repeated:
    """Return a model's measurements in a series."""
    _require(model, domain, budget)
    assert isinstance(model, PrivateModel)
    return model.repeated(domain, seen(budget, releases), releases)


def seen(budget: Budget, releases: int) -> Budget:
    """Cost of one release whose noise is that of a running sum, ‖c‖² times that of the whole budget."""
    return budget.model_copy(update={"epsilon": budget.epsilon / joint_norm(releases) ** 2})


def _require(model: Model, domain: Domain, budget: Budget) -> None:
    if (budget.unit, budget.adjacency) != ("user", "add-remove") or budget.delta == 0:
        raise BudgetUnsupported("a series protects unit user under add-remove, with Gaussian noise: set δ")
    if not isinstance(model, PrivateModel) or model.split:
        raise ConfigError("a series is of GlobalEffects or Popularity, with the split that they have")
    model.require_feedback(domain)
    model.require_effect(unit=budget.unit, adjacency=budget.adjacency)
