"""Docstrings say what is private: everywhere where a signature could carry it, at least."""

import ast
import re
from pathlib import Path

import pytest

import hushrec

SOURCE = Path(hushrec.__file__).parent
GUARDED = (
    "curator",
    "data",
    "estimation",
    "models",
    "privacy",
    "release",
    "sums",
)
"""The packages on the path from ratings to releases."""
LINE = re.compile(r"Privacy: .*(public|private|bounded|charged|post-processing|unit)", re.IGNORECASE)
QUIET = "Privacy: public where nothing else is said."
PRIVATE = re.compile(r"Privacy:[^.]*\b(private|bounded|charged)")
ARRAYS = {"NDArray", "ndarray", "pa"}
KEEPERS = (
    "data",
    "data/spark",
    "kernels",
    "models/**",
    "privacy/**",
    "sums/**",
)


def declared(tree):
    return [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]


def holders():
    """Names of types that can hold what is private: arrays, tables, and classes that say so."""
    arrays = ast.parse((SOURCE / "arrays.py").read_text("utf-8"))
    yield from ARRAYS
    yield from (node.targets[0].id for node in arrays.body if isinstance(node, ast.Assign))
    for path in [path for keeper in KEEPERS for path in SOURCE.glob(f"{keeper}/*.py")]:
        tree = ast.parse(path.read_text("utf-8"))
        for node in declared(tree):
            texts = [ast.get_docstring(part) or "" for part in (node, tree)]
            said = texts[0] if "Privacy:" in texts[0] else texts[1]
            if isinstance(node, ast.ClassDef) and PRIVATE.search(said):
                yield node.name


HOLDERS = {*holders(), "AnyPeople"}


def words(node):
    """All names in an annotation, written out or as a string."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield part.id if isinstance(part, ast.Name) else part.attr
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from re.findall(r"\w+", part.value)


def signature(node):
    """The names of the types in a signature; of a class, in its fields, its bases and what it offers."""
    if isinstance(node, ast.FunctionDef):
        found = [part.annotation for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        return {word for part in [*found, node.returns] if part for word in words(part)}
    found = {word for base in node.bases for word in words(base)}
    for part in node.body:
        if isinstance(part, ast.AnnAssign):
            found |= {*words(part.annotation)}
        elif isinstance(part, ast.FunctionDef) and (part.name == "__init__" or part.name[0] != "_"):
            found |= signature(part)
    return found


def unsided(text, *, quiet):
    """Public names of a module's text without a line ``Privacy:`` that they need."""
    tree = ast.parse(text)
    if LINE.search(ast.get_docstring(tree) or ""):
        return
    for node in declared(tree):
        needed = not quiet or signature(node) & HOLDERS
        if needed and not LINE.search(ast.get_docstring(node) or ""):
            yield node.name


def is_quiet(folder):
    """Whether no line means *public* in a package: the nearest ``__init__`` that has a line decides."""
    rule = next(
        text
        for part in (folder, *folder.parents)
        if "Privacy:" in (text := (part / "__init__.py").read_text("utf-8")) or part == SOURCE
    )
    return QUIET in rule


@pytest.mark.parametrize(
    "path",
    sorted(path for part in GUARDED for path in (SOURCE / part).rglob("*.py") if path.name != "__init__.py"),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_what_can_be_private_says_whether_it_is(path):
    assert not [*unsided(path.read_text("utf-8"), quiet=is_quiet(path.parent))]
