"""The base of all models: frozen settings, and a release made on a run."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hushrec.data.domain import Domain, FeedbackKind
from hushrec.errors import BudgetUnsupported
from hushrec.privacy.accounting.budget import Budget, Terms, Unprotected
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.settings import Settings

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
    """Facts for the tables of all models: what it measures, how it predicts, and so on."""
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
    def fit(self, feedback: Any, run: Run) -> Release:
        """Measure on the run and make the release; the curator writes its statement later.

        Args:
            feedback: private ``Ratings`` or ``Interactions``, as ``Model.feedback`` says, or ``Blocks`` of
                them; capped if the unit is ``user``.
            run: the charged plan, or the non-private baseline.

        Privacy: charged (the events of the run's plan).
        """

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
