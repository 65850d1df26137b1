"""Processes that have NumPy, safetensors and hushrec alone, as the device of a client has them."""

import os
import subprocess
import sys

_FENCE = """
import sys

class Fence:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {"hushrec", "numpy", "safetensors"} | sys.stdlib_module_names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Fence())
"""


def bare(code, *arguments):
    """Run code on a bare install."""
    command = [sys.executable, "-c", _FENCE + code, *arguments]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env)
