"""The verbs of models: plan a fit, fit under a charge, and fit what costs nothing."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from hushrec import models
from hushrec.curator.admit import Accept, require_classes, require_loaded
from hushrec.curator.authors import name_authors
from hushrec.curator.charging import Recipe, charged
from hushrec.curator.public_items import commit_to_facts, item_prior
from hushrec.curator.statements import describe, from_data, not_private
from hushrec.curator.stopped_fits import StoppedFits, stopped_fits
from hushrec.curator.suggest_model import choice
from hushrec.curator.years import handed_over, whole_of, year_of
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import PublicFacts
from hushrec.errors import BudgetUnsupported, ConfigError, LedgerError
from hushrec.item_prior import ItemPrior
from hushrec.models.base import Model, PrivateModel
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import MEASURING, Grant, WithoutNoise
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.progress import Progress, stage, telling
from hushrec.release.artefact import Release

Spending = Budget | Literal["auto"]
"""A budget, or a share of what the ledger has left."""


def plan(
    domain: Domain, model: Model, budget: Budget, prior: Release | None = None, *, whole: Budget | None = None
) -> Plan:
    """Plan a fit: its measurements, their noise and the cost. Reads no data.

    Args:
        domain: the public domain.
        model: a model's settings.
        budget: what may be spent.
        prior: as for ``fit``.
        whole: what all releases may cost, if this is the first of several that take over each other's sums.

    Raises:
        ConfigError: ``model`` is not one.
    """
    _require_model(model, "ask for its own plan, with plan(domain, budget) or hushrec randomize --plan")
    if whole and isinstance(model, PrivateModel) and model.continues:
        planned = model.plan_in_year(domain, budget, Year(whole, model.sums_digest(domain, whole)))
    else:
        planned = model.plan(domain, budget)
    return commit_to_facts(name_authors(planned, model, domain), item_prior(model, domain, prior))


def fit(
    data: AnyPeople,
    model: Model | None = None,
    budget: Spending | None = None,
    *,
    ledger: Ledger | str | Path,
    prior: Release | None = None,
    fresh: bool = False,
    without: Collection[int] = (),
    sums: str | Path | None = None,
    accept: Accept | Collection[Accept] = (),
    progress: Progress | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    A fit that was killed, interrupted or ended by an error after its charge goes on where it stood when the
    same call is made again, under the same charge: what it measured is kept next to the ledger until the
    release is made. Until you repeat it, or give its charge up (``Ledger.forfeit``), nothing else is charged
    to its ledger there.

    Where the ledger allows several releases, those of one model take over each other's sums, as far as the
    model can (``Model.continues``): the first gets half of the ledger, later ones improve on it, and each
    states the ε of all charges whose sums it holds.

    Verbs that cost nothing: ``baseline`` fits without noise and privacy, ``fit_released``
    fits a data set that is released already, ``hushrec.testing.fit`` makes seeded experiments.

    Args:
        data: private ratings or interactions that ``load`` made.
        model: a model's settings; by default those of ``suggest_model``.
        budget: what may be spent. ``"auto"`` takes a share of what the ledger has left for the releases that
            are still planned, with its δ, unit and adjacency: half for the first of a model that takes over
            sums, else an equal one.
        ledger: the population's ledger, or the path of one that ``Ledger.create`` made.
        prior: a release of other people's ratings, which say what is expected of the items that it shares
            with the catalogue: a baseline, whose ratings you declare public, or a private one. It is trusted
            as far as these people's noisy sums agree with it. A baseline of these same data is refused.
        fresh: take over no sums of earlier releases. A person who left is then counted no more.
        without: releases, by their index in the ledger, whose sums are left out, with those of every release
            that holds them: those of a broken import, for example.
        sums: where what was measured is kept until the release is made, and what it hands to the next of its
            year, if not in ``NAME.sums`` next to the ledger (in the current folder if that is in a database);
            as private as the ratings. It has to be on a local disk, and the same in every call.
        accept: what the charge would otherwise be refused for; ``Accept`` lists it.
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
        LedgerError: The ledger does not exist, cannot be trusted, or would be a second one of the same users.
        ChargeUnpublished: A fit of another model or budget was stopped after its charge; or this one was, and
            its rows were others (accept *changed*). The message says what helps.
        SumsError: What was measured cannot be kept, or is gone.
        BudgetUnsupported: The model does not support the budget or per-user ε.
        ConfigError: The data are in Spark, and the model needs more of them than sums; or the prior does not
            fit the model or the domain, is not public, or shows these same data; or there is no budget.
        DataError: The data were not loaded, the model learns from another kind of feedback, a block is
            damaged, or the domain has privacy classes and the data do not say who is in which.

        Nothing is charged, unless a note on the error says what is.

    Privacy: charged (every measurement of the plan).
    """
    require_loaded(data)
    with telling(progress), stopped_fits(ledger, sums) as stopped:
        stopped.settle(data.digest)
        planned = recipe(data.facts, model, budget, prior, stopped, fresh=fresh, without=without)
        return charged(data, planned, stopped, accept=accept)


def recipe(
    facts: PublicFacts,
    model: Model | None,
    budget: Spending | None,
    prior: Release | None,
    stopped: StoppedFits,
    *,
    fresh: bool = False,
    without: Collection[int] = (),
) -> Recipe[Release]:
    """Plan a fit from public facts, with the arguments of ``fit``: choose its model, year and share."""
    if model is not None:
        _require_model(model, "to release data, call hushrec.randomize with it")
    domain, account = facts.domain, stopped.ledger
    _require_budget(budget, account)
    named = budget if isinstance(budget, Budget) else None
    state = account.state() if account and account.kept else None
    # A stopped fit is gone on with only if the budget is the one it was charged for, or is left open.
    held = stopped.waiting if named in (None, stopped.waiting and stopped.waiting.budget) else None

    # The model: as named, or suggested by what its year may cost; one that takes nothing over, by its share.
    because = ""
    if model is None:
        whole = held.year.whole if held and held.year else state and whole_of(state, named, fresh=fresh)
        whole = whole or _budget_of(named, account, held, None)
        model, because = choice(domain, whole, personal_epsilon=facts.has_personal_epsilon)
        if not model.continues:
            alone = _budget_of(named, account, held, None)
            model, because = choice(domain, alone, personal_epsilon=facts.has_personal_epsilon)
    model.require_feedback(domain)
    # The year: a stopped fit's own, if it goes on; else what the ledger lets this release take over.
    year = None
    if state and isinstance(model, PrivateModel):
        goes_on = held is not None and _goes_on(held, model, domain, fresh, without)
        # A fit that goes on keeps the year of its charge: what the ledger would allow now may be another one.
        anew = None if goes_on else year_of(model, domain, state, named, fresh=fresh, without=without)
        year = held.year if held and goes_on else anew
    # The budget, and the measurements that the model lists under it, with what is public about items.
    spent = _budget_of(named, account, held, year)
    _require_suitable(model, spent, facts)
    public, earlier = item_prior(model, domain, prior), None
    if account and state and year and isinstance(model, PrivateModel):
        # In a year the sums are formed for what all its releases may cost, or they could not be added.
        planned = model.plan_in_year(domain, spent, year)
        earlier = handed_over(year, state, stopped.folder(account))
    else:
        planned = model.plan(domain, spent)
    assert isinstance(model, PrivateModel)  # others have no plan
    plan = commit_to_facts(name_authors(planned, model, domain), public)
    return Recipe(
        plan=plan,
        # Nothing here has read a rating: the people come in only after ``admit``.
        prepare=lambda people: partial(make_release, people, model, plan, public, earlier),
        content=Release.to_bytes,
        read=lambda content: replace(Release.from_bytes(content), repeated=True),
        footprint=model.footprint(domain, year.whole if year else spent),
        because=because,
        public_people=prior.statement.people if prior else (),
    )


def _goes_on(
    held: Charge, model: PrivateModel, domain: Domain, fresh: bool, without: Collection[int]
) -> bool:
    """Whether a stopped fit is of the same model and sums, and so goes on in the year of its charge.

    It does not if it took over what is to be left out: its charge is then refused as one of another plan.
    """
    inside = held.year.releases if held.year else ()
    if held.model != type(model).__name__ or (fresh and inside) or {*without} & {*inside}:
        return False
    return held.year is None or model.sums_digest(domain, held.year.whole) == held.year.sums


def _budget_of(
    named: Budget | None, account: Ledger | None, held: Charge | None, year: Year | None
) -> Budget:
    """The budget that is named; or that of a stopped fit; or a share of what the ledger has left."""
    if named:
        return named
    assert account is not None
    if held and held.budget:
        return held.budget
    return account.share(first=year is not None and not year.releases)


def make_release(
    people: AnyPeople,
    model: PrivateModel,
    plan: Plan,
    public: ItemPrior,
    earlier: Carried | None,
    grant: Grant,
) -> Release:
    """Measure through the grant, and make the release with its statement.

    Privacy: charged (every measurement of the plan).
    """
    facts, domain = people.facts, people.domain
    # Under unit record a cap would let one rating displace another, which are two changes.
    people = people.capped(domain.max_per_user) if plan.budget.unit == "user" else people
    grant.prior, grant.earlier = public, earlier
    with stage(MEASURING, len(plan.measurements)):
        release = _with_texts(model.fit(people, grant), domain)
    grant.require_made()
    return describe(release, grant, domain, personal_epsilon=facts.has_personal_epsilon)


def baseline(
    data: AnyPeople,
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
    model, digest, release = _fit_without_noise(data, model, prior, progress)
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
    *_, release = _fit_without_noise(data.ratings, model, None, progress)
    return from_data(release, data.statement)


def _fit_without_noise(
    data: AnyPeople, model: Model | None, prior: Release | None, progress: Progress | None
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
    _require_model(model, "give the settings of one, such as CovarianceSVD()")
    _require_suitable(model, None, facts)
    public, terms = item_prior(model, data.domain, prior), model.baseline
    with telling(progress), stage("fitting"):
        digest = data.digest()
        people = data.capped(data.domain.max_per_user) if terms.unit == "user" else data
        return model, digest, _with_texts(model.fit(people, WithoutNoise(terms, public)), data.domain)


def _with_texts(release: Release, domain: Domain) -> Release:
    """The release with what the domain says about its items."""
    return replace(release, titles=domain.titles or (), features=domain.features or {})


def _require_model(model: object, fix: str) -> None:
    if isinstance(model, type):
        raise ConfigError(f"{model.__name__} is a class, and no settings; give {model.__name__}()")
    if not isinstance(model, Model):
        raise ConfigError(f"{type(model).__name__} is not a model; {fix}")


def _require_budget(budget: object, account: Ledger | None) -> None:
    """Refuse a fit without a budget, or with a share of no ledger."""
    if isinstance(budget, Budget):
        return
    if budget is None:
        raise ConfigError(
            'a fit charges a budget: pass a Budget, or "auto" for a share of what the ledger has left. To '
            "fit without noise, and without privacy, call hushrec.baseline"
        )
    if budget != "auto":
        raise ConfigError('budget is a Budget, or "auto" for a share of what the ledger has left')
    if account is None:
        raise LedgerError(
            '"auto" takes a share of a ledger that is there: create it with its total and the number of '
            "releases (hushrec ledger create --max-releases), and leave out --new-ledger"
        )


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
