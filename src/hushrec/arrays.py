"""Array aliases and shape conventions.

Rows are entities: a matrix of factors is ``(n_items, rank)``. Ratings are stored user by user in
compressed rows: ``indptr`` of shape ``(n_users + 1,)``, ``items`` and ``steps`` of shape ``(n_ratings,)``.
A symmetric ``(n, n)`` matrix that is measured with noise is packed as its upper triangle, row by row,
diagonal included: ``n (n + 1) / 2`` entries.
"""

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Ints32 = NDArray[np.int32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Words32 = NDArray[np.uint32]
Floats32 = NDArray[np.float32]
Floats = NDArray[np.float64]
Shape = int | tuple[int, ...]
