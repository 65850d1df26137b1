"""Who takes part in a measurement: independent draws of exactly the booked probability.

Person n takes part where the n-th 32-bit word of a key's ChaCha20 stream (RFC 8439) is below rate · 2³². So
given uniform words the chance is the rate itself, and whether somebody takes part depends on his place alone,
not on how many others there are.
"""

import numpy as np

from hushrec.arrays import Bools
from hushrec.errors import SamplerError
from hushrec.kernels.noise import chacha
from hushrec.privacy.accounting.events import ODDS


def participants(n_people: int, rate: float, key: bytes) -> Bools:
    """A Poisson sample of people.

    Args:
        n_people: how many there are.
        rate: probability of each to take part, a multiple of 1/ODDS in (0, 1).
        key: 32 bytes that were never used before.

    Returns:
        Whether each takes part, shape (n_people,).

    Raises:
        SamplerError: The rate cannot be drawn exactly, or the key has another length.

    Privacy: private; what a sample saves holds against those who do not know who is in it.
    """
    below = rate * ODDS
    if not (0 < below < ODDS and below.is_integer()) or len(key) != 32:
        raise SamplerError("a sample has a rate in (0, 1), a multiple of 2^-32, and a key of 32 bytes")
    threshold = np.uint64(int(below))
    taken = np.empty(-(-n_people // (2 * chacha.WORDS)) * 2 * chacha.WORDS, np.bool_)
    key_words, words = np.frombuffer(key, "<u4").astype(np.uint32), np.empty(chacha.WORDS, np.uint64)
    for number, part in enumerate(taken.reshape(-1, 2, chacha.WORDS)):
        chacha.keystream(words, key_words, number * chacha.BLOCKS, (0, 0, 0))
        np.less(words & np.uint64(ODDS - 1), threshold, out=part[0])
        np.less(words >> np.uint64(32), threshold, out=part[1])
    return taken[:n_people].copy()
