"""Matrix factorization without noise, which several papers begin with or end in.

``MatrixFactorization`` (``matrix_factorization.py``) is the non-private baseline of the private models
(Koren, Bell & Volinsky 2009). ``descent.py`` reads ratings that need not fit in memory, block by block;
``factorizers.py`` fits ratings in memory, noisy ones too; ``kernels/`` has their compiled loops.

Privacy: private in, private out. Nothing here adds noise.
"""
