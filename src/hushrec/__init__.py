"""Recommender systems under differential privacy, with an ε that is true.

``registry.py`` lists the public names. Each is imported on first use, so that a bare install, with NumPy and
safetensors, runs the client. The extra ``curator`` brings the packages that make releases.
"""

from hushrec import extras, registry

__version__ = "0.1.0"
__all__ = sorted(registry.HOMES)  # noqa: PLE0605  (the names stand in registry.py)


def __getattr__(name: str) -> object:
    try:
        return registry.load(name)
    except ModuleNotFoundError as error:
        extras.require_curator(f"hushrec.{name}", error)
        raise


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
