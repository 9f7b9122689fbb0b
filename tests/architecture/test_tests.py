"""Tests that pass without having looked: what no test function may contain."""

import ast

from .test_components import ROOT

TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def own_nodes(node):
    """The nodes of a function, without those of functions in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, NESTED):
            yield from own_nodes(child)


def returns(source):
    """Tests that end in the middle: they are to skip with a reason, or to be cases of their own."""
    return [
        f"{function.name}, line {node.lineno}"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
        for node in own_nodes(function)
        if isinstance(node, ast.Return)
    ]


def test_no_test_returns():
    found = {str(path.relative_to(ROOT)): returns(path.read_text()) for path in TESTS}
    assert not {path: lines for path, lines in found.items() if lines}


def test_returns_are_found():
    assert returns("def test_a():\n    if x:\n        return\n    assert y\n") == ["test_a, line 3"]
    assert returns("def test_a():\n    def f():\n        return 1\n    assert f()\n") == []
