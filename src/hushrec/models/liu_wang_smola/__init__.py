"""Liu, Wang & Smola 2015: item factors drawn from their posterior, and noisy descent in place of the draw.

Z. Liu, Y.-X. Wang and A. J. Smola, "Fast Differentially Private Matrix Factorization", RecSys 2015, pages
171–178, doi:10.1145/2792838.2800191.

If nobody's part of the loss exceeds B, one sample of the posterior is private by itself (the exponential
mechanism). Trimming and weights keep that bound, and smaller weights give single people a smaller ε. The
paper draws the sample by stochastic gradient Langevin dynamics, with a fast kernel that processes ratings
person by person. Only item factors are released; people compute their own vector at home.

| in the paper | here: a bare file name is in this folder, a path below ``src/hushrec/`` |
|---|---|
| Algorithm 1, Theorem 1: one sample | ``PosteriorSampleMF``; ``Posterior`` (``chain.py``), ``sample.py`` |
| eq. 4: Langevin dynamics | ``PosteriorMF``, each step charged; ``noisy_descent.py``, ``sums.py`` |
| §5.4: Gibbs draws of the precisions | ``Chain`` (``chain.py``) |
| Definition 2, Theorem 2: an ε per person | ``Posterior.weights``; ``privacy/accounting/weights.py`` |
| eq. 5: people's own fit at home | ``release/predictors/factor_predictor.py`` |
| Algorithm 2: the kernel | ``MatrixFactorization`` (``models/factorization/kernels/visits.py``) |

``UserLevelSGD`` follows Friedman et al. 2016, §4.3, and McMahan et al. 2018. It stands here because it shares
``sums.py`` with ``PosteriorMF``. ``estimate.py`` expects what clipping and noise leave. Δ is derived in
``docs/models/posterior_sample_mf.md`` and ``posterior_mf.md``.

Corrected:

- Theorem 1: a density ∝ exp(−s F) costs 2 s B under replace and s B under add-remove, where the paper
  claims 4 s B (``Measurement`` in ``privacy/accounting/measurement.py``).
- The Langevin steps leave another law than the density: at a stated ε = 1, ε ≥ 2.00 was proved with 99 %
  confidence. Gibbs sweeps keep the density exactly (``kernels.py``).
- Nobody can prove that a chain has converged, so the statement of a sample is conditional on it.
  ``PosteriorMF`` has no such condition: Δ of a step is the clip norm (``sums.py``).
- Lines 5 and 6 reject samples, which has no ε under add-remove. Predictions are clamped in the loss instead.
- Line 1 computes B from private counts. Here B is a setting, or follows from the declared cap.
- The temperature divides the loss, so it is part of the charge.

Privacy: unit ``user``. A sample is pure, under both adjacencies, if its chain has converged; ``PosteriorMF``
and ``UserLevelSGD`` are Gaussian, under add-remove.

The published form, the stored rows and the errata are in ``lab/liu_wang_smola/``. Fig. 5: ``python -m lab
reproduce liu``, with Table 1 after ``python -m lab bench cache``; Fig. 1 and 4: ``python -m lab reproduce
figures``.
"""
