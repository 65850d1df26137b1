import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real():
    """Finds a real file, or skips: they may not be redistributed, so they are not in the repository."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("HUSHREC_DATA", default))

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{name} is not on this machine; set HUSHREC_DATA to the folder that has it")
        return folder / name

    return find
