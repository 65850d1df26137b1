"""Two verbs: plan what a fit will measure, and fit."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from hushrec import registry
from hushrec.curator.acceptance import pays, require_accepted
from hushrec.curator.accounts import account_of, spending
from hushrec.curator.authors import signed
from hushrec.curator.choices.recommended import choice, choice_of_share
from hushrec.curator.known_items import committed, known
from hushrec.curator.memory import require_memory
from hushrec.curator.shares import naming_share, next_share, opened
from hushrec.curator.statements import describe, from_data, not_private
from hushrec.data.domain import Domain
from hushrec.data.feedback import Feedback
from hushrec.data.interactions import Interactions
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import BudgetUnsupported, CheckpointError, ConfigError, DataError
from hushrec.item_prior import ItemPrior
from hushrec.local.released import ReleasedData
from hushrec.models.base import Model
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, version
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy
from hushrec.privacy.run import MEASURING, ChargedRun, ExactRun
from hushrec.progress import Progress, stage, telling
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement
from hushrec.statistics.engines.spark_engine import require_ready

_ANY = -1  # stands for release index None: the checkpoint then finds its charge by its commitment


def plan(config: Model, domain: Domain, budget: Budget, prior: Release | None = None) -> Plan:
    """What a fit will measure, with how much noise, at what cost. Reads no data.

    Args:
        config: a model's settings.
        domain: the public domain.
        budget: what may be spent.
        prior: as for ``fit``.

    Privacy: public.
    """
    return committed(signed(config.plan(domain, budget), config, domain), known(config, domain, prior))


def fit(
    ratings: Ratings | Interactions | Blocks | SparkFeedback | ReleasedData,
    config: Model | None = None,
    budget: Budget | Literal["auto"] | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    release_index: int | None = None,
    prior: Release | None = None,
    entropy: Entropy | None = None,
    checkpoint: str | Path | None = None,
    accept_dropped: bool = False,
    beyond_share: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    A fit that is stopped before its release is stored has spent its charge: noise is never drawn twice under
    one charge. With a checkpoint, the same call resumes where it stopped, under the same charge and with the
    same noise, whether it was killed, interrupted or ended by an error, unless you delete the folder.

    Args:
        ratings: private ratings, in memory, in block files or in Spark; or a released data set, which is paid
            for already: leave out budget and ledger then; the release carries the data set's statement.
        config: a model's settings; by default those of ``recommended``.
        budget: what may be spent; ``"auto"`` takes an equal share of what the ledger has left for the
            releases that are still planned, with its δ, unit and adjacency; None gives the non-private
            baseline, whose statement says so.
        ledger: the population's ledger, or the path of one that ``Ledger.create`` made. Only seeded
            experiments and baselines do not need one.
        release_index: number of the release in its ledger, from 0. None charges for the next free one; a
            release that was made before returns the same bytes and charges nothing, as its ``repeated`` says.
        prior: a release of other people's ratings, which say what is expected of the items that it shares
            with the catalogue: a baseline (no budget), whose ratings you declare public, or a private one. It
            is trusted as far as these people's noisy sums agree with it.
        entropy: the operating system's by default; ``hushrec.testing.Seeded`` for experiments and tests,
            whose releases are not private.
        checkpoint: a separate folder on a local disk, from which this fit resumes if it is stopped. It is as
            private as the ratings, and is deleted when the release is made. Without one nothing is kept.
        accept_dropped: charge although loading dropped or changed more than a tenth of the records, or found
            none. Baselines and seeded experiments do not ask for it.
        beyond_share: whether to leave less than equal shares for the releases that the ledger's owner still
            plans; otherwise such a charge is refused.
        progress: is told the queries that are measured, and rounds inside them; see ``hushrec.progress``.

    Returns:
        The release.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        ShareExceeded: The plan costs more than its equal share; nothing is charged.
        MemoryExceeded: This machine has too little memory for the fit; ``plan`` says what it needs. Nothing
            is charged, unless a note on the error says what is.
        LedgerError: The ledger does not exist, cannot be trusted, or would be a second one of the same users.
        RecordsDropped: More than a tenth of the records were dropped or changed, or there are none, and
            ``accept_dropped`` is not set; or nobody is left. Nothing is charged; ``hushrec.check`` shows why.
        CheckpointError: The checkpoint is in use, damaged, or belongs to other ratings, settings or another
            ledger; or ``entropy`` is given too; or ``entropy`` is a checkpoint.
        BudgetUnsupported: The model does not support the budget or per-user ε; or a budget is given for a
            released data set.
        ConfigError: The ratings are in Spark, and the model needs more of them than sums; or the prior does
            not fit the model or the domain. Nothing is charged.
        DataError: The ratings were not loaded, the model learns from another kind of feedback, a block is
            damaged, or the domain has privacy classes and the ratings do not say who is in which.

    Privacy: charged (every event of the plan).
    """
    if checkpoint is not None and entropy is not None:
        raise CheckpointError("a checkpoint has its own noise key; leave out checkpoint or entropy")
    if isinstance(entropy, Checkpoint):
        raise CheckpointError(
            "entropy= does not take a checkpoint, because a fit opens its checkpoint itself: close this one, "
            "and pass its folder as checkpoint="
        )
    if config is not None and not isinstance(config, Model):
        raise ConfigError(
            f"{type(config).__name__} is not a model; to release data, call hushrec.release_data with it"
        )
    published: Statement | None = None
    if isinstance(ratings, ReleasedData):
        if budget is not None or ledger is not None or release_index is not None:
            raise BudgetUnsupported(
                "a released data set is public, and models of it cost nothing: leave out budget, ledger and "
                "release_index"
            )
        published, ratings = ratings.statement, ratings.ratings
    if not isinstance(ratings, Feedback | Blocks | SparkFeedback):
        raise DataError(
            f"fit takes what was loaded under a domain, not {type(ratings).__module__.partition('.')[0]}'s "
            f"{type(ratings).__name__}; load it first with hushrec.load, or with hushrec.load_spark if it is "
            "a table of Spark"
        )
    if isinstance(budget, str):
        _require_auto(budget)
    if config is None:
        config = _recommended(ratings, budget, ledger, release_index, checkpoint)
    config.require_feedback(ratings.domain)
    if isinstance(budget, str):
        budget = next_share(ledger, config, ratings.domain, release_index, checkpoint)
    if isinstance(ratings, SparkFeedback):
        require_sums_alone(config)
    _require_personal(config, budget, asks=ratings.asks)
    if ratings.domain.privacy_classes and not ratings.asks:
        raise DataError(
            "the domain declares privacy classes, but the ratings have no column epsilon that says who is in "
            "which; name the column with columns=, or declare a domain without privacy classes"
        )
    if isinstance(ratings, Blocks):
        with telling(progress):
            ratings.verify()  # before the charge, which a damaged file would waste
    if isinstance(ratings, SparkFeedback):
        ratings.verify()
        require_ready(ratings)
    public = known(config, ratings.domain, prior)
    if budget is None:
        terms = config.baseline
        population = ratings.capped(ratings.domain.cap) if terms.unit == "user" else ratings
        with (
            telling(progress),
            stage("fitting"),
            _going_on(checkpoint, ratings, _named(config, public), "") as kept,
        ):
            made = config.release(population, ExactRun(terms, kept, public))
            release = _described(made, ratings.domain)
            return from_data(release, published) if published else not_private(release, config)
    planned = committed(signed(config.plan(ratings.domain, budget), config, ratings.domain), public)
    account = account_of(ledger, planned, entropy)
    paid = release_index is not None and account.stored(planned, release_index) is not None
    if pays(account, entropy) and not paid:
        require_accepted(ratings, accepted=accept_dropped)  # before a checkpoint exists
    place = _ANY if release_index is None else release_index
    with _going_on(checkpoint, ratings, planned.key(account.id, place), account.id) as kept:
        if (stored := account.stored(planned, release_index, kept)) is not None:
            release = Release.from_bytes(stored)
            account.handed_out(planned, release_index, kept)
            return replace(release, repeated=True)
        shared = naming_share(account, release_index, lambda less: config.plan(ratings.domain, less))
        with telling(progress), shared:
            source = kept or entropy
            return _charged(ratings, config, planned, public, account, release_index, source, beyond_share)


@contextmanager
def _going_on(
    folder: str | Path | None, ratings: Feedback | Blocks | SparkFeedback, settings: str, ledger: str
) -> Iterator[Checkpoint | None]:
    """The checkpoint of exactly this fit, if it has one; deleted once the release is made."""
    if folder is None:
        yield None
        return
    with Checkpoint(folder) as checkpoint:
        marks = {"ratings": ratings.digest(), "settings (release index and version too)": settings}
        checkpoint.bind(marks, ledger)
        yield checkpoint
        checkpoint.forget()


def _named(config: Model, public: ItemPrior) -> str:
    return json.dumps([type(config).__name__, config.settings(), version(), public.digest], sort_keys=True)


def _charged(
    ratings: Feedback | Blocks | SparkFeedback,
    config: Model,
    planned: Plan,
    public: ItemPrior,
    account: Ledger,
    release_index: int | None,
    entropy: Entropy | None,
    beyond_share: bool,
) -> Release:
    assert isinstance(config, PrivateModel)  # others have no plan
    budget, domain = planned.budget, ratings.domain
    require_memory(planned.model, config.footprint(domain, budget), ratings)
    queries = config.queries(domain, budget)
    grant = account.charge(planned, release_index, entropy, beyond_share=beyond_share)
    population = ratings.capped(domain.cap) if budget.unit == "user" else ratings
    with stage(MEASURING, len(queries)), spending(account, grant, planned):
        made = config.release(population, ChargedRun(planned, queries, grant, public))
        release = describe(_described(made, domain), queries, planned, grant, domain, personal=ratings.asks)
        account.sampled(grant, release.to_bytes())
    account.published(grant)
    return release


def _described(release: Release, domain: Domain) -> Release:
    """The release with what the domain says about its items."""
    return replace(release, titles=domain.titles or (), features=domain.features or {})


def _recommended(
    ratings: Feedback | Blocks | SparkFeedback,
    budget: Budget | Literal["auto"] | None,
    ledger: Ledger | str | Path | None,
    release_index: int | None,
    checkpoint: str | Path | None,
) -> Model:
    """The model that suits what is declared, under the budget or a share of the ledger's."""
    domain = ratings.domain
    if not isinstance(budget, str):
        return choice(domain, budget, personal=ratings.asks).model
    account = opened(ledger)
    share = partial(next_share, account, domain=domain, release_index=release_index, checkpoint=checkpoint)
    return choice_of_share(share, domain, account.total, personal=ratings.asks).model


def _require_auto(budget: str) -> None:
    if budget != "auto":
        raise ConfigError('budget is a Budget, or "auto" for an equal share of what the ledger has left')


def _require_personal(config: Model, budget: Budget | None, *, asks: bool) -> None:
    """Refuse ratings with per-user ε if the model, unit or adjacency does not support them."""
    kind = None if budget is None else (budget.unit, budget.adjacency)
    if asks and not (config.personal and kind in (None, ("user", "add-remove"))):
        able = [name for name in registry.MODELS if registry.class_of(name).personal]  # type: ignore[attr-defined]
        raise BudgetUnsupported(
            f"these ratings carry per-user ε, which {type(config).__name__} does not support; use "
            f'{" or ".join(able)} with unit "user" and adjacency "add-remove", or drop the column epsilon'
        )


def require_sums_alone(config: Model) -> None:
    """Refuse ratings in Spark if the model needs every user's ratings on this machine.

    Raises:
        ConfigError: It does. The message names the models that do not.

    Privacy: public.
    """
    if config.sums_alone:
        return
    able = [name for name in registry.MODELS if registry.class_of(name).sums_alone]  # type: ignore[attr-defined]
    raise ConfigError(
        f"{type(config).__name__} needs more than sums over users, so it does not run on Spark; choose "
        f"{', '.join(able[:-1])} or {able[-1]}, or load the ratings here with hushrec.load or load_blocks"
    )
