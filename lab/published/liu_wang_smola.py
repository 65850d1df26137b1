"""Liu, Wang & Smola 2015, "Fast differentially private matrix factorization", as printed.

What fails: ε = 4 B/T is printed for a loss of at most B per user; the true loss under ``replace`` is 2 B/T,
and none is known for ``reject`` (lab/docs/errata.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported
from hushrec.models.liu_wang_smola.chain import Chain, Posterior, State
from hushrec.models.liu_wang_smola.posterior_sample_mf import SAMPLE, PosteriorSampleMF
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.query import AnyQuery
from lab.published.langevin import LangevinSettings, langevin_epoch
from lab.published.paper import PublishedModel


class LiuPosterior(PublishedModel, PosteriorSampleMF):
    """Algorithm 1: one posterior sample at the scale ε/4B.

    U, V ∝ exp(−(ε/4B) Σ_u w_u Σ_i (r_ui − r̂_ui)²) · prior, with r̂_ui = b_0 + b_u + b_i + ⟨p_u, q_i⟩.
    The draw is the last state of chains of stochastic gradient Langevin dynamics (§3.2), whose law is not the
    density: its steps are too long (lab/docs/errata.md).
    We read line 3 as scaling the whole objective by ε/4B, penalties included. Here only the loss is scaled,
    and the precisions of the priors are sampled (§5.4). The ε is the same.

    Args:
        rank: number of factors.
        loss_bound: B, the largest weighted loss of a user, in squared widths of the scale; by default that of
            a user with ``domain.max_per_user`` ratings.
        margin: κ, how far predictions may leave the scale, as a fraction of its width.
        chain: the length of the chains, and their priors.
        out_of_range: predictions beyond that are clamped in the loss (``clamp``), or the chain runs on
            until all predictions are within (``reject``); lines 5 and 6 draw anew instead.
    """

    personal_epsilon: ClassVar = False

    chain: LangevinSettings = LangevinSettings()
    out_of_range: Literal["clamp", "reject"] = "clamp"

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """The one sample.

        Raises:
            BudgetUnsupported: Rejection is asked for under another adjacency than ``replace``.
        """
        if self.out_of_range == "reject" and terms.adjacency != "replace":
            raise BudgetUnsupported(
                "rejection is only for replace: how often a newcomer's predictions are rejected depends on "
                'the item factors, which no ε covers; set out_of_range="clamp"'
            )
        return super().queries(domain, terms)

    def transition(self, chain: Chain, state: State) -> None:
        """Move people and items by a pass of Langevin dynamics."""
        langevin_epoch(chain, state)

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """4 B; the chain's temperature divides the loss, as the paper's scale does."""
        return {SAMPLE: 4 * self._bound(domain) * self.chain.temperature}

    def _target(self, domain: Domain, noise: float) -> Posterior:
        return replace(super()._target(domain, noise), clamped=self.out_of_range == "clamp")
