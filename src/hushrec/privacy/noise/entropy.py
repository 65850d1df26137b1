"""Sources of keys for noise."""

import hashlib
import os
from typing import Protocol, TypeVar

from hushrec.privacy.confined import Confined

_DOMAIN = b"hushrec seeded entropy\0"
_Value = TypeVar("_Value")


class Observer(Protocol):
    """A callable that sees a grant's values before their noise and chooses those it returns: for audits.

    Only a grant with seeded entropy, which is not private, has one.

    Privacy: private.
    """

    def released(self, event: object, private: object, value: _Value, *public: object) -> _Value:
        """The values that the grant returns.

        Args:
            private: what the noise hides: the bounded sum; None for a posterior sample.
            value: the noisy value, or the key of a posterior sample.
            public: what else the code that measures chose, which neighbouring data must agree on.

        Privacy: private in, public out.
        """
        ...


class Unobserved:
    """The observer of every private grant, which sees nothing and changes nothing.

    Privacy: public.
    """

    def released(self, event: object, private: object, value: _Value, *public: object) -> _Value:
        """The value as it is."""
        return value


class Entropy(Protocol):
    """A source of 256-bit keys.

    Attributes:
        private: whether the keys are secret; only operating-system entropy may claim this.

    Privacy: private; a key determines the noise drawn from it.
    """

    @property
    def private(self) -> bool: ...

    def key(self) -> bytes:
        """32 bytes, for one use.

        Privacy: private.
        """
        ...


class OperatingSystem(Confined):
    """The operating system's random number generator, one read per key.

    Privacy: private.
    """

    private = True

    def key(self) -> bytes:
        """32 bytes of ``os.urandom``.

        Privacy: private.
        """
        return os.urandom(32)


class Seeded(Confined):
    """A repeatable sequence of keys for tests and experiments: SHA-256(domain, seed, counter).

    Args:
        seed: any integer; the same seed gives the same keys in the same order.
        observer: what an audit sees a grant through; none by default.

    Privacy: public, and so is every value released with it: anyone with the seed can subtract the noise.
    """

    private = False

    def __init__(self, seed: int, observer: Observer | None = None) -> None:
        self._seed, self._count = str(int(seed)).encode(), 0
        self.observer = observer or Unobserved()

    def key(self) -> bytes:
        """The next key of the sequence.

        Privacy: public.
        """
        self._count += 1
        return hashlib.sha256(b"%s%s\0%d" % (_DOMAIN, self._seed, self._count)).digest()


def observer_of(entropy: Entropy, *, private: bool) -> Observer:
    """The observer of a grant: only that of ``Seeded`` itself, and of no grant that is private.

    Args:
        entropy: the grant's entropy. An attribute ``observer`` of any other class is not looked at.
        private: whether releases of the grant may claim their ε.

    Privacy: public.
    """
    return entropy.observer if type(entropy) is Seeded and not private else Unobserved()
