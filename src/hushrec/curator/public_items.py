"""Public knowledge about items before a fit, and the plan's commitment to it."""

from dataclasses import replace

from hushrec import registry
from hushrec.data.declared.item_design import described
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError
from hushrec.estimation.public_release import of_release
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.models.base import Model
from hushrec.privacy.accounting.plan import Plan
from hushrec.release.artefact import Release

__all__ = ["committed", "item_prior"]


def item_prior(model: Model, domain: Domain, release: Release | None = None) -> ItemPrior:
    """Features of the domain's items, and a release of other people's public ratings, for a model.

    Args:
        release: public in itself, or None.

    Returns:
        Nothing, if the model has no use for it.
    """
    if not model.informed:
        if release is not None:
            able = [name for name in registry.MODELS if registry.class_of(name).informed]  # type: ignore[attr-defined]
            raise ConfigError(
                f"{type(model).__name__} has no use for a prior; leave it out, or use "
                f"{', '.join(able[:-1])} or {able[-1]}"
            )
        return NOTHING_KNOWN
    prior = described(domain.titles or (), domain.features or {})
    if release is None:
        return prior
    scale = None if domain.feedback == "interactions" else domain.scale
    public = of_release(release, domain.items, domain.titles or (), scale)
    clauses = (*prior.clauses, *public.clauses)
    return replace(public, design=prior.design, groups=prior.groups, features=prior.features, clauses=clauses)


def committed(plan: Plan, prior: ItemPrior) -> Plan:
    """The plan that names these facts: with others it is the plan of another release."""
    return replace(plan, beforehand=prior.clauses, beforehand_digest=prior.digest) if prior.digest else plan
