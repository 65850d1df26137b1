"""Two verbs: plan what a fit will measure, and fit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from hushrec import registry
from hushrec.curator.acceptance import admit, pays
from hushrec.curator.accounts import account_of, spending
from hushrec.curator.authors import signed
from hushrec.curator.checkpoints import chosen, folder_of, going_on, require_none_waits
from hushrec.curator.choices.recommended import choice, choice_of_share
from hushrec.curator.known_items import committed, known
from hushrec.curator.room import kept_size, reserved, stored_size
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
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, mark_of
from hushrec.privacy.grant import Grant
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

    Raises:
        ConfigError: ``config`` is not a model's.
    """
    _require_model(config, "ask for its own plan, with plan(domain, budget) or hushrec randomize --plan")
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
    checkpoint: str | Path | bool = True,
    accept_dropped: bool = False,
    accept_users: bool = False,
    beyond_share: bool = False,
    accept_weak: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Charge the ledger, measure under noise, and make a release.

    A fit that was killed, interrupted or ended by an error after its charge is resumed by the same call,
    under the same charge and with the same noise: its checkpoint lies beside the ledger until the release is
    made. Until you resume it, or give its charge up (``Ledger.forfeit_index``), no other fit is charged to
    its ledger there.

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
        checkpoint: where what this fit resumes from is kept until its release is made: by default in
            ``NAME.checkpoints`` beside the ledger (in the current folder if that is in a database), or in a
            folder of its own on a local disk, if you name one. It is as private as the ratings. False keeps
            nothing: a fit that is stopped then loses its charge. Ledgers in memory have a checkpoint only
            if you name its folder, baselines and seeded experiments have none.
        accept_dropped: charge although loading dropped or changed more than a tenth of the records, or found
            none. Baselines and seeded experiments do not ask for it.
        accept_users: charge although there are more than twice as many users as the domain declares, for whom
            δ is not chosen. Baselines and seeded experiments do not ask for it.
        beyond_share: whether to leave less than equal shares for the releases that the ledger's owner still
            plans; otherwise such a charge is refused.
        accept_weak: charge although ε is above 8, which the statement will call too weak to promise much.
            Baselines and seeded experiments do not ask for it, nor does a fit that resumes.
        progress: is told the queries that are measured, and rounds inside them; see ``hushrec.progress``.

    Raises:
        BudgetExceeded: The ledger has less left than the plan costs.
        ShareExceeded: The plan costs more than its equal share; nothing is charged.
        WeakBudget: ε is above 8, and ``accept_weak`` is not set; nothing is charged.
        MemoryExceeded: This machine has too little memory for the fit; ``plan`` says what it needs. Nothing
            is charged, unless a note on the error says what is.
        LedgerError: The ledger does not exist, cannot be trusted, or would be a second one of the same users.
        RecordsDropped: More than a tenth of the records were dropped or changed, or there are none, and
            ``accept_dropped`` is not set; or nobody is left. Nothing is charged; ``hushrec.check`` shows why.
        UsersExceeded: There are more than twice as many users as declared, and ``accept_users`` is not set.
            Nothing is charged.
        ChargeUnpublished: A fit of other ratings or settings was stopped after its charge, or the release
            index was charged before and never published. Nothing is charged; the message says what helps.
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
    with fitted(
        ratings,
        config,
        budget,
        ledger=ledger,
        release_index=release_index,
        prior=prior,
        entropy=entropy,
        checkpoint=checkpoint,
        accept_dropped=accept_dropped,
        accept_users=accept_users,
        beyond_share=beyond_share,
        accept_weak=accept_weak,
        progress=progress,
    ) as release:
        return release


@contextmanager
def fitted(
    ratings: Ratings | Interactions | Blocks | SparkFeedback | ReleasedData,
    config: Model | None = None,
    budget: Budget | Literal["auto"] | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    release_index: int | None = None,
    prior: Release | None = None,
    entropy: Entropy | None = None,
    checkpoint: str | Path | bool = True,
    accept_dropped: bool = False,
    accept_users: bool = False,
    beyond_share: bool = False,
    accept_weak: bool = False,
    progress: Progress | None = None,
) -> Iterator[Release]:
    """Context of the release that ``fit`` makes. The ledger records it as published when the block ends.

    Write the release's file inside the block: if that fails or is stopped, the same call gives the same
    bytes.

    Privacy: charged (every event of the plan).
    """
    if not isinstance(checkpoint, bool) and entropy is not None:
        raise CheckpointError("a checkpoint has its own noise key; leave out checkpoint or entropy")
    if not isinstance(checkpoint, bool) and budget is None:
        raise CheckpointError(
            "without a budget nothing is spent, so there is nothing to resume: leave out checkpoint"
        )
    if isinstance(entropy, Checkpoint):
        raise CheckpointError(
            "entropy= does not take a checkpoint, because a fit opens its checkpoint itself: close this one, "
            "and pass its folder as checkpoint="
        )
    if config is not None:
        _require_model(config, "to release data, call hushrec.release_data with it")
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
    of_shares = opened(ledger) if isinstance(budget, str) else None  # which say what the fit may cost
    folder = None
    if of_shares:
        folder = _checkpoint(checkpoint, of_shares, entropy, release_index, ratings.digest)
    mark = "" if folder is None else mark_of(folder)
    if config is None:
        config = _recommended(ratings, budget, of_shares, release_index, mark)
    config.require_feedback(ratings.domain)
    if isinstance(budget, str):
        budget = next_share(of_shares, config, ratings.domain, release_index, mark)
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
        with telling(progress), stage("fitting"):
            made = _described(config.release(population, ExactRun(terms, public)), ratings.domain)
        yield from_data(made, published) if published else not_private(made, config)
        return
    planned = committed(signed(config.plan(ratings.domain, budget), config, ratings.domain), public)
    account = account_of(of_shares or ledger, planned, entropy)
    paid = release_index is not None and account.stored(planned, release_index) is not None
    assert isinstance(config, PrivateModel)  # others have no plan
    if not paid:  # before a checkpoint exists
        admit(
            ratings,
            planned.model,
            config.footprint(ratings.domain, budget),
            spends=pays(account, entropy),
            accept_dropped=accept_dropped,
            accept_users=accept_users,
        )
    place = _ANY if release_index is None else release_index
    if of_shares is None:
        folder = _checkpoint(checkpoint, account, entropy, release_index, ratings.digest)
    of = ratings.digest() if folder else ""
    with going_on(folder, of, planned.key(account.id, place), account) as kept:
        if (stored := account.stored(planned, release_index, kept)) is not None:
            yield replace(Release.from_bytes(stored), repeated=True)
            account.handed_out(planned, release_index, kept)
            return
        shared = naming_share(account, release_index, lambda less: config.plan(ratings.domain, less))
        with telling(progress), shared:
            source = kept or entropy
            allowed = {"beyond_share": beyond_share, "accept_weak": accept_weak}
            made, grant = _charged(ratings, config, planned, public, account, release_index, source, allowed)
        yield made
        account.published(grant)


def _require_model(config: object, fix: str) -> None:
    if not isinstance(config, Model):
        raise ConfigError(f"{type(config).__name__} is not a model; {fix}")


def _checkpoint(
    asked: str | Path | bool,
    account: Ledger,
    entropy: Entropy | None,
    release_index: int | None,
    ratings: Callable[[], str],
) -> Path | None:
    """The folder of the fit's checkpoint; None where nothing is kept, or the release was made before.

    Whatever is kept, a charge that waits for its fit to be repeated is refused company.
    """
    named = None if isinstance(asked, bool) else Path(asked)
    if not account.kept or entropy is not None:
        return named
    if release_index is not None and account.made(release_index):
        return named
    if asked is True:
        return chosen(account, ratings)
    require_none_waits(account, "" if named is None else mark_of(named))
    return named


def _charged(
    ratings: Feedback | Blocks | SparkFeedback,
    config: PrivateModel,
    planned: Plan,
    public: ItemPrior,
    account: Ledger,
    release_index: int | None,
    entropy: Entropy | None,
    allowed: dict[str, bool],
) -> tuple[Release, Grant]:
    """The release, stored in the ledger, and the grant of its charge."""
    budget, domain = planned.budget, ratings.domain
    queries = config.queries(domain, budget)
    stored = stored_size(config, planned, domain, account)
    kept = kept_size(planned) if isinstance(entropy, Checkpoint) else 0
    with reserved(folder_of(account).parent if account.kept else None, stored + kept) as room:
        grant = account.charge(planned, release_index, entropy, **allowed)
        population = ratings.capped(domain.cap) if budget.unit == "user" else ratings
        if room:
            room.keep(stored)  # the rest is for the checkpoint
        with stage(MEASURING, len(queries)), spending(account, grant, planned):
            made = _described(config.release(population, ChargedRun(planned, queries, grant, public)), domain)
            release = describe(made, queries, planned, grant, domain, personal=ratings.asks)
            if room:
                room.keep(0)
            account.sampled(grant, release.to_bytes())
    return release, grant


def _described(release: Release, domain: Domain) -> Release:
    """The release with what the domain says about its items."""
    return replace(release, titles=domain.titles or (), features=domain.features or {})


def _recommended(
    ratings: Feedback | Blocks | SparkFeedback,
    budget: Budget | Literal["auto"] | None,
    account: Ledger | None,
    release_index: int | None,
    mark: str,
) -> Model:
    """The model that suits what is declared, under the budget or a share of the ledger's."""
    domain = ratings.domain
    if not isinstance(budget, str):
        return choice(domain, budget, personal=ratings.asks).model
    account = opened(account)
    share = partial(next_share, account, domain=domain, release_index=release_index, mark=mark)
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
    """Refuse ratings in Spark if the model needs every user's ratings on this machine."""
    if config.sums_alone:
        return
    able = [name for name in registry.MODELS if registry.class_of(name).sums_alone]  # type: ignore[attr-defined]
    raise ConfigError(
        f"{type(config).__name__} needs more than sums over users, so it does not run on Spark; choose "
        f"{', '.join(able[:-1])} or {able[-1]}, or load the ratings here with hushrec.load or load_blocks"
    )
