"""Matrix factorization without noise: the baseline of the private models, and a solver of noisy ratings.

``MatrixFactorization`` (``matrix_factorization.py``) follows Koren, Bell & Volinsky 2009, with alternating
least squares after Zhou et al. 2008. ``descent.py`` is gradient descent over ratings that need not fit in
memory. ``factorizers.py`` factorizes ratings in memory, also those that already have noise. ``kernels/`` has
the compiled loops: ``visits.py`` for descent, ``least_squares.py``, and ``simd.py`` for both.

Privacy: private in, private out, and post-processing of ratings that already have noise. Nothing here adds
noise, so never publish a release of ``MatrixFactorization``.
"""
