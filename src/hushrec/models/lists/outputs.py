"""Releases that rank items: by the same scores for everybody, or by scores linear in a user's own items.

Privacy: post-processing of released values.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.domain import Domain
from hushrec.models.base import Model
from hushrec.models.lists.estimate.feature_values import ValueTable
from hushrec.models.lists.estimate.pair_factors import LinearWeights
from hushrec.release.artefact import Release
from hushrec.release.kinds import dtype_of
from hushrec.release.statement import placeholder_statement


def score_release(model: Model, domain: Domain, scores: Floats) -> Release:
    """Make a release that ranks items for everybody by the same scores, shape (n_items,)."""
    return _ranking(model, domain, "item scores", {"item_scores": scores})


def linear_release(
    model: Model, domain: Domain, linear: LinearWeights, scores: Floats, table: ValueTable | None = None
) -> Release:
    """Make a release that ranks items by scores that are linear in a user's own items.

    Args:
        model: the model that makes the release.
        linear: the weights, for all items of the catalogue.
        scores: of the items for a user who gives none, shape (n_items,).
        table: what the scores say of values of features.
    """
    tensors = {
        "item_factors": linear.factors,
        "input_weights": linear.inputs,
        "output_weights": linear.outputs,
        "intercept": linear.intercept,
        "item_scores": scores,
    }
    release = _ranking(model, domain, "linear items", tensors)
    if table is None:
        return release
    more = {name: np.ascontiguousarray(array, dtype_of(name)) for name, array in table.tensors.items()}
    return replace(
        release, values=table.values, constants=table.constants, tensors={**release.tensors, **more}
    )


def _ranking(model: Model, domain: Domain, kind: str, tensors: Mapping[str, Floats]) -> Release:
    return Release(
        model=type(model).__name__,
        settings=model.settings(),
        kind=kind,
        items=domain.items,
        scale=domain.rating_scale,
        constants={},
        tensors={name: np.ascontiguousarray(array, dtype=np.float32) for name, array in tensors.items()},
        statement=placeholder_statement(),
        likes=domain.likes,
        counts=domain.counts,
    )
