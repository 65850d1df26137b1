"""Poisson sampling of users: independent draws with exactly the booked probability.

User n takes part if the n-th 32-bit word of a key's ChaCha20 stream (RFC 8439) is below rate · 2³². Given
uniform words, the probability is exactly the rate. Whether a user takes part depends only on their index, not
on the number of users.
"""

import numpy as np

from hushrec.arrays import Bools
from hushrec.errors import SamplerError
from hushrec.kernels.noise import chacha
from hushrec.privacy.accounting.events import ODDS


def participants(n_people: int, rate: float, key: bytes) -> Bools:
    """Draw a Poisson sample of users.

    Args:
        n_people: number of users.
        rate: probability that each takes part, a multiple of 1/ODDS in (0, 1).
        key: 32 bytes that were never used before.

    Returns:
        Whether each takes part, shape (n_people,).

    Raises:
        SamplerError: The rate cannot be drawn exactly, or the key has another length.

    Privacy: private; amplification by sampling requires that the sample stays secret.
    """
    below = rate * ODDS
    if not (0 < below < ODDS and below.is_integer()) or len(key) != 32:
        raise SamplerError("a sample needs a rate in (0, 1), a multiple of 2^-32, and a key of 32 bytes")
    threshold = np.uint64(int(below))
    taken = np.empty(-(-n_people // (2 * chacha.WORDS)) * 2 * chacha.WORDS, np.bool_)
    key_words, words = np.frombuffer(key, "<u4").astype(np.uint32), np.empty(chacha.WORDS, np.uint64)
    for number, part in enumerate(taken.reshape(-1, 2, chacha.WORDS)):
        chacha.keystream(words, key_words, number * chacha.BLOCKS, (0, 0, 0))
        np.less(words & np.uint64(ODDS - 1), threshold, out=part[0])
        np.less(words >> np.uint64(32), threshold, out=part[1])
    return taken[:n_people].copy()
