"""Lines of statements, and what they begin with."""

import math

from hushrec.documents.sentences import Author, Beside, Convergence, Groups, Unprotected
from hushrec.release.statement import Local, Measured, Promised

PROMISE = "Anyone who reads this file, whatever else they know,"
CONDITIONAL = Convergence.sample(names="v")
CLAIMED = Author.foreign(names="mine.Model")
UNPROTECTED = Unprotected.seeded()
BESIDE = Beside.release(model="CovarianceSVD", epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROUND = Measured("round 1", "gaussian", 1.0, 4.0, 12, 1.0, 0.25)
POSTERIOR = Measured("v", "posterior sample", 5.0, 10.0, 12, 1.0, 0.5)
LEVELS = (Promised("strict", 0.5, 0.25, 0.49999), Promised("generous", 8, 1.0, 1.25))
CELLS = Measured("rows", "randomized response", 1.0, 0.5, 12, 1.0, 2.0)
KINDS = {
    "user": {},
    "one rating": {"unit": "record"},
    "its stars": {"unit": "record", "adjacency": "replace"},
    "pure": {"delta": 0.0, "measurements": (Measured("sums", "laplace", 2.0, 8.0, 4, 1.0, 0.25),)},
    "weak": {"epsilon": 12.5},
    "seeded": {"caveats": (UNPROTECTED,)},
    "exact": {"caveats": (Unprotected.exact(),), "measurements": (), "epsilon": math.inf},
    "an author's": {"caveats": (CLAIMED,)},
    "conditional": {
        "caveats": (CONDITIONAL, CLAIMED),
        "measurements": (POSTERIOR,),
        "diagnostics": {"R̂": 1.25, "verdict": "NOT CONVERGED"},
    },
    "personal_epsilon": {"personal_epsilon": True, "classes": LEVELS, "measurements": (ROUND,)},
    "released rows": {
        "local": Local("cell", 1.0, 0.5, None, 2, 0.25),
        "epsilon": 2.0,
        "measurements": (CELLS,),
    },
    "groups": {"caveats": (Groups.release(),), "beside": BESIDE},
    "interactions": {"interactions": True},
    "declared": {
        "ledger": {"id": "9f" * 16, "head": "ab" * 32, "seq": 3, "total_epsilon": 4.0, "spent_epsilon": 1.25}
        | {"population": "Our subscribers", "controller": "Films Ltd", "contact": "privacy@films.example"}
    },
    "one of several": {
        "ledger": {"id": "9f" * 16, "file": "weekly.db", "head": "ab" * 32, "seq": 3, "date": "2026-11-25"}
        | {"release_index": 2, "max_releases": 52, "total_epsilon": 4.0, "total_delta": 1e-6}
        | {"spent_epsilon": 0.7, "population": "Our subscribers", "controller": "Films Ltd"},
        "epsilon": 0.466,
    },
    "no ledger": {"ledger": {}, "assumes": ()},
}
"""What to change of a statement to have one of each kind."""


def first(statement):
    return str(statement).splitlines()[0]
