"""Lines of statements, and what they begin with."""

from hushrec.release.statement import Measured, Promised

PROMISE = "Anyone who reads this file, whatever else they know,"
CONDITIONAL = (
    "CONDITIONAL ON CONVERGENCE: a posterior sample (v) keeps its ε only if the chain had converged; its "
    "diagnostics (R̂, effective sample size) were computed from the ratings and are covered by no ε"
)
UNPROTECTED = "NOT PRIVATE: seeded"
SAMPLED = Measured("round 1", "subsampled gaussian", 1.0, 4.0, 12, 1.0, 0.03, 0.0625)
POSTERIOR = Measured("v", "posterior sample", 5.0, 10.0, 12, 1.0, 0.5)
LEVELS = (Promised("strict", 0.5, 0.25, 0.49999), Promised("generous", 8, 1.0, 1.25))


def first(statement):
    return str(statement).splitlines()[0]
