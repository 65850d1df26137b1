"""Lines of statements, and what they begin with."""

import math

from hushrec.release.statement import Local, Measured, Promised

PROMISE = "Anyone who reads this file, whatever else they know,"
CONDITIONAL = (
    "CONDITIONAL ON CONVERGENCE: a posterior sample (v) keeps its ε only if the chain had converged; its "
    "diagnostics (R̂, effective sample size) were computed from the ratings and are covered by no ε"
)
UNPROTECTED = "NOT PRIVATE: seeded"
SAMPLED = Measured("round 1", "subsampled gaussian", 1.0, 4.0, 12, 1.0, 0.03, 0.0625)
POSTERIOR = Measured("v", "posterior sample", 5.0, 10.0, 12, 1.0, 0.5)
LEVELS = (Promised("strict", 0.5, 0.25, 0.49999), Promised("generous", 8, 1.0, 1.25))
CELLS = Measured("rows", "randomized response", 1.0, 0.5, 12, 1.0, 2.0)
KINDS = {
    "user": {},
    "one rating": {"unit": "rating"},
    "its stars": {"unit": "rating", "adjacency": "replace"},
    "pure": {"delta": 0.0, "measurements": (Measured("sums", "laplace", 2.0, 8.0, 4, 1.0, 0.25),)},
    "weak": {"epsilon": 12.5},
    "seeded": {"caveat": UNPROTECTED},
    "exact": {"caveat": "NOT PRIVATE: trained on the exact ratings", "measurements": (), "epsilon": math.inf},
    "an author's": {"caveat": "AUTHOR'S CLAIM: this rests on mine.Model, which is not part of hushrec"},
    "conditional": {
        "caveat": f"{CONDITIONAL}; AUTHOR'S CLAIM: this rests on mine.Model",
        "measurements": (POSTERIOR,),
        "diagnostics": {"R̂": 1.25, "verdict": "NOT CONVERGED"},
    },
    "personal": {"personal": True, "promises": LEVELS, "measurements": (SAMPLED,)},
    "released rows": {
        "local": Local("cell", 1.0, 0.5, None, 2, 0.25),
        "epsilon": 2.0,
        "measurements": (CELLS,),
    },
    "groups": {
        "caveat": "GROUPS NOT COVERED: items were grouped by exact ratings",
        "beside": "films.safetensors",
    },
    "interactions": {"interactions": True},
    "declared": {
        "ledger": {"id": "9f" * 16, "head": "ab" * 32, "seq": 3, "total_epsilon": 4.0, "spent_epsilon": 1.25}
        | {"population": "Our subscribers", "controller": "Films Ltd", "contact": "privacy@films.example"}
    },
    "no ledger": {"ledger": {}, "assumes": ()},
}
"""What to change of a statement to have one of each kind."""


def first(statement):
    return str(statement).splitlines()[0]
