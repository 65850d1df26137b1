"""One verb: make the next release of a series."""

import json
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from hushrec.curator.acceptance import admit, pays
from hushrec.curator.accounts import spending
from hushrec.curator.known_items import committed, known
from hushrec.curator.room import kept_size, release_size, reserved, reserved_beside
from hushrec.curator.series.series_folder import SeriesFolder, require_part
from hushrec.curator.series.series_plan import plan_series, repeated, series_plan
from hushrec.curator.statements import describe
from hushrec.data.domain import Domain
from hushrec.data.interactions import Interactions
from hushrec.data.ratings import Ratings
from hushrec.errors import (
    BudgetError,
    BudgetUnsupported,
    CheckpointError,
    ConfigError,
    DataError,
    LedgerError,
)
from hushrec.estimation.running_sums import running_sum
from hushrec.models.base import Model
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.ages import Part
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.privacy.run import MEASURING, ChargedRun
from hushrec.progress import Progress, stage, telling
from hushrec.release.artefact import Release


def fit_next(
    ratings: Ratings | Interactions,
    config: Model,
    folder: str | Path,
    *,
    ledger: Ledger | str | Path,
    release_index: int | None = None,
    entropy: Entropy | None = None,
    accept_dropped: bool = False,
    accept_users: bool = False,
    accept_weak: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Make the next release of a series, whose releases are charged together and share their noise.

    The first call charges the ledger's remaining ε for as many releases as it has left. Each call then
    measures, once, what people have given and not deleted so far, every record weighted by how many
    releases ago it came, and estimates the running sums from all measurements of the series
    (``privacy.accounting.ages`` and ``statistics.series.arrivals``). A fit that is stopped after its part was
    charged loses that part: noise is never drawn twice for one. The next call goes on with the part after it.

    Args:
        ratings: all that people have given so far, in memory. Users and items may join, and be gone.
        config: ``GlobalEffects`` for ratings, ``Popularity`` for interactions; the same in all calls.
        folder: the series' own folder on a local disk, new for the first call. It is as private as the
            ratings. If it is lost, or put back from an old copy, the series cannot go on.
        ledger: the population's ledger, or its path; of unit ``user`` under ``add-remove``.
        release_index: of a release that was made before, whose bytes are returned; None for the next.
        entropy: as for ``fit``; a new one for each call.
        accept_dropped: as for ``fit``.
        accept_users: as for ``fit``.
        accept_weak: as for ``fit``, of the ε of the whole series, and for its first release alone.
        progress: as for ``fit``.

    Returns:
        The release. Its statement has the ε of the whole series.

    Raises:
        BudgetError: The ledger has nothing left, or the series has no release left.
        WeakBudget: As for ``fit``.
        BudgetUnsupported: Another unit or adjacency, no δ, or ratings that carry per-user ε.
        ConfigError: The model has no series, or is another one than before.
        CheckpointError: The folder is in use, lost, of another series, or older than the ledger.
        LedgerStale: The ledger is older than the folder: a backup of it was restored.
        LedgerError, RecordsDropped, UsersExceeded, MemoryExceeded: As for ``fit``.
        DataError: The ratings are not in memory, or their domain has changed in more than its items.

    Privacy: charged (every event of the plan, once for the whole series).
    """
    if not isinstance(ratings, Ratings | Interactions):
        raise DataError("a series takes ratings in memory: load them with hushrec.load")
    if ratings.asks or ratings.domain.privacy_classes:
        raise BudgetUnsupported(
            "a series gives everybody the same ε; drop the column epsilon, and declare a domain without "
            "privacy classes"
        )
    if isinstance(entropy, Checkpoint):
        raise CheckpointError("a series has a folder of its own; leave out entropy")
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    with SeriesFolder(folder) as series, telling(progress):
        terms, settled, planned = _next(series, config, ratings.domain, account, release_index)
        if release_index is not None:
            return _stored(account, planned, release_index)
        assert isinstance(settled, PrivateModel)  # others have no plan
        admit(
            ratings,
            planned.model,
            settled.footprint(ratings.domain, planned.budget),
            spends=pays(account, entropy),
            accept_dropped=accept_dropped,
            accept_users=accept_users,
        )
        if not series.terms():  # not before: a first release that was refused may change its domain
            series.start(terms)
        return _released(ratings, settled, series, planned, account, entropy, accept_weak)


def _next(
    series: SeriesFolder, config: Model, domain: Domain, account: Ledger, release_index: int | None
) -> tuple[dict[str, Any], Model, Plan]:
    """The terms of the series, its model as they settle it, and the plan of the release that comes next."""
    terms, about = series.terms(), json.loads(json.dumps(_about(config, domain)))
    if not terms:
        whole = plan_series(config, domain, account)
        assert whole.part is not None
        terms = about | {"releases": whole.part.of, "budget": whole.budget.model_dump(), "ledger": account.id}
        terms["settled"] = dict(whole.config)  # and not from a catalogue that grew
        terms["shares"] = {line.event.name: line.share for line in whole.measurements}
        terms["series"] = token_hex(16)  # so that nobody takes another series of the same ledger for it
    if changed := [name for name, value in about.items() if terms[name] != value]:
        raise ConfigError(
            f"{series.name}: this series was started with another {' and '.join(changed)}; fit with the "
            "same, and with a domain that differs in its items alone"
        )
    if terms["ledger"] != account.id:
        raise LedgerError(f"{series.name}: this series is charged to another ledger; name that one")
    part = Part(0, terms["releases"], terms["series"])
    budget, shares, settled = Budget(**terms["budget"]), terms["shares"], type(config)(**terms["settled"])
    planned = replace(series_plan(settled, domain, budget, part.of, shares), part=part)
    charges = account.parts(planned)
    made = len(charges)
    if release_index is None:
        require_part(series, charges)
    if release_index is None and made >= terms["releases"]:
        raise BudgetError(
            f"{series.name}: all {made} releases of this series are made; for more, let the ledger's owner "
            "raise its total and max_releases, and start another series in a new folder"
        )
    return terms, settled, committed(replace(planned, part=replace(part, number=made)), known(config, domain))


def _about(config: Model, domain: Domain) -> dict[str, object]:
    """What stays the same in a series, as JSON values."""
    return {
        "model": type(config).__name__,
        "settings": config.settings(),
        "scale": [*domain.scale] if domain.rating_scale is not None else None,
        "likes": domain.likes,
        "max_users": domain.max_users,
    }


def _stored(account: Ledger, planned: Plan, release_index: int) -> Release:
    """A release that was made before."""
    assert planned.part is not None
    for number, charge in enumerate(account.parts(planned)):
        before = replace(planned, part=replace(planned.part, number=number))
        if (
            charge.release_index == release_index
            and (found := account.stored(before, release_index)) is not None
        ):
            account.handed_out(before, release_index)
            return replace(Release.from_bytes(found), repeated=True)
    raise LedgerError(
        f"release {release_index} of this ledger is not one of this series, or was made with another domain "
        "or version; leave out the index for the next release"
    )


def _released(
    ratings: Ratings | Interactions,
    config: PrivateModel,
    series: SeriesFolder,
    planned: Plan,
    account: Ledger,
    entropy: Entropy | None,
    accept_weak: bool,
) -> Release:
    assert planned.part is not None
    domain, part = ratings.domain, planned.part.number
    made = repeated(config, domain, planned.budget, planned.part.of)
    queries = [*made.sums.queries()]
    arrivals, dated = series.arrivals().joined(ratings.capped(domain.cap), part, made.sums.contribution_cap)
    series.remember(part, arrivals)  # before the charge: a part that is charged is remembered
    planned = replace(planned, part=replace(planned.part, memory=series.mark))
    with (
        reserved(series.path, kept_size(planned)) as of_series,
        reserved_beside(account, release_size(config, planned, domain)) as of_ledger,
    ):
        grant = account.charge(planned, None, entropy, accept_weak=accept_weak)
        with stage(MEASURING, len(queries)), spending(account, grant, planned):
            run = ChargedRun(planned, queries, grant)
            values = zip(queries, made.sums.measure(dated), strict=True)
            noisy = {query.name: run.measure(query, value) for query, value in values}
            if of_series:
                of_series.keep(0)
            series.keep(part, noisy, domain.items)
            running = {
                event.name: running_sum(series.measured(event, domain.items), part)
                for event in planned.events
            }
            release = replace(
                made.made(running, known(config, domain)),
                titles=domain.titles or (),
                features=domain.features or {},
            )
            release = describe(release, queries, planned, grant, domain)
            if of_ledger:
                of_ledger.keep(0)
            account.sampled(grant, release.to_bytes())
        account.published(grant)
    return release
