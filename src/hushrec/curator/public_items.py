"""What is public about items: found before a fit and committed to by its plan; and items that come later."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hushrec import models
from hushrec.data.domain import Domain
from hushrec.errors import ConfigError, ReleaseError
from hushrec.estimation.item_design import describe_items, is_number, kinds_of_texts, labels_of
from hushrec.estimation.public_release import of_release
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.models.base import Model
from hushrec.models.lists.estimate.feature_values import place_items
from hushrec.privacy.accounting.plan import Plan
from hushrec.release.artefact import Release


def item_prior(model: Model, domain: Domain, release: Release | None = None) -> ItemPrior:
    """Features of the domain's items, and a release of other people's public ratings, for a model.

    Args:
        release: public in itself, or None.

    Returns:
        Nothing, if the model has no use for it.
    """
    if not model.informed:
        if release is not None:
            able = [name for name in models.MODELS if models.class_of(name).informed]  # type: ignore[attr-defined]
            raise ConfigError(
                f"{type(model).__name__} has no use for a prior; leave it out, or use "
                f"{', '.join(able[:-1])} or {able[-1]}"
            )
        return NOTHING_KNOWN
    prior = describe_items(domain.titles or (), domain.features or {})
    if release is None:
        return prior
    scale = None if domain.feedback == "interactions" else domain.scale
    public = of_release(release, domain.items, domain.titles or (), scale)
    says = (*prior.says, *public.says)
    return replace(public, design=prior.design, groups=prior.groups, features=prior.features, says=says)


def commit_to_facts(plan: Plan, prior: ItemPrior) -> Plan:
    """The plan that names these facts: with others it is the plan of another release."""
    return replace(plan, beforehand=prior.says, beforehand_digest=prior.digest) if prior.digest else plan


class Added(NamedTuple):
    """A release with further items.

    Attributes:
        release: with the statement of the first one, and not signed.
        unknown: how many new items have each value that the release says nothing of, by feature and value.

    Privacy: post-processing.
    """

    release: Release
    unknown: Mapping[str, int]


def add_items(
    release: Release,
    items: Iterable[str | int],
    *,
    titles: Mapping[Any, str] | Iterable[str] | None = None,
    features: Mapping[str, Mapping[Any, str] | Iterable[str]] | None = None,
) -> Added:
    """Add items that came after a fit to its release, by their features alone. Nothing is charged.

    Clients rank them, and take them as own items, like all others. A number counts as that of the item of the
    catalogue with the nearest one. An item without any value that the release knows is an average item.

    Args:
        release: of ``PrivateEASE``, of a domain with features.
        items: ids of the new items.
        titles, features: of the new items, as for ``Domain``. A feature that is not given is unknown.

    Raises:
        ReleaseError: The release says nothing of features, has one of the items, or has no feature of this
            name.
        DomainError: An id, a title or a feature is malformed.

    Privacy: post-processing.
    """
    new = Domain(items, titles=titles, features=features, max_users=1)
    _require_new(release, new)
    table, unknown = _table(release, new)
    nothing = ("",) * new.n_items
    texts = {
        name: (*lines, *(new.features or {}).get(name, nothing)) for name, lines in release.features.items()
    }
    old_titles = release.titles or (("",) * len(release.items) if new.titles else ())
    new_titles = (new.titles or nothing) if old_titles else ()
    n_placed = release.constants["placed_items"] + new.n_items
    longer = replace(
        release,
        items=(*release.items, *new.items),
        titles=(*old_titles, *new_titles),
        features=texts,
        tensors=place_items(release.tensors, release.constants, table),
        constants={**release.constants, "placed_items": float(n_placed)},
        repeated=False,
        signed_by="",
    )
    return Added(longer, dict(unknown))


def _require_new(release: Release, new: Domain) -> None:
    """Refuse what cannot be placed."""
    if not release.values:
        raise ReleaseError(
            "this release does not say what features of items explain, so it cannot take new items; fit "
            "PrivateEASE on a domain with features"
        )
    if shared := set(release.items) & set(new.items):
        raise ReleaseError(
            f"{min(shared)!r} is in the release already, as are {len(shared):,} of the {new.n_items:,} new "
            "items; leave them out"
        )
    if odd := sorted(set(new.features or {}) - set(release.features)):
        raise ReleaseError(
            f"the release has no feature {odd[0]!r}; it has {', '.join(release.features) or 'titles alone'}"
        )


def _table(release: Release, new: Domain) -> tuple[Any, Counter[str]]:
    """Return the values of new items, sparse, shape (n_new, n_values), and the values that are unknown."""
    catalogue = kinds_of_texts(release.titles, release.features)
    table = sparse.lil_array((new.n_items, len(release.values)))
    unknown: Counter[str] = Counter()
    for name, texts in kinds_of_texts(new.titles or (), new.features or {}).items():
        if name not in catalogue:  # the year in the title, of which the release makes no use
            continue
        values = _Values(release, name, catalogue[name])
        for row, text in enumerate(texts):
            columns, others = values.of(text)
            unknown.update(f"{name}: {value}" for value in others)
            table[row, columns] = 1.0 if values.are_numbers else len(columns) ** -0.5 if columns else 0.0
    return sparse.csr_array(table), unknown


class _Values:
    """The values of one feature in a release.

    Args:
        name: of the feature.
        texts: of the items of the release.
    """

    def __init__(self, release: Release, name: str, texts: Sequence[str]) -> None:
        self._columns = {at: value for at, (of, value) in enumerate(release.values) if of == name}
        self._labels = {value: at for at, value in self._columns.items()}
        self.are_numbers = all(is_number(text) for text in texts if text.strip())
        self._items = [at for at, text in enumerate(texts) if self.are_numbers and text.strip()]
        self._numbers = np.array([float(texts[at]) for at in self._items])
        self._rows = release.tensors["value_starts"], release.tensors["value_columns"]

    def of(self, text: str) -> tuple[list[int], list[str]]:
        """Return the columns of a text, and what of it is unknown."""
        if not self.are_numbers:
            labels = labels_of(text)
            columns = [self._labels[label] for label in labels if label in self._labels]
            return columns, [label for label in labels if label not in self._labels]
        if not is_number(text) or not self._items:
            return [], [text] if text.strip() else []
        nearest = self._items[int(np.abs(self._numbers - float(text)).argmin())]
        starts, columns_of = self._rows
        row = columns_of[starts[nearest] : starts[nearest + 1]].tolist()
        return [column for column in row if column in self._columns], []
