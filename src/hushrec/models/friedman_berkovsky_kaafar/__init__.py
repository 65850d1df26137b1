"""Friedman, Berkovsky & Kaafar 2016: matrix factorization with noise on its input, its steps or its output.

A. Friedman, S. Berkovsky and M. A. Kaafar, "A Differential Privacy Framework for Matrix Factorization
Recommender Systems", User Modeling and User-Adapted Interaction 26(5), 2016, pages 425–458,
doi:10.1007/s11257-016-9177-7.

One rating is protected: its value ("bounded", here replace), or also that it exists ("unbounded", here
add-remove). Noisy averages of items and people are released first, and what they leave of a rating is
clamped. Then noise is added to every rating before it is factorized, to the steps of gradient descent, or to
the solutions of alternating least squares. Vectors of items and of people are released, so people stand on
a public roster.

| in the paper | here: a bare file name is in this folder, a path below ``src/hushrec/`` |
|---|---|
| §3.1, eqs. 1 and 2: factorization without noise | ``MatrixFactorization`` (``models/factorization/``) |
| §4.1, Algorithms 1 and 2, eq. 7: averages, clamp | ``models/biases.py``, ``sums/residuals.py`` |
| §4.1: private global effects | ``GlobalEffects`` with ``user_biases="released"`` |
| §4.2, Algorithm 3, eq. 8: input | ``InputPerturbationMF``; ``Cells`` (``sums.py``), ``estimate.py`` |
| §4.3, Algorithms 4 and 5: gradient descent | ``PrivateSGD``; ``FactorSums`` (``sums/factor_sums.py``) |
| §4.4, Algorithm 6: least squares | ``PrivateALS``; ``FactorSums``, ``estimation/factor_steps.py`` |

``alternating_model.py`` is the base of the last two. For unit ``user``, §4.3 became ``UserLevelSGD`` in
``models/liu_wang_smola/``. Algorithms 3 and 4 and Theorem 6 are right.

Corrected:

- Algorithm 5: noise covers one step, but the steps of an epoch depend on each other, so no finite ε is known.
  Here an epoch is one sum of clipped gradients at released factors (Δ: ``sums/factor_sums.py``).
- Algorithm 6 exchanges p_max and q_max of Theorem 6; unbounded, its noise shows how much somebody rated, and
  no finite ε is known. Here right-hand sides are measured, and no count is in their Δ (same file).
- §4.1, unbounded: a sum of ratings moves by 5; we read the Δr = 4 of the bounded form as kept. With the
  middle of the scale subtracted, it moves by 2 (``sums/item_sums.py``).

Algorithm 4 is right, but draws k noisy copies of the ratings at ε/k each; one copy at ε, which is
``InputPerturbationMF``, has less noise. Beyond the paper, ``estimate.py`` weighs which noisy cells of eq. 8
are ratings. Tests search neighbours of every Δ (``tests/sums/``, and this folder of ``tests/models/``).

Privacy: unit ``record``, both adjacencies. ``InputPerturbationMF`` is pure (Laplace), the others Gaussian.

The published forms, the stored rows and the errata are in ``lab/friedman_berkovsky_kaafar/``. Tables 3 to 5
and Fig. 2 and 4: ``python -m lab reproduce friedman``; Fig. 3, 5a and 6: ``python -m lab reproduce figures``.
"""
