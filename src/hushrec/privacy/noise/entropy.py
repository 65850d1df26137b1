"""Sources of keys for noise."""

import hashlib
import os
from typing import Protocol

_DOMAIN = b"hushrec seeded entropy\0"


class Entropy(Protocol):
    """A source of 256-bit keys.

    Attributes:
        private: whether the keys are secret; only operating-system entropy may claim this.

    Privacy: private; a key determines the noise drawn from it.
    """

    @property
    def private(self) -> bool: ...

    def key(self, name: str = "", purpose: str = "noise") -> bytes:
        """32 bytes for one measurement and purpose, never shared by two.

        Args:
            name: name of the measurement. Only a checkpoint uses it: there the same name gives the same key.
            purpose: distinguishes several keys of one measurement.

        Privacy: private.
        """
        ...


class OperatingSystem:
    """The operating system's random number generator, one read per key.

    Privacy: private.
    """

    private = True

    def key(self, name: str = "", purpose: str = "noise") -> bytes:
        """32 bytes of ``os.urandom``.

        Privacy: private.
        """
        return os.urandom(32)


class Seeded:
    """A repeatable sequence of keys for tests and experiments: SHA-256(domain, seed, counter).

    Args:
        seed: any integer; the same seed gives the same keys in the same order.

    Privacy: public, and so is every value released with it: anyone with the seed can subtract the noise.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._seed, self._count = str(int(seed)).encode(), 0

    def key(self, name: str = "", purpose: str = "noise") -> bytes:
        """The next key of the sequence.

        Privacy: public.
        """
        self._count += 1
        return hashlib.sha256(b"%s%s\0%d" % (_DOMAIN, self._seed, self._count)).digest()
