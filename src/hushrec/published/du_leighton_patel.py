"""Du, Leighton & Patel 2019, "Private and accurate data release for recommendation", §III.B, as printed.

What fails: the printed probability is right for two symbols; with k of them a cell loses ln(k − 1) more
(docs/models/errata.md).
"""

import math
from collections.abc import Mapping

from hushrec.data.domain import Domain
from hushrec.local.method import CELLS
from hushrec.local.randomized_response import RandomizedResponse
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.local_events import LARGEST, Responses
from hushrec.privacy.accounting.plan import Plan


class DuResponse(RandomizedResponse):
    """Randomized response on every cell, untrue with probability 1/(1 + e^ε_k), ε_k = ε/m.

    The rest is spread over the k − 1 other symbols, which loses ε_k + ln(k − 1). The statement gives both,
    and the ledger is charged the true cost.

    Args:
        sample: how many cells of each row are answered; None for all of them.

    Privacy: charged its true cost, which is above the paper's ε; unit ``user``, adjacency ``replace``.
    """

    def _planned(self, domain: Domain, budget: Budget, sort: Mapping[str, int]) -> Plan:
        # −ln(1/(1 + e^ε_k)), for the paper's two symbols.
        exponent = math.log1p(math.exp(min(budget.epsilon / sort["size"], 2 * LARGEST)))
        return self.planned(
            domain, budget, Responses(CELLS, exponent=exponent, **sort), claimed=budget.epsilon
        )
