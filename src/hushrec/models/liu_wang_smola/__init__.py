"""Liu, Wang & Smola 2015: factors drawn from their posterior, and noisy gradient descent.

Z. Liu, Y.-X. Wang and A. J. Smola, "Fast Differentially Private Matrix Factorization", RecSys 2015,
doi:10.1145/2792838.2800191.

A sample of factors from a posterior whose loss each person moves by at most B is private by itself: the
exponential mechanism. The paper draws it by stochastic gradient Langevin dynamics, with a kernel that keeps
a person's factors in the cache, and gives people an ε of their own by weights of their loss. Only item
factors are published; a person's own vector is computed at home.

| in the paper | here |
|---|---|
| Algorithm 1, §3.1, Theorem 1: one posterior sample | ``PosteriorSampleMF``; ``chain.py``, ``sample.py`` |
| §3.2, eq. 4: Langevin dynamics, each step charged | ``PosteriorMF``; ``noisy_descent.py`` |
| Definition 2, Theorem 2: personal ε | ``privacy/accounting/weights.py``, ``sums/population.py`` |
| §5: a fast kernel | ``models/factorization/kernels/visits.py`` |

``UserLevelSGD`` (``user_level_sgd.py``) clips each person's gradient as a whole, after Friedman et al.
2016, §4.3. Both descents take their clipped sums from ``sums.py``; ``estimate.py`` says what clipping and
noise leave.

Corrected:

- Theorem 1: the true loss of a person is 2 s B under replace and s B under add-remove, for the density ∝
  exp(−s F), in place of 4 s B; s is set accordingly (``chain.py``, ``Posterior``).
- §3.2: its steps leave another law than the density, and more than ε leaks. Gibbs sweeps keep it exactly
  (``kernels.py``).
- Convergence cannot be proven: the statement of a sample is conditional on it. ``PosteriorMF`` charges each
  step.
- Lines 5–7, rejection, have no ε under add-remove: predictions are clamped in the loss instead.
- The temperature divides the loss, so it is part of the charge.

Privacy: unit ``user``. A posterior sample is pure; ``PosteriorMF`` and ``UserLevelSGD`` are Gaussian.

The laboratory has the sampler as printed (``LiuPosterior``) and makes the figures again: ``python -m lab
reproduce liu``.
"""
