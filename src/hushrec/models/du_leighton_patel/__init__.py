"""Du, Leighton & Patel 2019: the data themselves, randomized and released.

C. Du, A. Leighton and S. Patel, "Exploring Some Approaches to Privatize Data Releases for Training
Recommendation Systems", report of May 16, 2019 (no DOI).

Each person's row is randomized on its own and released. Randomized response answers every cell, rated or
not. Distance-based release, after D2P (Guerraoui, Kermarrec, Patra & Taziki 2015), keeps each rated item or
replaces it, mostly by a near one. Anybody then trains any model on the rows, at no further cost.

| in the paper | here: a bare file name is in this folder, a path below ``src/hushrec/`` |
|---|---|
| §III.B: randomized response | ``RandomizedResponse``; ``response.py`` |
| §III.C, step 1: groups of near items | ``Groups`` (``groups.py``); from public features (``features.py``) |
| §III.C, steps 2 and 3: selector, profiler | ``DistanceBased``; ``substitution.py`` |
| §IV.B: K nearest people | ``UserKNN``; ``NearestPeople`` (``release/predictors/neighbours.py``) |
| §V.C, future work: item-based, other metrics | ``ItemKNN`` (Sarwar et al. 2001, §3.2.1); ``distance=`` |

``method.py`` is the base of both methods, and ``released_data.py`` their result with its files.
``estimate.py`` computes unbiased counts and means of items from the answers of randomized response.
The paper's p and p* are ``group_probability`` and ``keep_probability``; D2P has them the other way round.

Corrected:

- §III.B: the probability is that of two symbols and is used for six, so a cell costs ε_k + ln 5, not ε_k.
  Here it is that of k symbols (``cell_loss`` in ``privacy/accounting/measurement.py``).
- §III.B divides ε by all items. Rows of at most c ratings differ in at most 2c cells, and ε is divided by
  these (``RandomizedResponse``).
- §III.C states no ε, and none exists for a person as a whole: their stars are released unchanged. The item
  of each rating has an exact ε (``per_slot`` in ``substitution.py``).
- §III.C draws one representative of an item for all rows, which has no finite ε. Each rating draws its own.
- §V.B: distance-based release does not stop the attack of Narayanan & Shmatikov (``lab/``, ``attack.py``).

Privacy: both methods are pure, for unit ``user``: ``RandomizedResponse`` under replace, ``DistanceBased``
under replace-items (which items, nothing else), and only with groups from features or a charged release.
``UserKNN`` and ``ItemKNN`` add no noise: they are for released data.

The published forms, the stored rows and the errata are in ``lab/du_leighton_patel/``. The table of §IV.D,
the two figures and the attack: ``python -m lab reproduce du``.
"""
