"""Writing expanded tensors, storages that processes share, aliases of inference tensors."""

import os
import warnings

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

# ---- memory that elements share ----
ALLOWED = {
    "fill_": lambda x: x.fill_(2),
    "zero_": lambda x: x.zero_(),
    "masked_fill_": lambda x: x.masked_fill_(torch.arange(3) == 1, 5),
    "index_fill_": lambda x: x.index_fill_(0, torch.tensor([0]), 5),
    "index_put_": lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(5.0)),
    "accumulate": lambda x: x.index_put_((torch.tensor([0, 1]),), torch.tensor(5.0), accumulate=True),
    "x[mask]": lambda x: x.__setitem__(torch.arange(3) == 1, 5),
    "threshold": lambda x: F.threshold(x, 1, 3, inplace=True),
}
WRITTEN = dict.fromkeys(ALLOWED, 5) | {"fill_": 2, "zero_": 0, "accumulate": 11, "threshold": 3}


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("name", ALLOWED)
def test_expanded_tensors_that_pytorch_writes(name):
    x = torch.ones(1)
    ALLOWED[name](x.expand(3))
    assert x.item() == WRITTEN[name]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.fill_(torch.tensor(2.0)),
        lambda x: x.clamp_(0, 1),
        lambda x: x.uniform_(),
        lambda x: x.random_(10),
        lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1)),
        lambda x: x.scatter_(0, torch.tensor([0]), 5.0),
        lambda x: x.__setitem__(slice(None), 5),
        lambda x: torch.add(torch.ones(3), 1, out=x),
    ],
)
def test_expanded_tensors_that_pytorch_refuses(write):
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(x.expand(3))
    assert x.item() == 1


def test_what_is_deprecated_warns():
    x = torch.zeros(1).expand(3)
    for write, name in (
        (lambda: x.masked_fill_(x > 0, 5), "masked_fill_"),
        (lambda: x.index_fill_(0, torch.tensor([0]), 5), "index_fill_"),
        (lambda: x.__setitem__(torch.tensor([0]), 5), "index_put_"),
    ):
        with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated"):
            write()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.fill_(3)
        with pytest.raises(UserWarning):
            x.masked_fill_(x > 0, 5)
    assert x[0].item() == 3


@pytest.mark.filterwarnings("ignore:Use of")
def test_one_mark_among_many_is_kept():
    n = 200_000  # more than one thread's share
    x = torch.zeros(1)
    x.expand(n).masked_fill_(torch.arange(n) == 7777, 3)
    assert x.item() == 3
    windows = torch.zeros(n + 1)
    windows.as_strided((n, 2), (1, 1)).masked_fill_(torch.arange(2) == 0, 3)
    assert windows.sum().item() == 3 * n


def test_the_gradient_of_shared_elements_is_refused():
    leaf = torch.ones(1, requires_grad=True)
    x = (leaf * 1).expand(3)
    x.fill_(2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.sum().backward()


def test_out_of_another_size_is_given_memory_of_its_own():
    x = torch.ones(3)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(torch.ones(2, 2), 1, out=x)
    assert x.tolist() == [[2, 2], [2, 2]]


# ---- memory that processes share ----
def test_the_storage_moves_with_all_its_views():
    x = torch.arange(6.0)
    view, alias, parameter = x[2:], x.detach(), torch.nn.Parameter(x)
    assert not x.is_shared() and view.share_memory_() is view
    assert all(t.is_shared() for t in (x, view, alias, parameter))
    view[0] = 9
    assert x.tolist() == alias.tolist() == parameter.tolist() == [0, 1, 9, 3, 4, 5]
    assert x.share_memory_() is x and x.untyped_storage().is_shared()


@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_writes_what_the_parent_reads():
    x = torch.zeros(2).share_memory_()
    view = x[1:]
    child = os.fork()
    if child == 0:
        view.fill_(4)
        os._exit(0)
    os.waitpid(child, 0)
    assert x.tolist() == [0, 4]


def test_shared_memory_leaves_the_array_behind():
    array = np.ones(3, dtype="float32")
    x = torch.from_numpy(array)
    view = x[1:]
    view.share_memory_()
    array[:] = 5
    assert x.tolist() == [1, 1, 1] and view.is_shared()


def test_memory_in_use_stays_where_it_is():
    x = torch.ones(2)
    lent = x.numpy()
    with pytest.raises(RuntimeError, match="in use elsewhere"):
        x.share_memory_()
    lent[0] = 4
    assert x.tolist() == [4, 1]
    del lent
    assert x.share_memory_().is_shared()


def test_modules_and_every_dtype_are_shared():
    module = torch.nn.Linear(2, 2)
    state = module.state_dict()
    module.share_memory()
    assert all(t.is_shared() for t in state.values())
    assert torch.ones(3, dtype=torch.bfloat16).share_memory_().tolist() == [1, 1, 1]
    assert torch.zeros(0).share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.zeros(2, device="meta").share_memory_()


# ---- inference tensors ----
ALIASES = {
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
    "view": lambda x: x.view(-1),
    "select": lambda x: x[0],
    "split": lambda x: x.split(1)[1],
    "unbind": lambda x: x.unbind()[0],
    "buffer": lambda x: torch.nn.Buffer(x),
    "tensor": lambda x: torch.Tensor(x),
}


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_of_inference_tensors(name):
    with torch.inference_mode():
        x = torch.ones(2, 3)
    assert ALIASES[name](x).is_inference()
    plain = torch.ones(2, 3)
    with torch.inference_mode():
        alias = ALIASES[name](plain)
    assert not alias.is_inference()


def test_inference_tensors_stay_out_of_the_history():
    with torch.inference_mode():
        x = torch.ones(2)
    weight = torch.ones(2, requires_grad=True)
    for alias in (x.detach(), x.data):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            alias * weight
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
            alias.requires_grad_()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        torch.nn.Parameter(x)
    assert x.detach().add_(1)._version == 1 and x.tolist() == [2, 2]  # it counts for itself
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x.add_(1)
    other = torch.zeros(2)
    other.data = x
    assert other.is_inference()
    x.data = torch.zeros(2)
    assert not x.is_inference()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_parts_of_empty_batches_are_written(shape):
    leaf = torch.zeros(shape, requires_grad=True)
    x = leaf * 1
    x[1:, :].mul_(2)
    x[:, 1:].mul_(2)
    x.t()[1:].mul_(2)
    x.sum().backward()
    assert leaf.grad.shape == shape
