"""Lists from clicks, purchases and likes: popularity, and a linear model of people's own items.

``PrivateEASE`` (``private_ease.py``) is EASE (H. Steck, "Embarrassingly Shallow Autoencoders for Sparse
Data", WWW 2019, eq. 8, doi:10.1145/3308558.3313710) from one noisy matrix of pairs of items. ``Popularity``
(``popularity.py``) counts items as McSherry & Mironov 2009, §4.2, do. No model of the four papers makes
such lists.

``sums.py`` has the private sums, each with its Δ; Δ of pairs is proved in ``sums/sensitivity.py`` and in
docs/theorems.md. ``kernels.py`` compares lists for the vote. ``estimate/`` is post-processing: expected
counts and what features explain (``feature_values.py``), factors of pairs (``pair_factors.py``, after Lim &
Teh 2007). ``outputs.py`` makes releases that rank.

Privacy: unit ``user`` or ``record``, add-remove, Gaussian.
"""
