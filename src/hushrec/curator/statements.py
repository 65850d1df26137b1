"""Writes a release's statement of privacy, from the charged plan and the used grant."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hushrec.data.domain import Domain
from hushrec.local.method import Method
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.accounting.plan import Measurement, Plan, version
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.caveats import CLAIMED
from hushrec.privacy.query import AnyQuery
from hushrec.release.artefact import Release
from hushrec.release.statement import Measured, Promised, Statement
from hushrec.settings import Settings


def describe(
    release: Release,
    queries: Iterable[AnyQuery],
    plan: Plan,
    grant: Grant,
    domain: Domain,
    *,
    personal: bool = False,
) -> Release:
    """The release with the statement that its plan and grant justify.

    Args:
        release: the model's release; only the diagnostics of its statement are kept.
        queries: what was measured, including what costs nothing.
        plan: what was charged.
        grant: what was used.
        domain: the public domain.
        personal: whether users asked for their own ε.

    Privacy: public.
    """
    statement = dataclasses.replace(
        _charged(plan, grant),
        measurements=measured(queries, plan),
        assumes=_assumes(plan, domain, personal),
        diagnostics=release.statement.diagnostics,
        promises=tuple(Promised(*dataclasses.astuple(promise)) for promise in plan.promises if personal),
        personal=personal,
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
    charged = _charged(plan, grant)
    # A device's roster is one user, whose id could be guessed from the digest of a domain that holds it.
    untold = {"domain"} if domain.users else set()
    return dataclasses.replace(
        charged,
        ledger={name: value for name, value in charged.ledger.items() if name not in untold},
        measurements=measured(plan.events, plan),
        assumes=(*_assumes(plan, domain, personal=False, beside=method.beside()), *method.assumes(plan)),
        local=method.local(plan, domain),
        beside=method.beside(),
    )


def not_private(release: Release, model: Model) -> Release:
    """The non-private baseline, with a statement that says so."""
    statement = unprotected("NOT PRIVATE: no noise was added", model, model.baseline)
    return dataclasses.replace(release, statement=statement)


def unprotected(
    caveat: str, model: Settings, terms: Terms, diagnostics: Mapping[str, float | str] | None = None
) -> Statement:
    """The statement of what was made without any promise.

    Args:
        caveat: why nothing is promised, beginning with ``NOT PRIVATE:``.
        model: the model or method.
        terms: whose unit and adjacency its sums have.
        diagnostics: of the chains.
    """
    statement = Statement(
        caveat=caveat,
        unit=terms.unit,
        adjacency=terms.adjacency,
        epsilon=float("inf"),
        delta=0.0,
        diagnostics=diagnostics or {},
    )
    return _made(statement, type(model).__name__, model.settings())


def from_data(release: Release, statement: Statement) -> Release:
    """A release made from a released data set, with that data set's statement.

    It lists nobody: users of a data set are numbers, and a number could be somebody's real id.

    Args:
        release: the model's release.
        statement: the data set's statement.

    Privacy: post-processing.
    """
    if not release.users:
        return dataclasses.replace(release, statement=statement)
    kept = {name: tensor for name, tensor in release.tensors.items() if not name.startswith("user_")}
    return dataclasses.replace(release, kind="factors", tensors=kept, users=(), statement=statement)


def _charged(plan: Plan, grant: Grant) -> Statement:
    """The part of a statement that does not depend on what was measured."""
    statement = Statement(
        caveat=_caveat(grant.caveat),
        unit=plan.budget.unit,
        adjacency=plan.budget.adjacency,
        epsilon=plan.epsilon,
        delta=plan.budget.delta,
        ledger=grant.ledger if grant.ledger.get("file") else {},  # nobody can look up a ledger in memory
    )
    return _made(statement, plan.model, plan.config)


def _made(statement: Statement, model: str, settings: Mapping[str, Any]) -> Statement:
    """The statement with the name and the digest of what was charged, and the version of hushrec."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return dataclasses.replace(statement, model=model, settings=digest, hushrec=version())


def _caveat(text: str) -> str:
    """The caveat, with the first words of each part in capitals."""
    kind, colon, rest = text.partition(":")
    return kind.upper() + colon + rest.replace(f"; {CLAIMED}:", f"; {CLAIMED.upper()}:")


def measured(queries: Iterable[AnyQuery | Event], plan: Plan) -> tuple[Measured, ...]:
    """Everything that a plan measures, as a statement lists it, including what costs nothing."""
    booked = {m.event.name: m for m in plan.measurements}
    lines = []
    for query in queries:
        measurement = booked.get(query.name)
        if measurement is None:
            lines.append(Measured(query.name, "exact", 0.0, 0.0, query.size, 0.0, 0.0))
            continue
        lines.append(_line(measurement, plan))
    return tuple(lines)


def _line(measurement: Measurement, plan: Plan) -> Measured:
    event = measurement.event
    return Measured(
        event.name,
        event.mechanism,
        event.sensitivity,
        event.noise,
        event.size,
        measurement.share,
        plan.cost(event),
        event.rate,
    )


def _expected(domain: Domain) -> str:
    """On what the declared crowd rests; empty if none is declared."""
    numbers = (domain.expected_users, "users"), (domain.expected_ratings, domain.feedback)
    if not (told := [f"{number:,} {what}" for number, what in numbers if number]):
        return ""
    return f"about {' and '.join(told)} were expected from public knowledge, or by a pilot that was charged"


def _assumes(plan: Plan, domain: Domain, personal: bool, beside: str = "") -> tuple[str, ...]:
    given = domain.feedback
    known = [f"the catalogue of {domain.n_items:,} items"]
    if domain.rating_scale is not None:
        lo, hi, step = domain.rating_scale
        known.append(f"the scale {lo:g} to {hi:g} by {step:g}")
    if domain.likes is not None:
        known.append(f"the likes from {domain.likes:g} on")
    if domain.counts is not None:
        known.append(f"the largest count of {domain.counts:,}")
    lines = [
        f"{', '.join(known)} and the bound of {domain.max_users:,} users are public knowledge, not taken "
        f"from the {given}",
        f"the settings were chosen without looking at these {given}, or that look was charged",
        f"nothing else made from these {given} is published without being charged to the same ledger"
        + (f", except {beside}" if beside else ""),
        "what a person does with recommendations is new data and is not covered",
    ]
    if expected := _expected(domain):
        lines.insert(1, expected)
    lines[1:1] = plan.beforehand
    if personal:
        lines.insert(
            1, f"each person's ε was chosen without looking at {given}, and is itself never published"
        )
    lines[1:1] = dict.fromkeys(line for event in plan.events for line in event.assumes)
    if plan.budget.unit == "user":
        lines.insert(1, f"one person is one user id; at most {domain.cap:,} of their {given} are used")
    if plan.budget.unit == "user" and plan.budget.adjacency != "add-remove" and domain.users is None:
        lines.insert(
            1,
            f"everybody who is counted has {given} of at least one item of the catalogue; this is not "
            "protected",
        )
    if domain.users is not None:
        lines.insert(
            1,
            f"the list of {domain.n_users:,} people who may take part is public: a list of accounts, not of "
            f"those with {given}",
        )
    if (plan.budget.unit, plan.budget.adjacency) == ("rating", "replace"):
        lines.insert(1, "who rated what is public; only the number of stars is protected")
    if plan.part:
        lines.append(
            "the series' folder, which remembers how much of each user was counted, is the only one of its "
            "series and was never put back from an older copy"
        )
    if plan.foreign:
        lines.insert(0, f"each Δ is what {', '.join(plan.foreign)} declares, which is its author's claim")
    return tuple(lines)
