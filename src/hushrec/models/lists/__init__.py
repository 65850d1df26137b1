"""Lists of items from clicks, purchases and likes: popularity, and a linear model of people's own items.

``PrivateEASE`` (``private_ease.py``) is EASE (H. Steck, "Embarrassingly Shallow Autoencoders for Sparse
Data", WWW 2019) from one noisy Gram matrix of people's items, whose factors are found by variational Bayes
(Lim & Teh 2007), with public features of the items and other people's public clicks. ``Popularity``
(``popularity.py``) counts items as McSherry & Mironov 2009, §4.2, do. Δ of every sum stands in ``sums.py``;
``estimate/`` is post-processing, and ``outputs.py`` makes releases of scores.

Privacy: unit ``record`` or ``user``, add-remove, Gaussian.
"""
