"""For tests and experiments: repeatable noise. Releases made with it say that they are not private."""

from hushrec.privacy.noise.entropy import Seeded

__all__ = ["Seeded"]
