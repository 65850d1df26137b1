"""Friedman, Berkovsky & Kaafar 2016: matrix factorization with noise on ratings, gradients or least squares.

A. Friedman, S. Berkovsky and M. A. Kaafar, "A Differential Privacy Framework for Matrix Factorization
Recommender Systems", UMUAI 26, 2016, doi:10.1007/s11257-016-9177-7.

The unit is one rating, changed ("bounded", here replace) or added ("unbounded", here add-remove). Averages
of items and of people are released first. Then noise is added to every rating before it is factorized, to
the gradients of an epoch, or to the solutions of alternating least squares. Items' and people's factors are
all published, so people stand on a public roster.

| in the paper | here |
|---|---|
| §4.1, Algorithms 1 and 2: averages | ``models/biases.py``, ``sums/residuals.py`` |
| §4.2, Algorithm 3, eq. 8: input perturbation | ``InputPerturbationMF``; ``sums.py``, ``estimate.py`` |
| §4.3, Algorithms 4 and 5: gradient descent | ``PrivateSGD``; ``sums/factor_sums.py`` |
| §4.4, Algorithm 6: alternating least squares | ``PrivateALS``; ``sums/factor_sums.py`` |
| eq. 2, clean factorization | ``models/factorization/`` |

``PrivateSGD`` and ``PrivateALS`` share ``alternating_model.py``. Gradients clipped for each person, after
§4.3, are ``UserLevelSGD`` (``liu_wang_smola/user_level_sgd.py``).

Corrected:

- Algorithm 5: the steps of an epoch depend on each other, so no finite ε is known. Here each epoch is one
  sum of gradients at the last released factors, clipped by rating (Δ in ``sums/factor_sums.py``).
- Algorithm 6: bounds of people and items are exchanged; unbounded, its noise reveals how much somebody
  rated. Here right-hand sides are measured, whose Δ has no count.
- §4.1 unbounded: a sum of ratings moves by 5 where 4 is charged. With the middle of the scale subtracted,
  by 2.
- Algorithm 4 draws k copies of a rating at ε/k each; one sum at ε has less noise.

Beyond the paper: cells that hold no rating get noise too, and ``estimate.py`` weighs which are ratings.

Privacy: unit ``record``; input perturbation is pure (Laplace), the other two are Gaussian.

The laboratory has the algorithms as printed (``FriedmanEffects``, ``FriedmanInputMF``,
``FriedmanBoundedSGD``, ``FriedmanUnboundedSGD``, ``FriedmanALS``, ``FriedmanKNN`` of §5.4) and makes the
tables again: ``python -m lab reproduce friedman``, and the figures ``python -m lab reproduce figures``.
"""
