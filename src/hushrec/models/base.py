"""The bases of all models: frozen settings, and a release made on a run.

``PrivateModel`` adds noise: its measurements, their split of the budget, and the plan made from them.
"""

import hashlib
import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from hushrec.data.domain import Domain, FeedbackKind
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.privacy.accounting.budget import Budget, Terms, Unprotected
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement, Norm
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import Settings
from hushrec.sums.footprint import Footprint
from hushrec.sums.item_sums import OVERALL

EFFECTS_SPLIT = {**dict.fromkeys(OVERALL, 0.01), "item sums": 0.77, "item counts": 0.2}
"""Parts of the budget of item effects.

Beside a part of 0.15 for the counts, RMSE moves by at most 0.35 % for parts from 0.1 to 0.35 (both units,
ε = 0.5 or 1, three to six sets, with ratings clamped one by one).
"""
_INSTEAD = {
    "ratings": "CovarianceSVD (--model covariance-svd)",
    "interactions": "PrivateEASE (--model private-ease)",
}
"""The model to begin with, by what people give."""


class Model(Settings):
    """A recommender's settings.

    Privacy: public.
    """

    glance: ClassVar[Mapping[str, str]] = {}
    """Facts for the tables of all models: what it measures, how it predicts, and so on; and its page in
    ``docs/models/``, if it shares one."""
    supports: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    """The pairs of unit and adjacency that the model protects."""
    feedback: ClassVar[FeedbackKind] = "ratings"
    """The kind of feedback that the model learns from."""
    slopes: ClassVar[bool] = True
    """Whether predictions know that users follow item effects and popularity by different amounts."""
    personal_epsilon: ClassVar[bool] = False
    """Whether the model weights users so that each loses at most the ε that they ask for."""
    informed: ClassVar[bool] = False
    """Whether what is publicly known about the items shapes the release: their features, or a prior."""
    sums_alone: ClassVar[bool] = True
    """Whether a fit needs only sums over the people, so that a cluster can add them up where they are."""

    def require_feedback(self, domain: Domain) -> None:
        """Refuse a domain of another kind of feedback, and name a model that fits it.

        Raises:
            DataError: The model learns from another kind of feedback than the domain declares.
        """
        domain.require(self.feedback, by=type(self).__name__, instead=_INSTEAD[domain.feedback])

    @abstractmethod
    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Plan all measurements of a fit, with their noise and cost, from public facts alone.

        Raises:
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
        """

    @abstractmethod
    def fit(self, feedback: Any, run: Measures) -> Release:
        """Measure on the run and make the release; the curator writes its statement later.

        Args:
            feedback: private ``AnyPeople`` with what ``Model.feedback`` says, wherever their rows are;
                capped if the unit is ``user``.
            run: the charged plan, or the non-private baseline.

        Privacy: charged (the measurements of the plan).
        """

    @property
    def continues(self) -> bool:
        """Whether a release takes over the sums of the one before on its ledger; the first then gets half."""
        return False

    @property
    def baseline(self) -> Terms:
        """The terms of the non-private baseline: the smallest supported unit, with ε = ∞."""
        return Unprotected(*min(self.supports, default=("record", "add-remove")))


class Noiseless(Model):
    """A model for released data, and a non-private baseline on other data.

    Privacy: private. Of a data set that was released before, post-processing.
    """

    sums_alone: ClassVar = False
    instead: ClassVar[str] = (
        "release the data first (randomize, hushrec randomize) and fit on that, or choose a private "
        "model, such as CovarianceKNN"
    )
    """Advice for a caller with a budget."""

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Refuse every budget."""
        raise BudgetUnsupported(f"{type(self).__name__} adds no noise, so it takes no budget; {self.instead}")


Noise = Literal["gaussian", "laplace"]


class PrivateModel(Model):
    """The settings of a model that adds noise.

    Privacy: public.
    """

    split: Mapping[str, float] = {}
    """parts of the budget by name of measurement, in place of the model's own; they are scaled to sum to
    one.
    """

    @abstractmethod
    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List all measurements, in order, from public facts alone."""

    @abstractmethod
    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Return parts of the budget by name of measurement, where ``split`` does not override them.

        Along each branch they sum to one. Those of a subclass of another model may sum to more: they are
        scaled.
        """

    @property
    def noise_distribution(self) -> Noise:
        return "gaussian"

    @property
    def norm(self) -> Norm:
        """The norm in which the noise requires sensitivities."""
        return "l1" if self.noise_distribution == "laplace" else "l2"

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate memory and time of a fit, from public facts alone; by default, those of all queries."""
        return Footprint.of(query.size for query in self.queries(domain, budget))

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say which data the release needs to use all its measurements; empty if any data do."""
        return ""

    def plan(self, domain: Domain, budget: Budget) -> Plan:
        """Plan as ``Model.plan`` does.

        Raises:
            DataError: The model learns from another kind of feedback than the domain declares.
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
            BudgetError: δ is too large for the domain, or a measurement's part of the budget is too small.
            ConfigError: A setting has no effect under this budget.
        """
        return self.plan_in_year(domain, budget, None)

    def plan_in_year(self, domain: Domain, budget: Budget, year: Year | None) -> Plan:
        """Plan a release that takes over the sums of others; what all of them may cost shapes the sums.

        Args:
            domain, budget: as for ``plan``.
            year: what it takes over; None for a release that stands alone.
        """
        shaping = year.whole if year else budget
        listed = self.to_measure(domain, shaping)
        self._require_parts(listed, self.default_split(domain, shaping))
        split = self.budget_split(domain, shaping)
        return Plan(
            model=type(self).__name__,
            settings=self.settings(),
            domain_digest=domain.digest,
            max_users=domain.max_users,
            budget=budget,
            measurements=calibrated(listed, split, budget),
            personal_epsilon=(domain.personal_epsilon or {}) if self.personal_epsilon else {},
            needs=self.footprint(domain, shaping).in_words(domain.crowd),
            year=year,
        )

    def sums_digest(self, domain: Domain, whole: Budget) -> str:
        """SHA-256 (hex) of what decides how the sums of a year are formed, catalogue and noise apart.

        Args:
            whole: what all releases of the year may cost.
        """
        facts = {
            "model": type(self).__name__,
            "settings": self.settings(),
            "measured": [one.name for one in self.queries(domain, whole)],
            "shapes": dict(self.shapes(domain, whole)),
            "unit": [whole.unit, whole.adjacency, domain.max_per_user if whole.unit == "user" else None],
            "feedback": [domain.feedback, domain.rating_scale, domain.likes, domain.counts],
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode()).hexdigest()

    def shapes(self, domain: Domain, whole: Budget) -> Mapping[str, float]:
        """What else decides how the sums of a year are formed: bounds that follow from public facts."""
        return {}

    def to_measure(self, domain: Domain, budget: Budget) -> list[Measurement]:
        """List all measurements of a fit under a budget, in order, without their noise.

        Raises:
            DataError: The model learns from another kind of feedback than the domain declares.
            BudgetUnsupported: The model does not support this unit, adjacency or noise.
            ConfigError: A setting has no effect under this budget.
        """
        self.require_feedback(domain)
        self._require(budget)
        listed = [*self.queries(domain, budget)]
        if budget.delta == 0 and any(one.norm == "l2" and not one.is_exact for one in listed):
            other = ', or set noise="laplace"' if "noise" in type(self).model_fields else ""
            raise BudgetUnsupported(f"Gaussian noise needs delta > 0; set delta{other}")
        return listed

    def budget_split(self, domain: Domain, budget: Budget) -> dict[str, float]:
        """Return the part of the budget of each measurement that costs anything.

        Parts sum to one along each branch; the branch whose parts are largest decides what is left for one.
        """
        queries = self.queries(domain, budget)
        if unknown := set(self.split) - {query.name for query in queries}:
            names = ", ".join(query.name for query in queries)
            raise ConfigError(f"split: {sorted(unknown)[0]!r} is not measured here; name one of {names}")
        parts = {**self.default_split(domain, budget), **self.split}
        if missing := {query.name for query in queries} - set(parts):
            raise ConfigError(f"{type(self).__name__}.default_split has no part for {sorted(missing)[0]!r}")
        if wrong := [name for name, part in parts.items() if not 0 < part < math.inf]:
            owner = "split" if wrong[0] in self.split else f"{type(self).__name__}.default_split"
            raise ConfigError(
                f"{owner}: the part of {wrong[0]!r} is {parts[wrong[0]]:g}; every part of the budget must be "
                "a positive, finite number"
            )
        charged = {query.name: parts[query.name] for query in queries if not query.is_exact}
        if self.split and len(charged) == 1:
            raise ConfigError(
                f"{type(self).__name__}: split has no effect where only {next(iter(charged))!r} costs "
                "anything; leave it out"
            )
        branch_of, sums = {query.name: query.branch for query in queries}, dict[str, float]()
        for name, part in charged.items():
            sums[branch_of[name]] = sums.get(branch_of[name], 0.0) + part
        always, rest = sums.pop("", 0.0), max(sums.values(), default=0.0)
        # The dearest branch is paid, whichever is taken, so every other may use as much.
        scales = {"": 1.0, **{branch: rest / total for branch, total in sums.items()}}
        return {name: part * scales[branch_of[name]] / (always + rest) for name, part in charged.items()}

    def _require_parts(self, listed: Sequence[Measurement], parts: Mapping[str, float]) -> None:
        """Refuse parts that would be dropped or scaled in silence, of a model that extends no other.

        Those of hushrec, and what extends them, name parts of measurements that some units do not have.
        """
        modules = ((kind, kind.__module__.partition(".")[0]) for kind in type(self).__mro__)
        if next(kind for kind, module in modules if module == "hushrec") is not PrivateModel:
            return
        name = f"{type(self).__name__}.default_split"
        sums = dict.fromkeys((one.branch for one in listed), 0.0)
        if unknown := [part for part in parts if part not in (one.name for one in listed)]:
            names = ", ".join(one.name for one in listed)
            raise ConfigError(f"{name}: {unknown[0]!r} is not in queries(); name one of {names}")
        for one in listed:
            sums[one.branch] += parts.get(one.name, 0.0)
        always = sums.pop("", 0.0)
        for branch, total in (sums or {"": 0.0}).items():
            if not math.isclose(always + total, 1, abs_tol=2e-3):
                of = f" in branch {branch}" if branch else ""
                raise ConfigError(f"{name}: its parts sum to {always + total:g}{of}; let them sum to 1")

    def _require(self, budget: Budget) -> None:
        if (budget.unit, budget.adjacency) not in self.supports:
            offered = ", ".join(f"{unit} under {adjacency}" for unit, adjacency in sorted(self.supports))
            raise BudgetUnsupported(
                f"{type(self).__name__} protects {offered}; change the budget's unit or adjacency"
            )
        self.require_effect(unit=budget.unit, adjacency=budget.adjacency)
