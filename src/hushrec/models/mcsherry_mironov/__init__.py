"""McSherry & Mironov 2009: noisy item effects and a noisy covariance of items, prediction at home.

F. McSherry and I. Mironov, "Differentially Private Recommender Systems: Building Privacy into the Netflix
Prize Contenders", KDD 2009, doi:10.1145/1557019.1557090.

Sums and counts by item give global effects. What these leave of each person's ratings is centred, clamped
and weighted by 1/√c, c their number of ratings, and added up as a covariance of items with its weights.
Both get noise once. Everything else, a factorization or neighbours, is computed from the noisy matrices,
and people predict from their own ratings at home.

| in the paper | here |
|---|---|
| §4.2, §4.5 sums and counts by item | ``sums/item_sums.py``, ``models/effects.py`` |
| §4.2–4.3 global effects | ``GlobalEffects`` (``global_effects.py``) |
| §4.3–4.5 centring, clamping, covariance and weights | ``CovarianceSums`` (``sums.py``) |
| §4.6 cleaning | ``covariance_model.py``, ``estimate.py``, ``estimation/low_rank.py`` |
| §5 "SVD", "kNN" | ``CovarianceSVD`` (``covariance_svd.py``), ``CovarianceKNN`` (``covariance_knn.py``) |

Corrected:

- Theorem 3: its σ is too small from ε = 9.4 on, and too large below. The exact curve of the Gaussian
  mechanism prices all measurements together (``privacy/accounting/accountant.py``).
- Theorem 4 needs residuals within the scale, which nothing bounds; Theorem 5 uses it and fails in L1. Means
  are clamped to the scale, and Δ of the matrix is bounded in code (``sums/sensitivity.py``), for the upper
  triangle.
- §4.2: a sum of ratings from 1 to 5 moves by 5; with the middle of the scale subtracted by 2. §4.5: a
  person's norm is 5 and not 4, and their weights 1/√c leave the overall sum without a bound; each gives
  their mean.
- §5: each part of the budget is two measurements, and both are charged.

Beyond the paper: entries are weighted by their noise (``estimate.py``), and effects have a prior by
popularity and public features (``estimation/``).

Privacy: unit ``record`` or ``user``, Gaussian or Laplace noise; see each class.

The laboratory has the algorithms as printed (``McSherryEffects``, ``McSherryKNN``, ``McSherrySVD``) and
makes the paper's figures again: ``python -m lab reproduce mcsherry-mironov``.
"""
