"""Recommender systems under differential privacy, with an ε that is true.

The public names stand in ``__init__.pyi``. Each is loaded when it is first used, so that the client needs
NumPy and safetensors alone.
"""

from hushrec import registry

__version__ = "0.1.0"
__all__ = sorted(registry.HOMES)  # noqa: PLE0605  (the names stand in __init__.pyi)


def __getattr__(name: str) -> object:
    return registry.load(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
