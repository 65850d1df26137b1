"""Writes a release's statement of privacy, from the charged plan and the used grant."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from hushrec.data.domain import Domain
from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Assumes, Unprotected
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.release.statement import Statement
from hushrec.settings import Settings
from hushrec.text import ranges, version


def describe(
    release: Release,
    grant: Grant,
    domain: Domain,
    *,
    personal_epsilon: bool = False,
) -> Release:
    """The release with the statement that its plan and grant justify.

    Args:
        release: the model's release; only the diagnostics of its statement are kept.
        grant: what was used.
        domain: the public domain.
        personal_epsilon: whether users asked for their own ε.

    Privacy: public.
    """
    plan = grant.plan
    statement = dataclasses.replace(
        _charge_facts(plan, grant),
        measurements=plan.measured(grant.taken),
        decisions=tuple(grant.reasons),
        assumes=_assumes(plan, domain, personal_epsilon),
        diagnostics=release.statement.diagnostics,
        classes=plan.classes if personal_epsilon else (),
        personal_epsilon=personal_epsilon,
        interactions=domain.feedback == "interactions",
    )
    return dataclasses.replace(release, statement=statement)


def describe_data(method: Method, plan: Plan, grant: Grant, domain: Domain) -> Statement:
    """The statement of a released data set.

    Args:
        method: how rows were randomized.
        plan: what was charged.
        grant: what was used.
        domain: the public domain.

    Privacy: public.
    """
    charged = _charge_facts(plan, grant)
    # A device's roster is one user, whose id could be guessed from the digest of a domain that holds it.
    untold = {"domain"} if domain.users else set()
    return dataclasses.replace(
        charged,
        ledger={name: value for name, value in charged.ledger.items() if name not in untold},
        measurements=plan.measured(),
        assumes=(
            *_assumes(plan, domain, personal_epsilon=False, beside=method.beside()),
            *method.assumes(plan),
        ),
        local=method.local(plan, domain),
        beside=method.beside(),
    )


def not_private(release: Release, model: Model, people: tuple[str, ...]) -> Release:
    """The non-private baseline, with a statement that says so.

    Args:
        people: digests of the people whose data it shows.
    """
    statement = unprotected_statement(Unprotected.exact, model, model.baseline)
    return dataclasses.replace(release, statement=dataclasses.replace(statement, people=people))


def unprotected_statement(
    caveat: Unprotected, model: Settings, terms: Terms, diagnostics: Mapping[str, float | str] | None = None
) -> Statement:
    """The statement of what was made without any promise.

    Args:
        caveat: why nothing is promised.
        model: the model or method.
        terms: whose unit and adjacency its sums have.
        diagnostics: of the chains.
    """
    statement = Statement(
        caveats=(caveat(),),
        unit=terms.unit,
        adjacency=terms.adjacency,
        epsilon=float("inf"),
        delta=0.0,
        diagnostics=diagnostics or {},
    )
    return _with_origin(statement, type(model).__name__, model.settings())


def from_data(release: Release, statement: Statement) -> Release:
    """A release made from a released data set, with that data set's statement.

    It lists no one: users of a data set are numbers, and a number could be a real id.

    Args:
        release: the model's release.
        statement: the data set's statement.

    Privacy: post-processing.
    """
    if not release.users:
        return dataclasses.replace(release, statement=statement)
    kept = {name: tensor for name, tensor in release.tensors.items() if not name.startswith("user_")}
    return dataclasses.replace(release, kind="factors", tensors=kept, users=(), statement=statement)


def _charge_facts(plan: Plan, grant: Grant) -> Statement:
    """The part of a statement that does not depend on what was measured."""
    statement = Statement(
        caveats=grant.caveats,
        unit=plan.budget.unit,
        adjacency=plan.budget.adjacency,
        epsilon=plan.stated,
        delta=plan.budget.delta,
        year=_year(plan),
        ledger=grant.ledger if grant.ledger.get("file") else {},  # nobody can look up a ledger in memory
    )
    return _with_origin(statement, plan.model, plan.settings)


def _year(plan: Plan) -> Mapping[str, Any]:
    """What a statement says of the year; nothing for a release that holds and leaves out no other."""
    if plan.year is None or not (plan.year.releases or plan.year.left_out):
        return {}
    listed = {"releases": list(plan.year.releases), "left_out": list(plan.year.left_out)}
    return {**listed, "own_epsilon": plan.epsilon}


def _with_origin(statement: Statement, model: str, settings: Mapping[str, Any]) -> Statement:
    """The statement with the name and the digest of what was charged, and the version of hushrec."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return dataclasses.replace(statement, model=model, settings=digest, hushrec=version())


def _assumes(
    plan: Plan, domain: Domain, personal_epsilon: bool, beside: Fact | None = None
) -> tuple[Fact, ...]:
    """Return the assumptions of the promise, in the order of a statement."""
    feedback, budget = domain.feedback, plan.budget
    replaces = budget.unit == "user" and budget.adjacency != "add-remove" and domain.users is None
    only = Assumes.only_beside if beside else Assumes.only
    facts: list[Fact | None] = [
        Assumes.author(names=", ".join(plan.foreign)) if plan.foreign else None,
        _declarations(domain),
        Assumes.stars_alone() if (budget.unit, budget.adjacency) == ("record", "replace") else None,
        Assumes.roster(given=feedback, n_users=domain.n_users) if domain.users is not None else None,
        Assumes.everybody(given=feedback) if replaces else None,
        Assumes.cap(given=feedback, max_per_user=domain.max_per_user) if budget.unit == "user" else None,
        *dict.fromkeys(fact for one in plan.noisy for fact in one.assumes),
        Assumes.personal_epsilon(given=feedback) if personal_epsilon else None,
        *plan.beforehand,
        _expectations(domain),
        *_earlier(plan, feedback),
        Assumes.settings(given=feedback),
        only(given=feedback),
        Assumes.new(),
    ]
    return tuple(fact for fact in facts if fact)


def _earlier(plan: Plan, feedback: str) -> Iterator[Fact]:
    """Yield whose sums are inside, and whose are left out."""
    if plan.year and plan.year.releases:
        yield Assumes.earlier(releases=ranges(plan.year.releases))
    if plan.year and plan.year.left_out:
        yield Assumes.left_out(given=feedback, releases=ranges(plan.year.left_out))


def _declarations(domain: Domain) -> Fact:
    """Return the domain's declarations about the catalogue, the scale and the crowd."""
    facts: dict[str, Any] = {
        "n_items": domain.n_items,
        "max_users": domain.max_users,
        "given": domain.feedback,
    }
    if domain.rating_scale is not None:
        facts |= dict(zip(("lo", "hi", "step"), domain.rating_scale, strict=True))
    if domain.counts is not None:
        return Assumes.catalogue_counts(**facts, counts=domain.counts)
    if domain.likes is not None:
        return Assumes.catalogue_likes(**facts, likes=domain.likes)
    return (Assumes.catalogue if domain.rating_scale is None else Assumes.catalogue_scale)(**facts)


def _expectations(domain: Domain) -> Fact | None:
    """On what the declared crowd rests; None if none is declared."""
    users, events = domain.expected_users, domain.expected_records
    if users and events:
        return Assumes.expected(users=users, events=events, given=domain.feedback)
    if users:
        return Assumes.expected_users(users=users)
    return Assumes.expected_events(events=events, given=domain.feedback) if events else None
