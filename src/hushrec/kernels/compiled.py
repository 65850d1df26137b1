"""Compilation by numba: kept on disk where numba finds a folder for it, otherwise anew in every process."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.caching import FunctionCache as untyped_cache

cache: Any = untyped_cache

__all__ = ["compiled"]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop, as ``numba.njit`` does; the result is kept on disk if it can be, and runs if not.

    numba alone raises where it finds no folder: in a read-only installation whose user has no home to write
    to. A folder for all in ``/tmp`` would be no way out: what is kept there is pickled, so its owner
    could run code here.

    Args:
        options: of ``numba.njit``, without ``cache``.
    """

    def decorated(function: Callable[..., Any]) -> Any:
        loop = numba.njit(**options)(function)  # noqa: TID251  (here alone)
        with suppress(RuntimeError):
            loop._cache = _Kept(function)
        return loop

    return decorated


class _Kept(cache):  # type: ignore[misc]
    """Numba's cache, whose disk may become full or go away after a release is charged."""

    def load_overload(self, *call: Any) -> Any:
        with suppress(OSError):
            return super().load_overload(*call)
        return None

    def save_overload(self, *call: Any) -> None:
        with suppress(OSError):
            super().save_overload(*call)
