"""Repeatable noise for tests and experiments. Releases made with it state that they are not private."""

from hushrec.privacy.noise.entropy import Seeded

__all__ = ["Seeded"]
