"""Du, Leighton & Patel 2019: the data themselves, randomized and released.

C. Du, A. Leighton and S. Patel, "Exploring Some Approaches to Privatize Data Releases for Training
Recommendation Systems", 2019.

Randomized response answers every cell of a row, rated or not. Distance-based release, after Guerraoui et
al. 2015, keeps each rated item or replaces it, mostly by a near one. Whoever has the released rows trains
any model on them, at no further cost.

| in the paper | here |
|---|---|
| §III.B randomized response | ``RandomizedResponse``; ``privacy/local/response.py`` |
| §III.C distance-based release, D2P | ``DistanceBased``; ``groups.py``, ``privacy/local/substitution.py`` |
| §IV.B recommenders | ``UserKNN``, ``ItemKNN``; ``sums/kernels/neighbours.py`` |

``method.py`` is the base of both methods, ``released_data.py`` their result with its files, and
``estimate.py`` has unbiased counts and means of items from the answers of randomized response.

Corrected:

- §III.B: the probability is for two symbols and is used for six, so a cell costs ε + ln 5. Here it is that
  of k symbols (``privacy/accounting/events.py``, ``cell_loss``), and rows of at most c ratings differ in 2c
  cells.
- §III.C states no ε, and none exists for a person as a whole: stars and their number are as they were. What
  holds is an exact ε for *which items* somebody rated, under an adjacency of its own (replace-items).
- One representative for all rows has no finite ε; each rating draws its own.

Privacy: unit ``user``, pure: each row is randomized on its own, before any sum.

The laboratory has the methods as printed (``DuResponse``, ``DuRepresentatives``) and makes the tables
again, with the attack of §V.B on released rows: ``python -m lab reproduce du``.
"""
