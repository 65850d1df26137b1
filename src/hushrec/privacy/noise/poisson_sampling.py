"""Poisson sampling of users: independent draws with exactly the booked probability.

A user takes part if a 32-bit word of their own is below rate · 2³²: the first word of ChaCha20 (RFC 8439)
under the sample's key, with 96 bits of BLAKE2b of the user's id as nonce. Given uniform words, the
probability is exactly the rate. That the words of all nonces and keys are uniform and independent is what is
assumed of the cipher, here as for all noise. Who takes part depends on the key and their own id alone: not
on other users, on their order, or on where the ratings are.

Users whose ids have the same 96 bits take part together or not at all. For two ids that were not chosen to
this end, the chance is 2⁻⁹⁶. An id with the bits of a given one takes about 2⁹⁶ hashes to find. Two accounts
with the same bits take about 2⁴⁸: their owner lowers the protection of these two alone, to at worst that of a
measurement without sampling.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Words32
from hushrec.errors import SamplerError
from hushrec.privacy.accounting.events import ODDS
from hushrec.privacy.noise.kernels import first_words

_HASH = hashlib.blake2b(digest_size=12, person=b"hushrec sample")
_AT_ONCE = 1 << 16  # ids as Python strings, which take ten times the memory of their nonces


@dataclass(frozen=True, slots=True, repr=False)
class Sample:
    """Who takes part in one measurement, as a rule that decides for any user. ``repr`` shows nothing.

    Args:
        rate: probability that each user takes part, a multiple of 1/ODDS in (0, 1).
        key: 32 bytes that were never used before.

    Privacy: private; amplification by sampling requires that the key stays secret. It may go to where users'
        ratings are, because it tells nothing that the ratings there do not.
    """

    rate: float
    key: bytes

    def __post_init__(self) -> None:
        below = self.rate * ODDS
        if not (0 < below < ODDS and below.is_integer()) or len(self.key) != 32:
            raise SamplerError("a sample needs a rate in (0, 1), a multiple of 2^-32, and a key of 32 bytes")

    def of(self, nonces: Words32) -> Bools:
        """Whether each user takes part, shape (n_users,).

        Args:
            nonces: the users' ``nonces``, shape (n_users, 3).

        Privacy: private.
        """
        words = np.empty(len(nonces), np.uint32)
        first_words(words, np.frombuffer(self.key, "<u4").astype(np.uint32), nonces)
        return np.asarray(words < np.uint32(self.rate * ODDS))


def nonces(users: pl.Series) -> Words32:
    """96 bits of each user's id, the same for all samples, shape (n_users, 3).

    Privacy: private.
    """
    words = np.empty((len(users), 3), np.uint32)
    for start in range(0, len(users), _AT_ONCE):
        ids = users[start : start + _AT_ONCE].to_list()
        words[start : start + len(ids)] = np.frombuffer(b"".join(map(_hashed, ids)), "<u4").reshape(-1, 3)
    return words


def _hashed(user: str) -> bytes:
    state = _HASH.copy()  # a third faster than a new one
    state.update(user.encode())
    return state.digest()
