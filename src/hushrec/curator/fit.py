"""The verbs of models: plan a fit, fit under a charge, and fit what costs nothing."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from hushrec import models
from hushrec.curator.authors import signed
from hushrec.curator.charging import Accept, Request, Resolve, Work, require_classes, require_loaded
from hushrec.curator.disk_space import release_size
from hushrec.curator.public_items import committed, item_prior
from hushrec.curator.series.part import Part
from hushrec.curator.statements import describe, from_data, not_private
from hushrec.curator.suggest_model import choice, choice_within
from hushrec.data.domain import Domain
from hushrec.data.people import People, PublicFacts
from hushrec.errors import BudgetUnsupported, ConfigError, LedgerError
from hushrec.models.base import Model, PrivateModel
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.run import MEASURING, ChargedRun, ExactRun
from hushrec.progress import Progress, stage, telling
from hushrec.release.artefact import Release

Spending = Budget | Literal["auto"]
"""A budget, or an equal share of what the ledger has left."""


def plan(domain: Domain, model: Model, budget: Budget, prior: Release | None = None) -> Plan:
    """Plan a fit: its measurements, their noise and the cost. Reads no data.

    Args:
        domain: the public domain.
        model: a model's settings.
        budget: what may be spent.
        prior: as for ``fit``.

    Raises:
        ConfigError: ``model`` is not one.
    """
    _require_model(model, "ask for its own plan, with plan(domain, budget) or hushrec randomize --plan")
    return committed(signed(model.plan(domain, budget), model, domain), item_prior(model, domain, prior))


def fit(
    data: People,
    model: Model | None = None,
    budget: Spending | None = None,
    *,
    ledger: Ledger | str | Path,
    series: str | Path | None = None,
    release_index: int | None = None,
    prior: Release | None = None,
    checkpoint: str | Path | bool = True,
    accept: Accept | Collection[Accept] = (),
    progress: Progress | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    A fit that was killed, interrupted or ended by an error after its charge is resumed by the same call,
    under the same charge and with the same noise: its checkpoint lies next to the ledger until the release is
    made. Until you resume it, or give its charge up (``Ledger.forfeit_index``), nothing else is charged to
    its ledger there.

    Verbs that cost nothing: ``baseline`` fits without noise and privacy, ``fit_released``
    fits a data set that is released already, ``hushrec.testing.fit`` makes seeded experiments.

    Args:
        data: private ratings or interactions that ``load`` made.
        model: a model's settings; by default those of ``suggest_model``.
        budget: what may be spent. ``"auto"`` takes an equal share of what the ledger has left for the
            releases that are still planned, with its δ, unit and adjacency. A series names none.
        ledger: the population's ledger, or the path of one that ``Ledger.create`` made.
        series: the folder of a series, whose releases are charged together and share their noise: the first
            call charges what the ledger has left for as many releases as it has left, and each call makes
            the next one, from all that people have given and not deleted so far. It is as private as the
            ratings; if it is lost, or put back from an old copy, the series cannot go on. Models:
            ``GlobalEffects`` and ``Popularity``.
        release_index: number of the release in its ledger, from 0. None charges for the next free one; a
            release that was made before returns the same bytes and charges nothing, as its ``repeated`` says.
        prior: a release of other people's ratings, which say what is expected of the items that it shares
            with the catalogue: a baseline, whose ratings you declare public, or a private one. It is trusted
            as far as these people's noisy sums agree with it. A baseline of these same data is refused.
        checkpoint: where what this fit resumes from is kept until its release is made: by default in
            ``NAME.checkpoints`` next to the ledger (in the current folder if that is in a database), or in a
            folder of its own on a local disk, if you name one. It is as private as the ratings. False keeps
            nothing: a fit that is stopped then loses its charge, as a part of a series always does.
        accept: what the charge would otherwise be refused for; ``Accept`` lists it. Nothing is asked again
            of a fit that resumes.
        progress: called with the queries that are measured, and the epochs inside them; see
            ``hushrec.progress``.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        ShareExceeded: The plan costs more than its equal share (accept *share*).
        WeakBudget: ε is above 8 (accept *weak*).
        RecordsDropped: More than a tenth of the records were dropped or changed, or there are none (accept
            *dropped*); or no one is left; or interactions have ratings, which are not used (accept *rating*).
            ``hushrec.check`` shows why.
        UsersExceeded: There are more than twice as many users as declared (accept *users*).
        MemoryExceeded: This machine has too little memory for the fit; ``plan`` says what it needs.
        ReleaseError: The ledger's or the checkpoint's disk has too little room.
        LedgerError: The ledger does not exist, cannot be trusted, or would be a second one of the same users.
        ChargeUnpublished: A fit of other data or settings was stopped after its charge, or the release index
            was charged before and never published; the message says what helps.
        CheckpointError: The checkpoint, or the series' folder, is in use, damaged, or belongs to other data,
            settings or another ledger.
        BudgetUnsupported: The model does not support the budget or per-user ε.
        ConfigError: The data are in Spark, and the model needs more of them than sums; or the prior does not
            fit the model or the domain, is not public, or shows these same data; or there is no budget.
        DataError: The data were not loaded, the model learns from another kind of feedback, a block is
            damaged, or the domain has privacy classes and the data do not say who is in which.

        Nothing is charged, unless a note on the error says what is.

    Privacy: charged (every event of the plan).
    """
    request = Request(
        fitting(model, budget, prior, series),
        ledger=ledger,
        release_index=release_index,
        checkpoint=checkpoint if series is None else False,
        accept=accept,
    )
    return request.make(data, progress)


def fitting(
    model: Model | None,
    budget: Spending | None,
    prior: Release | None = None,
    series: str | Path | None = None,
) -> Resolve[Release]:
    """The first step of ``fit``, with its arguments."""
    if model is not None:
        _require_model(model, "to release data, call hushrec.randomize with it")
    if series is None:
        return partial(Fitting, model, budget, prior)
    if budget is not None or prior is not None:
        raise ConfigError("a series takes its budget from the ledger, and no prior: leave out both")
    return partial(Part, series, model)


def baseline(
    data: People,
    model: Model | None = None,
    *,
    prior: Release | None = None,
    progress: Progress | None = None,
) -> Release:
    """Fit without noise: the non-private baseline, whose statement says so. Publish it of public data alone.

    Args:
        data: ratings or interactions that ``load`` made.
        model: a model's settings; by default those of ``suggest_model``.
        prior, progress: as for ``fit``.

    Raises:
        ConfigError, DataError: As for ``fit``.

    Privacy: private; nothing hides who is in the data.
    """
    model, digest, release = _unprotected(data, model, prior, progress)
    return not_private(release, model, (digest, *(prior.statement.people if prior else ())))


def fit_released(
    data: ReleasedData, model: Model | None = None, *, progress: Progress | None = None
) -> Release:
    """Fit a data set that is released and paid for already. The release carries the data set's statement.

    Args:
        data: a released data set.
        model: a model's settings; by default those of ``suggest_model``.
        progress: as for ``fit``.

    Privacy: post-processing.
    """
    *_, release = _unprotected(data.ratings, model, None, progress)
    return from_data(release, data.statement)


def _unprotected(
    data: People, model: Model | None, prior: Release | None, progress: Progress | None
) -> tuple[Model, str, Release]:
    """A model, the digest of the data, and the model's release of them without noise."""
    require_loaded(data)
    facts = data.facts
    require_classes(facts)
    model = (
        choice(facts.domain, None, personal_epsilon=facts.has_personal_epsilon).model
        if model is None
        else model
    )
    _require_suitable(model, None, facts)
    public, terms = item_prior(model, data.domain, prior), model.baseline
    with telling(progress), stage("fitting"):
        digest = data.digest()
        people = data.capped(data.domain.max_per_user) if terms.unit == "user" else data
        return model, digest, _described(model.fit(people, ExactRun(terms, public)), data.domain)


class Fitting(Work[Release]):
    """A release of a model.

    Args:
        model, budget, prior: as for ``fit``.
        facts, account, release_index, mark: as of ``charging.Resolve``.

    Privacy: public until it is prepared; ``make`` is charged.
    """

    def __init__(
        self,
        model: Model | None,
        budget: Spending | None,
        prior: Release | None,
        facts: PublicFacts,
        account: Ledger | None,
        release_index: int | None,
        mark: str,
    ) -> None:
        self.domain, self.has_personal_epsilon = facts.domain, facts.has_personal_epsilon

        def share(model: Model) -> Budget:
            """An equal share of what the ledger has left."""
            assert account is not None
            return account.share(lambda less: model.plan(self.domain, less), release_index, mark)

        named = _required(budget, account)
        if model is None:
            model, self.because = (
                choice(self.domain, named, personal_epsilon=self.has_personal_epsilon)
                if isinstance(named, Budget)
                else choice_within(
                    share,
                    self.domain,
                    account.total,  # type: ignore[union-attr]
                    personal_epsilon=self.has_personal_epsilon,
                )
            )
        model.require_feedback(self.domain)
        spent = named if isinstance(named, Budget) else share(model)
        _require_suitable(model, spent, facts)
        self.public = item_prior(model, self.domain, prior)
        self.public_people = prior.statement.people if prior else ()
        self.plan = committed(signed(model.plan(self.domain, spent), model, self.domain), self.public)
        assert isinstance(model, PrivateModel)  # others have no plan
        self.model, self.footprint = model, model.footprint(self.domain, spent)

    def plan_at(self, budget: Budget) -> Plan:
        return self.model.plan(self.domain, budget)

    def largest(self, people: People, suffix: str = "") -> int:
        return release_size(self.model, self.plan, self.domain)

    def make(self, people: People, grant: Grant) -> Release:
        queries = self.model.queries(self.domain, self.plan.budget)
        people = people.capped(self.domain.max_per_user) if self.plan.budget.unit == "user" else people
        with stage(MEASURING, len(queries)):
            run = ChargedRun(self.plan, queries, grant, self.public)
            release = _described(self.model.fit(people, run), self.domain)
        return describe(
            release,
            queries,
            self.plan,
            grant,
            self.domain,
            personal_epsilon=self.has_personal_epsilon,
            reasons=run.reasons,
        )

    def content(self, release: Release) -> bytes:
        return release.to_bytes()

    def read(self, content: bytes) -> Release:
        return replace(Release.from_bytes(content), repeated=True)


def _described(release: Release, domain: Domain) -> Release:
    """The release with what the domain says about its items."""
    return replace(release, titles=domain.titles or (), features=domain.features or {})


def _require_model(model: object, fix: str) -> None:
    if not isinstance(model, Model):
        raise ConfigError(f"{type(model).__name__} is not a model; {fix}")


def _required(budget: Spending | None, account: Ledger | None) -> Spending:
    """A budget, or a share of a ledger that is there."""
    if budget is None:
        raise ConfigError(
            'a fit charges a budget: pass a Budget, or "auto" for an equal share of what the ledger has '
            "left. To fit without noise, and without privacy, call hushrec.baseline"
        )
    if isinstance(budget, str) and budget != "auto":
        raise ConfigError('budget is a Budget, or "auto" for an equal share of what the ledger has left')
    if isinstance(budget, str) and account is None:
        raise LedgerError(
            '"auto" takes a share of a ledger that is there: create it with its total and the number of '
            "releases (hushrec ledger create --max-releases), and leave out --new-ledger"
        )
    return budget


def _require_suitable(model: Model, budget: Budget | None, facts: PublicFacts) -> None:
    """Refuse a model that cannot learn from such data: of another kind, in Spark, or with per-user ε."""
    model.require_feedback(facts.domain)
    if facts.sums_only and not model.sums_alone:
        able = [name for name in models.MODELS if models.class_of(name).sums_alone]  # type: ignore[attr-defined]
        raise ConfigError(
            f"{type(model).__name__} needs more than sums over users, so it does not run on Spark; choose "
            f"{', '.join(able[:-1])} or {able[-1]}, or load the data here with hushrec.load"
        )
    kind = None if budget is None else (budget.unit, budget.adjacency)
    if facts.has_personal_epsilon and not (model.personal_epsilon and kind in (None, ("user", "add-remove"))):
        able = [name for name in models.MODELS if models.class_of(name).personal_epsilon]  # type: ignore[attr-defined]
        raise BudgetUnsupported(
            f"these ratings carry per-user ε, which {type(model).__name__} does not support; use "
            f'{" or ".join(able)} with unit "user" and adjacency "add-remove", or drop the column '
            "personal_epsilon"
        )
