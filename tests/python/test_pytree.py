"""Trees of containers: what users' functions may do while C walks them, depth, collection, copies, failures.

What the functions answer is compared with PyTorch's in tests/parity/test_pytree.py.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import rushlight
from rushlight import _C
from rushlight.utils import _cxx_pytree, _pytree
from rushlight.utils._pytree import (
    LeafSpec,
    TreeSpec,
    register_pytree_node,
    tree_flatten,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

Named = namedtuple("Named", "a b")


class Box:
    """A node whose functions a test brings."""

    def __init__(self, *items):
        self.items = items


@pytest.fixture
def box():
    """Registers Box with these functions, and forgets it again."""
    functions = {
        "flatten": lambda box: (box.items, None),
        "unflatten": lambda children, context: Box(*children),
    }
    register_pytree_node(
        Box, lambda box: functions["flatten"](box), lambda *args: functions["unflatten"](*args)
    )
    yield functions
    _pytree._deregister_pytree_node(Box)


TREES = [
    {"a": [1, (2, None)], "b": {}},
    [[], (), {}, Named(1, [2]), deque([3], 4)],
    OrderedDict(b=1, a=[2]),
    defaultdict(list, a=[1]),
    rushlight.Size([2, 3]),
    rushlight.max(rushlight.eye(2), 0),
    [rushlight.ones(2), "text", 2.5],
    3,
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_flattened_and_built_again(tree):
    leaves, spec = tree_flatten(tree)
    assert len(leaves) == spec.num_leaves
    again = tuple(tree) if isinstance(tree, rushlight.Size) else tree
    assert repr(tree_unflatten(leaves, spec)) == repr(again)
    assert list(map(id, tree_leaves(tree))) == list(map(id, tree_iter(tree))) == list(map(id, leaves))
    assert repr(tree_map(lambda leaf: 0, tree)) == repr(tree_unflatten([0] * len(leaves), spec))


def test_leaves_are_the_objects_themselves():
    x = rushlight.ones(2)
    leaves, spec = tree_flatten({"x": x})
    assert leaves[0] is x
    assert tree_unflatten([x], spec)["x"] is x


def test_moved_items_of_an_ordered_dict_keep_their_order():
    tree = OrderedDict(a=1, b=2)
    tree.move_to_end("a")
    assert tree_leaves(tree) == [2, 1]
    assert list(tree_map(str, tree).items()) == [("b", "2"), ("a", "1")]


def test_modules_are_one():
    assert rushlight.utils._pytree is _pytree and rushlight.utils._cxx_pytree is _cxx_pytree
    for name in (*_pytree.__all__, "treespec_leaf", "broadcast_prefix", "map_only"):
        assert getattr(_cxx_pytree, name) is getattr(_pytree, name)


def test_import_is_on_demand():
    code = "import sys, rushlight.nn, rushlight.optim; print('rushlight.utils._pytree' in sys.modules)"
    assert output_of(code) == "False\n"


# ---- what users' functions do in between ----
def test_list_that_grows_under_the_walk(box):
    tree = [Box(1), 2]

    def flatten(node):
        if len(tree) < 40:
            tree.append(Box(len(tree)))
        return node.items, None

    box["flatten"] = flatten
    leaves, spec = tree_flatten(tree)
    assert leaves[:2] == [1, 2] and len(leaves) == 40
    assert spec.num_children == 40


def test_list_that_shrinks_under_the_walk(box):
    tree = [Box(1), *range(100)]

    def flatten(node):
        del tree[5:]
        return node.items, None

    box["flatten"] = flatten
    leaves, spec = tree_flatten(tree)
    assert leaves == [1, 0, 1, 2, 3] and spec.num_children == 5
    assert tree_leaves([Box(1), tree]) == [1, *leaves]


@pytest.mark.parametrize(
    "make",
    [
        dict,
        OrderedDict,
        lambda x: defaultdict(list, x),
        lambda x: list(x.values()),
        lambda x: deque(x.values()),
    ],
)
def test_container_that_is_cleared_under_the_walk(make):
    tree = make({i: [i] for i in range(20)})

    def is_leaf(node):
        if node == [3]:
            tree.clear()
        return False

    leaves, spec = tree_flatten(tree, is_leaf)
    assert leaves == ([0, 1, 2, 3] if isinstance(tree, list) else list(range(20)))
    assert spec.num_leaves == len(leaves)


def test_children_that_go_while_they_are_walked(box):
    items = [[i] for i in range(30)]

    def is_leaf(node):
        if node == [5]:
            items.clear()
            gc.collect()
        return False

    box["flatten"] = lambda node: (items, None)
    assert tree_leaves(Box(), is_leaf) == [0, 1, 2, 3, 4, 5]


def test_keys_that_change_while_a_dict_is_built():
    class Key:
        def __hash__(self):
            if hasattr(self, "clear"):
                self.clear()
            return 1

    key = Key()
    spec = tree_structure({1: 2, 2: 3, key: 4, 3: 5})
    keys = spec.context
    key.clear = keys.clear
    with pytest.raises(ValueError, match="zip"):
        tree_unflatten([1, 2, 3, 4], spec)


def test_leaves_that_go_while_a_tree_is_built(box):
    leaves = [[i] for i in range(4)]

    def unflatten(children, context):
        leaves.clear()
        gc.collect()
        return children

    box["unflatten"] = unflatten
    spec = tree_structure([Box(1), Box(2), Box(3), 4])
    assert tree_unflatten(leaves, spec) == [[[0]], [[1]], [[2]], [3]]


def test_further_tree_that_changes_in_between(box):
    other = [Box(1), 2, 3]

    def flatten(node):
        if node is other[0]:
            del other[1:]
        return node.items, None

    spec = tree_structure([Box(1), 2, 3])
    box["flatten"] = flatten
    with pytest.raises(ValueError, match="Node arity mismatch; expected 3, but got 1."):
        spec.flatten_up_to(other)


def test_registry_that_changes_in_between(box):
    def flatten(node):
        _pytree.SUPPORTED_NODES.clear()
        gc.collect()
        return node.items, None

    before = dict(_pytree.SUPPORTED_NODES)
    box["flatten"] = flatten
    try:
        leaves, spec = tree_flatten([Box([1]), [2]])
    finally:
        _pytree.SUPPORTED_NODES.update(before)
    assert leaves == [[1], [2]] and spec.num_children == 2


def test_node_that_changes_its_class(box):
    class Temporary(Box):
        pass

    node = Temporary([1])
    register_pytree_node(
        Temporary, lambda x: (setattr(x, "__class__", Box), ([1, [2]], None))[1], lambda *a: a
    )
    try:
        leaves, spec = tree_flatten(node)
    finally:
        _pytree._deregister_pytree_node(Temporary)
    assert leaves == [1, 2] and spec.type is Temporary


def test_mapped_function_that_changes_the_tree():
    tree = {"a": [1, 2], "b": 3}

    def change(leaf):
        tree.clear()
        gc.collect()
        return -leaf

    assert tree_map(change, tree) == {"a": [-1, -2], "b": -3}


def test_finalizers_between_the_lines():
    if not hasattr(_C, "_gc_every"):
        pytest.skip("the build has no gc points")
    tree = {"a": [1, 2], "b": Named(3, deque([4]))}

    def change():
        tree.pop("a", None) or tree.update(a=[1, 2])

    _C._gc_every(change)
    try:
        for _ in range(20):
            leaves, spec = tree_flatten(tree)
            assert len(leaves) == spec.num_leaves
            tree_unflatten(leaves, spec)
    finally:
        _C._gc_every(None)


# ---- depth ----
def deep(make, n):
    tree = 1
    for _ in range(n):
        tree = make(tree)
    return tree


WRAP = {
    "list": lambda x: [x],
    "tuple": lambda x: (x,),
    "dict": lambda x: {1: x},
    "named": lambda x: Named(x, 1),
    "deque": lambda x: deque([x]),
}


@pytest.mark.parametrize("make", WRAP.values(), ids=WRAP)
def test_depth_is_limited(make):
    tree = deep(make, 100_000)
    for call in (tree_flatten, tree_leaves, lambda t: tree_map(id, t), lambda t: list(tree_iter(t))):
        with pytest.raises(RecursionError):
            call(tree)
    while not isinstance(tree, int):  # a deque of deques would be freed by recursion
        tree = tree[1] if isinstance(tree, dict) else tree[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda spec, other, tree: spec == other,
        lambda spec, other, tree: hash(spec),
        lambda spec, other, tree: repr(spec),
        lambda spec, other, tree: tree_unflatten([1], spec),
        lambda spec, other, tree: spec.flatten_up_to(tree),
        lambda spec, other, tree: _pytree.treespec_dumps(spec),
    ],
)
def test_depth_of_specs_is_limited(call):
    spec, other, tree = tree_structure(1), tree_structure(1), 1
    for _ in range(100_000):
        spec, other, tree = TreeSpec(list, None, [spec]), TreeSpec(list, None, [other]), [tree]
    assert spec.num_nodes == 100_001
    with pytest.raises(RecursionError):
        call(spec, other, tree)
    del spec, other  # freed by a loop
    assert tree_leaves(deep(lambda x: [x], 150)) == [1]


# ---- specs ----
def test_spec_is_collected():
    class Context:
        pass

    context = Context()
    spec = TreeSpec(list, context, [tree_structure((1, 2))])
    context.spec = spec
    gone = weakref.ref(context)
    del context, spec
    gc.collect()
    assert gone() is None


def test_unfilled_spec_is_refused():
    spec = TreeSpec.__new__(TreeSpec)
    for call in (
        lambda: tree_unflatten([], spec),
        lambda: spec.flatten_up_to(1),
        lambda: hash(spec),
        lambda: TreeSpec(list, None, [spec]),
        lambda: _pytree.treespec_tuple([spec]),
    ):
        with pytest.raises(TypeError, match="expected a TreeSpec"):
            call()
    with pytest.raises(AttributeError):
        spec.type  # noqa: B018
    with pytest.raises(AttributeError):
        spec._children  # noqa: B018
    assert spec != tree_structure(1) and spec == spec


def test_spec_cannot_be_changed():
    spec = tree_structure([1])
    with pytest.raises(AttributeError):
        spec._fill(tuple, None, [])
    with pytest.raises(AttributeError):
        object.__setattr__(spec, "num_leaves", 5)
    spec._children.append(spec)
    spec.children().clear()
    assert tree_unflatten([3], spec) == [3]


def test_specs_are_copied():
    spec = tree_structure({"a": [1, (2,)], "b": Named(1, 2)})
    for twin in (copy.deepcopy(spec), copy.copy(spec), pickle.loads(pickle.dumps(spec))):
        assert twin == spec and hash(twin) == hash(spec) and type(twin) is TreeSpec
    leaf = tree_structure(1)
    assert copy.deepcopy(leaf) is leaf and pickle.loads(pickle.dumps(leaf)) is leaf


def test_leaf_spec_warns():
    with pytest.warns(FutureWarning, match="LeafSpec"):
        leaf = LeafSpec()
    assert leaf == tree_structure(1) and leaf.is_leaf() and isinstance(leaf, TreeSpec)
    assert tree_unflatten([5], leaf) == 5


def test_context_whose_comparison_fails(box):
    class Context:
        def __eq__(self, other):
            raise ZeroDivisionError

    box["flatten"] = lambda node: (node.items, Context())
    one, other = tree_structure(Box(1)), tree_structure(Box(1))
    with pytest.raises(ZeroDivisionError):
        one.__eq__(other)
    with pytest.raises(ZeroDivisionError):
        one.flatten_up_to(Box(1))


# ---- registration ----
def test_definition_of_a_builtin_container_can_be_replaced():
    before = dict(_pytree.SUPPORTED_NODES)
    with pytest.warns(UserWarning, match="already registered"):
        _pytree._private_register_pytree_node(
            list, lambda x: (x[::-1], "turned"), lambda children, context: (context, children)
        )
    try:
        assert tree_leaves([1, 2]) == [2, 1]
        assert tree_map(str, [1, 2]) == ("turned", ["2", "1"])
    finally:
        _pytree.SUPPORTED_NODES.update(before)
    assert tree_leaves([1, 2]) == [1, 2]


def test_registration_that_fails_leaves_nothing():
    with pytest.raises(ValueError, match="must be None or registered"):
        register_pytree_node(Box, None, None, to_dumpable_context=str)
    assert Box not in _pytree.SUPPORTED_NODES


def test_forgetting_a_class_without_a_name():
    class One(Box):
        pass

    class Two(Box):
        pass

    for cls in (One, Two):
        register_pytree_node(cls, lambda x: (x.items, None), lambda c, _: Box(*c))
    for cls in (One, Two):
        _pytree._deregister_pytree_node(cls)
    assert tree_leaves([One(1)])[0].items == (1,)


def test_return_types_register():
    assert rushlight.return_types.max in _pytree.SUPPORTED_NODES
    assert rushlight.return_types.max in rushlight.return_types.all_return_types
    with pytest.raises(ValueError, match="already registered"):
        rushlight.return_types.pytree_register_structseq(rushlight.return_types.max)
    doubled = tree_map(lambda x: x * 2, rushlight.max(rushlight.eye(2), 0))
    assert type(doubled) is rushlight.return_types.max and doubled.values.tolist() == [2.0, 2.0]


# ---- what is refused ----
@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: tree_flatten([1], is_leaf=3), TypeError),
        (lambda: tree_map(None, [1]), TypeError),
        (lambda: tree_map_only(3, id, [1]), TypeError),
        (lambda: tree_unflatten(3, 4), TypeError),
        (lambda: _C._pytree_map(1, 2), TypeError),
        (lambda: _C._pytree_map(id, [1], 3, None, False), TypeError),
        (lambda: _C._pytree_map_only(1), TypeError),
        (lambda: _C._pytree_flatten(), TypeError),
        (lambda: _C._pytree_leaves(1, 2, 3), TypeError),
        (lambda: _C._pytree_children(1), TypeError),
        (lambda: _C._pytree_setup({}, TreeSpec, Box, ()), TypeError),
        (lambda: _C._pytree_setup({}, int, Box, (1,) * 7), TypeError),
        (lambda: _C._pytree_set_leaf(3), TypeError),
        (lambda: tree_structure([1]).unflatten(leaf=1), TypeError),
        (lambda: tree_structure([1]).flatten_up_to(1, 2), TypeError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()
    assert tree_leaves([1]) == [1]


def output_of(code):
    """What a new process prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout


def test_without_the_module_nothing_is_walked():
    code = (
        "from rushlight import _C\n"
        "for call in (lambda: _C._pytree_flatten(1, None), lambda: _C._pytree_children(1, None),\n"
        "             lambda: _C._pytree_node_type(1), lambda: _C._pytree_map(id, [1], (), None, False)):\n"
        "    try: call()\n"
        "    except RuntimeError as error: print(error)\n"
    )
    assert output_of(code) == "rushlight.utils._pytree is not imported\n" * 4
