"""What type checkers read of the public names is what is there at run time."""

import ast
from pathlib import Path

import hushrec
from hushrec import registry


def test_the_stub_says_what_the_registry_says():
    stub, found = Path(hushrec.__file__).with_name("__init__.pyi"), {}
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            assert [(alias.name, node.level) for alias in node.names] == [(node.names[0].asname, 1)]
            found[node.names[0].name] = f"hushrec.{node.module or ''}".rstrip(".")
    assert found == registry.HOMES
