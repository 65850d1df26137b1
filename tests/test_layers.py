"""What may be imported where, beyond what the linters of ``make lint`` see."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


KERNELS = {
    "collections.abc",
    "concurrent.futures",
    "contextlib",
    "itertools",
    "llvmlite",
    "math",
    "numba",
    "numba.core",
    "numba.core.caching",
    "numpy",
    "numpy.lib.stride_tricks",
    "numpy.typing",
    "typing",
    "hushrec.arrays",
    "hushrec.progress",
}
"""What compiled loops may import beside each other: arrays in, arrays out, no files and no entropy."""

DRAWING = {
    "audit/worlds.py",
    "data/split.py",
    "data/synthetic.py",
    "estimation/factor_steps.py",
    "release/synthesis/moments.py",
    "release/synthesis/synthetic_people.py",
    "models/liu_wang_smola/chain.py",
}
"""The files of the package that may use NumPy's generators: on no certified release's noise."""


def foreign(text):
    """What a file of kernels imports and may not."""
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or ".")
    return {name for name in imported if name not in KERNELS and "kernels" not in name.split(".")}


def test_kernels_are_only_arithmetic():
    source = ROOT / "src" / "hushrec"
    files = [path for path in source.rglob("*.py") if "kernels" in path.with_suffix("").parts]
    assert len(files) > 10
    found = {str(path.relative_to(source)): foreign(path.read_text("utf-8")) for path in files}
    assert not {name: names for name, names in found.items() if names}


def test_the_names_of_models_import_no_model():
    """Else a model that asks for a name would import itself."""
    text = (ROOT / "src" / "hushrec" / "models" / "__init__.py").read_text("utf-8")
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.startswith("hushrec.models")}


def test_the_bans_are_lifted_in_the_known_files_alone():
    lifted = {
        str(path.relative_to(ROOT / "src" / "hushrec"))
        for path in (ROOT / "src").rglob("*.py")
        if "TID25" in path.read_text("utf-8") or "ruff: noqa" in path.read_text("utf-8")
    }
    assert lifted == {*DRAWING, "kernels/compiled.py"}
