"""Global effects: a mean for every item, a bias for every user (McSherry & Mironov 2009, §4.2–4.3)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported
from hushrec.models.base import EFFECTS_SPLIT, Noise, PrivateModel
from hushrec.models.biases import BiasSettings, average_split, biases_footprint
from hushrec.models.effects import EffectSettings, effects_footprint, effects_of
from hushrec.models.outputs import factor_release, people_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import only
from hushrec.sums.footprint import Footprint


class GlobalEffects(PrivateModel):
    """Noisy item effects; each user adds their own bias on their device, or takes it from the release.

    Prediction: r̂_ui = μ_i + b_u, where μ_i is the posterior mean of the item's effect given its noisy sum
    and count, and b_u that of the user's bias given their own ratings.

    Privacy: unit ``record`` under both adjacencies; unit ``user`` under add-remove, with user biases
    on the device.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, and per user on request",
        "predicts by": "item effect plus the user's own bias",
        "noise": "Gaussian or Laplace",
        "lists users": 'with `user_biases="released"`, for unit `record`',
        "paper": "McSherry & Mironov 2009, §4.2–4.3; Friedman, Berkovsky & Kaafar 2016, §4.1",
    }
    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace"), ("user", "add-remove")})
    informed: ClassVar = True

    user_biases: Literal["client", "released"] = "client"
    """``client``, or ``released`` for a bias of every user on the roster, which costs a part of the
    budget (after Friedman, Berkovsky & Kaafar 2016, §4.1, "private global effects").
    """
    noise: Noise | None = None
    """``gaussian`` (needs δ > 0) or ``laplace``; by default ``laplace`` if user biases are released,
    because it is smaller for two small sums per rating, else ``gaussian``.
    """
    effects: Annotated[EffectSettings, only(user_biases="client")] = EffectSettings()
    """how the item effects are measured (``client``)."""
    biases: Annotated[BiasSettings, only(user_biases="released")] = BiasSettings()
    """how item effects and user biases are measured (``released``)."""

    @property
    def continues(self) -> bool:
        """Whether it takes over sums: not with a bias of every user, whose sums are of a fixed roster."""
        return self.user_biases == "client"

    @property
    def noise_distribution(self) -> Noise:
        return self.noise or ("laplace" if self.user_biases == "released" else "gaussian")

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List sums and counts by item; then by user, or for unit ``user`` the overall level of all users."""
        if self.user_biases == "client":
            return [*self.effects.sums(domain, terms, self.norm).queries()]
        if terms.unit == "user":
            raise BudgetUnsupported('unit user does not support released biases; set user_biases="client"')
        return [*self.biases.queries(domain, terms, self.norm)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give most to sums; with released biases, give users more than items."""
        if self.user_biases == "released":
            return average_split(budget, 1.0)
        return EFFECTS_SPLIT

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        of = biases_footprint if self.user_biases == "released" else effects_footprint
        return of(domain, budget)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure, shrink, publish.

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        if self.user_biases == "released":
            return people_release(self, domain, self.biases.measure(people, run, self.norm))
        sums = self.effects.sums(domain, run.terms, self.norm)
        year = self.effects.measure_year(sums, people, run)
        run.hand_over(lambda: Carried(domain.items, year.arrays()))
        effects = effects_of(sums, year.sums, run.prior)
        # Factors of other people's public ratings, if there are any: nothing here says more of them.
        return factor_release(self, domain, effects, run.prior.factors_of(domain.n_items))
