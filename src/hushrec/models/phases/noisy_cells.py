"""Public facts of noisy cells: whether noise can reach their threshold, and what they take.

Privacy: public.
"""

import math

from hushrec.errors import ConfigError
from hushrec.privacy.accounting.plan import Plan
from hushrec.statistics.cells import Cells
from hushrec.statistics.footprint import DRAWS, Footprint

_FARTHEST = 299.0  # largest threshold, in scales of the noise


def require_reachable(cells: Cells, planned: Plan) -> None:
    """Refuse a threshold that the planned noise cannot reach.

    Raises:
        ConfigError: ε or the threshold is so large that no empty cell would ever be kept.
    """
    scale = next(event.noise for event in planned.events if event.name == cells.query.name)
    if cells.adjacency == "add-remove" and cells.threshold > _FARTHEST * scale:
        raise ConfigError(
            f"threshold: {cells.threshold:.3g} is out of reach of noise of scale {scale:.3g}; lower the "
            "threshold or ε"
        )


def cells_footprint(before: Footprint, cells: Cells, epsilon: float, pace: float) -> Footprint:
    """Footprint of the averages, then of all cells that are kept; empty cells are kept by noise alone.

    Args:
        before: footprint of the averages, which stay.
        cells: the cells.
        epsilon: their part of ε.
        pace: seconds of the solver per million ratings or kept cells.
    """
    kept = 0.0
    if cells.adjacency == "add-remove":
        everywhere = float(cells.domain.n_users * cells.domain.n_items)
        kept = everywhere * math.exp(-cells.threshold * epsilon / cells.query.sensitivity)
    seconds = kept / DRAWS + pace * kept / 1e6
    each = 60 if kept else 40
    return before.then(Footprint(before.memory + 60 * kept, each, 32, seconds, pace, gathered=True))
