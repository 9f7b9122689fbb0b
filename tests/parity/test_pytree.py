"""Trees of containers beside PyTorch's: what they answer, raise and warn.

Each line of pytree_cases.txt is an expression; p is the module in question.
"""

import copy
import dataclasses
import enum
import re
import time
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path

import pytest

import rushlight
import rushlight.utils._cxx_pytree
import rushlight.utils._pytree

torch = pytest.importorskip("torch")
import torch.utils._pytree  # noqa: E402, F811

CASES = Path(__file__).with_name("pytree_cases.txt").read_text().splitlines()

Color = enum.Enum("Color", "RED GREEN")
Named = namedtuple("Named", "a b")
Other_named = namedtuple("Other_named", "a b")


class Subclassed(Named):
    """A named tuple, too."""


class SubclassedList(list):
    """A leaf."""


class OddNamed(tuple):
    _fields = ("a", 3)
    _make = _asdict = len


class Shown:
    """Shows what it has; two of a class that have the same are equal."""

    def __repr__(self):
        return f"{type(self).__name__}({vars(self)})"


class Pair(Shown):
    def __init__(self, a, b, context=None):
        self.a, self.b, self.context = a, b, context


class Keyed(Shown):
    def __init__(self, *items):
        self.items = items


class Many(Shown):
    """Comes apart into whatever it was made of."""

    def __init__(self, parts):
        self.parts = parts


class Other(Shown):
    """Is not registered."""


class Fresh(Shown):
    def __init__(self, x):
        self.x = x


class Unhashable:
    def __eq__(self, other):
        return True


@dataclasses.dataclass(frozen=True)
class Constant:
    value: int


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: int


@dataclasses.dataclass
class Data:
    x: object
    y: object = None
    derived: int = dataclasses.field(default=3, init=False)


@dataclasses.dataclass
class Fields:
    x: object
    y: object


TABLES = "SUPPORTED_NODES", "SUPPORTED_SERIALIZED_TYPES", "SERIALIZED_TYPE_TO_PYTHON_TYPE", "CONSTANT_NODES"


@pytest.fixture(autouse=True)
def _same_registry():
    """Cases register classes: the next ones find none of them."""
    both = [getattr(p, name) for p in (rushlight.utils._pytree, torch.utils._pytree) for name in TABLES]
    before = [table.copy() for table in both]
    yield
    for table, was in zip(both, before):
        table.clear()
        table.update(was)
    rushlight.utils._pytree.treespec_loads.cache_clear()
    torch.utils._pytree.treespec_loads.cache_clear()


def register(p):
    p.register_pytree_node(
        Pair, lambda x: ([x.a, x.b], x.context), lambda children, context: Pair(*children, context)
    )
    p.register_pytree_node(
        Keyed,
        lambda x: (list(x.items), "context"),
        lambda children, context: Keyed(*children),
        serialized_type_name="Keyed",
        to_dumpable_context=lambda context: context.upper(),
        from_dumpable_context=lambda context: context.lower(),
        flatten_with_keys_fn=lambda x: ([(p.GetAttrKey(str(i)), v) for i, v in enumerate(x.items)], None),
    )
    p.register_pytree_node(Many, lambda x: x.parts, lambda children, context: children)
    p.register_constant(Constant)
    p.register_dataclass(Data)


def environment(t):
    p = t.utils._pytree
    register(p)
    recursive = []
    recursive.append(recursive)
    tree = {"x": 7, "y": (42, [64, None]), "z": {"a": (), "b": [{"c": "text"}, 2.5]}}
    return {
        "p": p,
        "torch": t,
        "tree": tree,
        "spec": p.tree_structure(tree),
        "named": Named(1, [2]),
        "other_named": Other_named(1, [2]),
        "named_class": Named,
        "odd_class": OddNamed,
        "odd_named": OddNamed((1, 2)),
        "subclassed_named": Subclassed(1, 2),
        "subclassed_list": SubclassedList([1]),
        "ordered": OrderedDict(b=1, a=[2]),
        "default": defaultdict(lambda: 3, a=1, b=[2]),
        "custom": Pair(1, 2),
        "many": Many(([1, 2], None)),
        "generated": Many(((i for i in range(3)), None)),
        "short": Many(([1],)),
        "long": Many(([1], 2, 3)),
        "no_pair": Many(5),
        "no_children": Many((5, None)),
        "keyed": Keyed(1, [2]),
        "constant": Constant(3),
        "data": Data(1),
        "recursive": recursive,
        "seen": [],
        **{c.__name__: c for c in (Color, Pair, Other, Fresh, Unhashable, Constant, Frozen, Fields)},
        **{c.__name__: c for c in (OrderedDict, defaultdict, deque, namedtuple)},
        "copy": copy,
        "dataclasses": dataclasses,
        "time": time,
    }


def answer(t, case):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = repr(eval(case, environment(t)))
        except RecursionError:
            result = "RecursionError"
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    texts = [result, *(f"{w.category.__name__}: {w.message}" for w in said)]
    return [re.sub(" at 0x[0-9a-f]+", "", text).replace("rushlight", "torch") for text in texts]


def test_cases_are_different():
    assert len(set(CASES)) == len(CASES) > 200


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)


def test_signatures():
    import inspect

    def parameters(function):
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    theirs = vars(torch.utils._pytree)
    tried = 0
    for name, function in theirs.items():
        ours = getattr(rushlight.utils._pytree, name, None)
        if inspect.isfunction(function) and function.__module__ == "torch.utils._pytree" and ours:
            assert parameters(ours) == parameters(function), name
            tried += 1
    assert tried > 60


def test_names():
    theirs, ours = torch.utils._pytree, rushlight.utils._pytree
    assert ours.__all__ == theirs.__all__
    assert not [name for name in theirs.__all__ if not hasattr(rushlight.utils._cxx_pytree, name)]
