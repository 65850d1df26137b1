"""Recommender systems under differential privacy, with an ε that is true.

The public names stand in ``registry.py``. Each is loaded when it is first used, so that the client needs
NumPy and safetensors alone, which a bare install brings. What makes releases is in the extra ``curator``.
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
