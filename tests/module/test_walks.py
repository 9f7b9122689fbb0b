"""Module: iteration, walks over trees, looking names up."""

import gc
import threading
import weakref

import pytest

import rushlight as torch
from helpers.modules import Leaf, Tree
from rushlight import nn


# ---- iteration ----
def test_names_in_order_and_once():
    tree = Tree()
    assert [n for n, _ in tree.named_modules()] == ["", "a", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in tree.named_children()] == ["a", "inner"]
    assert [n for n, _ in tree.named_parameters()] == ["a.weight", "inner.0.weight", "inner.1.weight"]
    assert [n for n, _ in tree.named_buffers(prefix="p", recurse=False)] == []
    assert [n for n, _ in tree.a.named_buffers("p")] == ["p.mean", "p.scratch"]
    assert list(tree.children()) == [tree.a, tree.inner]
    assert list(tree.modules()) == [m for _, m in tree.named_modules()]
    assert list(tree.parameters()) == [p for _, p in tree.named_parameters()]
    assert list(tree.a.buffers()) == [tree.a.mean, tree.a.scratch]


def test_duplicates_on_request():
    tree = Tree()
    names = [n for n, _ in tree.named_parameters(remove_duplicate=False)]
    assert names == ["a.weight", "inner.0.weight", "inner.1.weight", "shared.weight"]
    assert [n for n, _ in tree.named_modules(remove_duplicate=False)][-1] == "shared"
    assert len(list(tree.modules(remove_duplicate=False))) == 6


def test_memo_is_shared_with_the_caller():
    tree = Tree()
    memo = {tree.inner}
    assert [n for n, _ in tree.named_modules(memo, "root")] == ["root", "root.a"]
    assert memo == {tree, tree.a, tree.inner}


def test_named_members_takes_a_function():
    tree = Tree()
    pairs = list(tree._named_members(lambda m: m._buffers.items(), prefix="x", recurse=True))
    assert [n for n, _ in pairs][:2] == ["x.a.mean", "x.a.scratch"]


def test_iterators_are_collected_with_their_cycles():
    m = nn.Module()
    m.iterator = m.modules()
    next(m.iterator)
    ref = weakref.ref(m)
    del m
    gc.collect()
    assert ref() is None


def test_an_iterator_refuses_to_run_inside_itself():
    m = Leaf()

    def members(module):
        with pytest.raises(ValueError, match="generator already executing"):
            next(iterator)
        return module._parameters.items()

    iterator = m._named_members(members)
    assert [n for n, _ in iterator] == ["weight"]


# ---- walks ----
def test_train_eval_apply():
    tree = Tree()
    assert tree.eval() is tree
    assert [m.training for m in tree.modules()] == [False] * 5
    assert tree.train() is tree
    assert tree.inner[1].training is True
    seen = []
    assert tree.apply(seen.append) is tree
    assert seen == [tree.a, tree.inner[0], tree.inner[1], tree.inner, tree]
    with pytest.raises(ValueError, match="^training mode is expected to be boolean$"):
        tree.train(1)


def test_requires_grad_and_zero_grad():
    tree = Tree()
    tree.requires_grad_(False)
    assert not any(p.requires_grad for p in tree.parameters())
    tree.requires_grad_()
    weight = tree.a.weight
    weight.grad = torch.ones(2, 3)
    tree.zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [[0.0] * 3] * 2
    tree.zero_grad()
    assert weight.grad is None


def test_casts_keep_parameters_and_replace_buffers():
    m = Leaf(1.5)
    m.register_buffer("count", torch.ones(2, dtype=torch.int64))
    m.weight.grad = torch.ones(2, 3)
    weight = m.weight
    assert m.double() is m
    assert m.weight is weight
    assert weight.dtype == weight.grad.dtype == m.mean.dtype == torch.float64
    assert m.count.dtype == torch.int64
    assert m.half().mean.dtype == torch.float16
    assert m.bfloat16().mean.dtype == torch.bfloat16
    assert m.float().mean.dtype == torch.float32
    assert m.to(torch.float64).weight.dtype == torch.float64
    assert m.to("cpu", dtype=torch.float32).weight.tolist() == [[1.5] * 3] * 2
    assert m.to(torch.zeros(1, dtype=torch.float16)).weight.dtype == torch.float16
    with pytest.raises(TypeError, match="nn.Module.to only accepts floating point or complex dtypes"):
        m.to(torch.int32)


def test_deep_trees_raise_recursion_error_and_free():
    deep = 200_000
    root = nn.Module()
    here = root
    for _ in range(deep):
        child = nn.Module()
        here._modules["c"] = child
        here = child
    for walk in (
        lambda m: m.eval(),
        lambda m: m.state_dict(),
        lambda m: m.apply(len),
        repr,
        lambda m: m.load_state_dict({}),
        lambda m: list(m.named_parameters()),
    ):
        with pytest.raises(RecursionError):
            walk(root)
    assert sum(1 for _ in root.modules()) == deep + 1
    ref = weakref.ref(here)
    del root, here, child
    gc.collect()
    assert ref() is None


def test_deep_trees_in_a_thread():
    root = here = nn.Module()
    for _ in range(50_000):
        child = nn.Module()
        here._modules["c"] = child
        here = child
    caught = []

    def walk():
        for method in (root.eval, root.state_dict):
            try:
                method()
            except RecursionError:
                caught.append(1)

    thread = threading.Thread(target=walk)
    thread.start()
    thread.join()
    assert caught == [1, 1]


# ---- looking names up ----
def test_get_and_set_submodule():
    tree = Tree()
    assert tree.get_submodule("") is tree
    assert tree.get_submodule("inner.0") is tree.inner[0]
    assert tree.get_parameter("inner.1.weight") is tree.inner[1].weight
    assert tree.get_buffer("a.mean") is tree.a.mean
    leaf = Leaf()
    tree.set_submodule("inner.0", leaf)
    assert tree.inner[0] is leaf
    for call, text in (
        (lambda: tree.get_submodule("inner.7"), "Sequential has no attribute `7`"),
        (lambda: tree.get_submodule("a.weight"), "`weight` is not an nn.Module"),
        (lambda: tree.get_parameter("a.mean"), "`mean` is not an nn.Parameter"),
        (lambda: tree.get_buffer("a.weight"), "`weight` is not a buffer"),
        (lambda: tree.set_submodule("inner.7", leaf, strict=True), "Sequential has no attribute `7`"),
    ):
        with pytest.raises(AttributeError) as error:
            call()
        assert str(error.value) == text
