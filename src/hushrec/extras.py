"""The extra ``curator``: the packages that make releases. A bare install reads releases.

``pip install hushrec`` brings the client, with NumPy and safetensors alone.
"""

from hushrec.errors import ExtraMissing

CURATOR = frozenset(
    {
        "arviz_stats",
        "cryptography",
        "narwhals",
        "numba",
        "platformdirs",
        "polars",
        "psutil",
        "pydantic",
        "rich",
        "scipy",
        "typer",
    }
)
"""The packages of the extra, by the names under which they are imported."""


def require_curator(name: str, error: ModuleNotFoundError) -> None:
    """Say which install brings a package that an import did not find.

    Args:
        name: the name that needs it, such as ``hushrec.fit``.
        error: of the import.
    """
    if (error.name or "").partition(".")[0] in CURATOR:
        raise ExtraMissing(f"{name} needs what makes releases: pip install 'hushrec[curator]'") from None
