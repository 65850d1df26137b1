"""McSherry & Mironov 2009: noisy averages and a noisy covariance of items, and prediction at home.

F. McSherry and I. Mironov, "Differentially Private Recommender Systems: Building Privacy into the Netflix
Prize Contenders", KDD 2009, pages 627–636, doi:10.1145/1557019.1557090.

The curator releases a noisy sum and count of each item's ratings. What the item averages leave of each
person's ratings is centred on their own mean, clamped and weighted by 1/√c (1/c for Laplace noise), c their
number of ratings. Its covariance and the co-rating weights get noise once. Cleaning and learning then use
released values alone, and people predict from their own ratings on their device.

| in the paper | here: a bare file name is in this folder, a path below ``src/hushrec/`` |
|---|---|
| §4.2, §4.5: sums and counts of items | ``EffectSums`` (``sums/item_sums.py``), ``models/effects.py`` |
| §4.2–4.3: averages of items and people | ``GlobalEffects``; ``estimation/shrinkage.py`` |
| §4.3–4.5: centring, clamping, Cov and Wgt | ``CovarianceSums`` (``sums.py``), ``covariance_model.py`` |
| §4.6: cleaning, the paper's and weighted | ``estimation/low_rank.py``, ``estimate.py`` |
| §5.1: SVD, kNN | ``CovarianceSVD``, ``CovarianceKNN``; at home ``release/predictors/`` |

Δ is derived in ``docs/models/covariance_svd.md``, ``global_effects.md`` and ``sums/sensitivity.py``.

Corrected:

- Theorem 3: σ is too small from ε = 9.39 on (δ = 1e-5), and too large below. Theorem 1 is loose. The exact
  Gaussian curve prices all measurements together (``privacy/accounting/accountant.py``).
- §4.2: nothing bounds the averages of items, so Theorem 4 has no bound. Averages are clamped to the scale,
  and residuals to half its width, before they are centred.
- Theorem 5 uses Theorem 4. In L1 it is false even with averages on the scale: it says 11, and an example
  moves the matrix by 13.0. Here the upper triangle is released, and its Δ is derived in
  ``sums/sensitivity.py``.
- §4.2: a sum of ratings from 1 to 5 moves by 5; with the middle of the scale subtracted, by 2. No Δ is
  printed; we read 4. Here Δ stands in ``EffectSums.queries``.
- §4.5: a person's norm is 5 where 4 is printed, and nothing bounds their part of GSum and GCnt. Here it is
  their mean rating and 1. Their ratings are centred and clamped before they are summed.
- §5.1: each part of θ pays for two measurements, a sum and a count. Each is charged.

Privacy: unit ``record`` under both adjacencies, or ``user`` under add-remove. Noise is Gaussian, or Laplace
(pure) on request.

The published forms, their figures and the errata are in ``lab/mcsherry_mironov/``. Fig. 1 and 2:
``python -m lab reproduce mcsherry-mironov``; with Laplace noise: ``python -m lab reproduce figures``.
"""
