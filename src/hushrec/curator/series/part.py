"""The next release of a series, whose releases are charged together and share their noise."""

import json
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from hushrec.curator.charging import Work, require_rows
from hushrec.curator.disk_space import release_size
from hushrec.curator.public_items import committed, item_prior
from hushrec.curator.series.series_plan import SeriesFolder, plan_series, repeated, require_part, series_plan
from hushrec.curator.statements import describe
from hushrec.data.domain import Domain
from hushrec.data.people import People, PublicFacts
from hushrec.errors import BudgetError, BudgetUnsupported, ConfigError, LedgerError
from hushrec.estimation.running_sums import running_sum
from hushrec.models.base import Model, PrivateModel
from hushrec.models.lists.popularity import Popularity
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting import ages
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.run import MEASURING, ChargedRun
from hushrec.progress import stage
from hushrec.release.artefact import Release


def series_model(domain: Domain) -> Model:
    """The model of a series, which follows from what people give."""
    return GlobalEffects() if domain.feedback == "ratings" else Popularity()


class Part(Work[Release]):
    """One release of a series; it holds the series' folder until it is closed.

    A release that is stopped after its part was charged loses that part: noise is never drawn twice for one.

    Args:
        folder: the series' own folder.
        model: as in all its releases; None for the one that follows from what people give.
        facts, account, release_index, mark: as of ``charging.Resolve``.

    Privacy: public until it is prepared; ``make`` is charged.
    """

    def __init__(
        self,
        folder: str | Path,
        model: Model | None,
        facts: PublicFacts,
        account: Ledger | None,
        release_index: int | None,
        mark: str,
    ) -> None:
        require_rows(facts, "a series")
        if facts.has_personal_epsilon or facts.domain.personal_epsilon:
            raise BudgetUnsupported(
                "a series gives everyone the same ε; drop the column personal_epsilon, and declare a domain "
                "without privacy classes"
            )
        if account is None:
            raise LedgerError("a series takes all that a ledger has left: create the ledger first")
        self.folder, self.domain = SeriesFolder(folder), facts.domain
        try:
            self._plan(model or series_model(facts.domain), account, release_index)
        except BaseException:
            self.close()
            raise

    def _plan(self, model: Model, account: Ledger, release_index: int | None) -> None:
        folder, domain = self.folder, self.domain
        self.terms = _terms(folder, model, domain, account)
        self.model = type(model)(**self.terms["settled"])
        assert isinstance(self.model, PrivateModel)  # others have no series
        budget, releases = Budget(**self.terms["budget"]), self.terms["releases"]
        first = series_plan(self.model, domain, budget, releases, self.terms["split"])
        part = ages.Part(0, releases, self.terms["series"])
        self.public = item_prior(self.model, domain)
        first = committed(replace(first, part=part), self.public)
        self.number = _number(folder, first, account, release_index)
        self.plan = replace(first, part=replace(part, number=self.number))
        self.footprint = replace(self.model.footprint(domain, budget), gathered=True)

    def plan_at(self, budget: Budget) -> Plan:
        raise BudgetError("all releases of a series are charged together")

    def largest(self, people: People, suffix: str = "") -> int:
        return release_size(self.model, self.plan, self.domain)

    def keeps_in(self, checkpoint: Path | None) -> Path:
        return self.folder.path

    def prepare(self, people: People) -> None:
        """Remember who gave what: a part that is charged is remembered."""
        if not self.folder.terms():  # not before: a first release that was refused may change its domain
            self.folder.start(self.terms)
        self.measures = repeated(self.model, self.domain, self.plan.budget, self.terms["releases"])
        capped, cap = people.gathered().capped(self.domain.max_per_user), self.measures.sums.contribution_cap
        arrivals, self.dated = self.folder.arrivals().joined(capped, self.number, cap)
        self.folder.remember(self.number, arrivals)
        assert self.plan.part is not None
        self.plan = replace(self.plan, part=replace(self.plan.part, memory=self.folder.mark))

    def make(self, people: People, grant: Grant) -> Release:
        queries = [*self.measures.sums.queries()]
        run = ChargedRun(self.plan, queries, grant)
        with stage(MEASURING, len(queries)):
            values = zip(queries, self.measures.sums.measure(self.dated), strict=True)
            noisy = {query.name: run.measure(query, value) for query, value in values}
        self.folder.keep(self.number, noisy, self.domain.items)
        running = {
            event.name: running_sum(self.folder.measured(event, self.domain.items), self.number)
            for event in self.plan.events
        }
        release = self.measures.build(running, self.public)
        release = replace(release, titles=self.domain.titles or (), features=self.domain.features or {})
        return describe(release, queries, self.plan, grant, self.domain)

    def content(self, release: Release) -> bytes:
        return release.to_bytes()

    def read(self, content: bytes) -> Release:
        return replace(Release.from_bytes(content), repeated=True)

    def close(self) -> None:
        self.folder.close()


def _terms(folder: SeriesFolder, model: Model, domain: Domain, account: Ledger) -> dict[str, Any]:
    """The start of the series: as recorded, or, in a new folder, as it will be recorded."""
    terms, about = folder.terms(), json.loads(json.dumps(_about(model, domain)))
    if not terms:
        whole = plan_series(domain, model, account)
        assert whole.part is not None
        terms = about | {"releases": whole.part.of, "budget": whole.budget.model_dump(), "ledger": account.id}
        terms["settled"] = dict(whole.settings)  # and not from a catalogue that grew
        terms["split"] = {line.event.name: line.split for line in whole.measurements}
        terms["series"] = token_hex(16)  # so that nobody takes another series of the same ledger for it
    if changed := [name for name, value in about.items() if terms[name] != value]:
        raise ConfigError(
            f"{folder.name}: this series was started with another {' and '.join(changed)}; fit with the "
            "same, and with a domain that differs in its items alone"
        )
    if terms["ledger"] != account.id:
        raise LedgerError(f"{folder.name}: this series is charged to another ledger; name that one")
    return terms


def _number(folder: SeriesFolder, first: Plan, account: Ledger, release_index: int | None) -> int:
    """Which release of the series comes next, or was made under a release index."""
    charges, part = account.parts(first), first.part
    assert part is not None
    if release_index is not None:
        numbers = [number for number, charge in enumerate(charges) if charge.release_index == release_index]
        for number in numbers:
            before = replace(first, part=replace(part, number=number))
            if account.stored(before, release_index) is not None:
                return number
        raise LedgerError(
            f"release {release_index} of this ledger is not one of this series, or was made with another "
            "domain or version; leave out the index for the next release"
        )
    require_part(folder, charges)
    if len(charges) >= part.of:
        raise BudgetError(
            f"{folder.name}: all {part.of} releases of this series are made; for more, let the ledger's "
            "owner raise its total and max_releases, and start another series in a new folder"
        )
    return len(charges)


def _about(model: Model, domain: Domain) -> dict[str, object]:
    """Return the facts that stay the same in a series, as JSON values."""
    return {
        "model": type(model).__name__,
        "settings": model.settings(),
        "scale": [*domain.rating_scale] if domain.rating_scale is not None else None,
        "likes": domain.likes,
        "max_users": domain.max_users,
    }
