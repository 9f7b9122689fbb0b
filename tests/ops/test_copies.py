"""Copies between tensors whose dims lie in other orders, at every remainder of the tiles they go in."""

import itertools

import numpy as np
import pytest

from rushlight import _C

# a dtype of each size in bytes, and one of 16 that the tiles do not take
DTYPES = ["uint8", "bool", "int16", "bfloat16", "float32", "int64", "float64", "complex64", "complex128"]
SIZES = [*range(1, 20), 31, 33, 63, 64, 65, 130]


def numbered(shape, dtype):
    """(tensor, array that lists as it does); elements of any size tell their places apart."""
    count = np.arange(int(np.prod(shape))).reshape(shape)
    if dtype.startswith("complex"):
        array = (count + 1j * (count % 7)).astype(dtype)
    else:
        array = (count % {"uint8": 251, "bool": 2, "bfloat16": 256}.get(dtype, 30011)).astype(
            "float32" if dtype == "bfloat16" else dtype
        )
    return _C.from_numpy(array) if dtype != "bfloat16" else _C.from_numpy(array).to(_C.bfloat16), array


def same(tensor, array):
    found = tensor.float() if tensor.dtype is _C.bfloat16 else tensor
    assert found.shape == array.shape
    np.testing.assert_array_equal(found.numpy(), array)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_matrices(dtype):
    for rows, cols in itertools.product(SIZES, repeat=2):
        if rows > 20 and cols > 20 and dtype not in ("uint8", "float32"):
            continue
        tensor, array = numbered((rows, cols), dtype)
        copy = tensor.t().contiguous()
        assert copy.is_contiguous()
        same(copy, array.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_for_many_threads(dtype):
    for shape in ((700, 517), (3, 300, 301), (257, 2, 129), (2, 70000), (70000, 3)):
        tensor, array = numbered(shape, dtype)
        last = len(shape) - 1
        same(tensor.transpose(0, last).contiguous(), array.swapaxes(0, last))
        same(tensor.transpose(last - 1, last).contiguous(), array.swapaxes(last - 1, last))


@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "float64"])
def test_all_orders_of_four_dims(dtype):
    tensor, array = numbered((5, 18, 3, 33), dtype)
    for order in itertools.permutations(range(4)):
        same(tensor.permute(*order).contiguous(), array.transpose(order))
        for target in itertools.permutations(range(4)):
            shape = [0] * 4
            for at, dim in enumerate(target):
                shape[dim] = array.shape[order[target[at]]]
            places = [shape[d] for d in target]
            to = _C.zeros(places, dtype=getattr(_C, dtype)).permute(*np.argsort(target).tolist())
            to.copy_(tensor.permute(*order))
            same(to, array.transpose(order))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_gaps_and_repeated_elements(dtype):
    tensor, array = numbered((40, 37), dtype)
    same(tensor[3:, ::2].t().contiguous(), array[3:, ::2].T)
    same(tensor[::3, 1:].t().contiguous(), array[::3, 1:].T)
    same(tensor[:, 5:6].t().expand(4, 40).contiguous(), np.broadcast_to(array[:, 5:6].T, (4, 40)))
    same(tensor[5:6].t().expand(37, 40).contiguous(), np.broadcast_to(array[5:6].T, (37, 40)))
    to, expected = _C.zeros((80, 41), dtype=getattr(_C, dtype)), np.zeros((80, 41), dtype)
    to[::2, 2:39].copy_(tensor[:, :37])
    expected[::2, 2:39] = array
    to[1:38, 1:41].copy_(tensor.t())  # rows of the target have gaps
    expected[1:38, 1:41] = array.T
    same(to, expected)


def test_a_matrix_onto_its_own_transpose():
    tensor, array = numbered((50, 50), "float32")
    array = array.copy()  # it was the tensor's memory
    with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and"):
        tensor.copy_(tensor.t())
    same(tensor, array)
    tensor.copy_(tensor.t().clone())
    same(tensor, array.T)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float32", "int64"])
def test_padding_in_every_order_of_dims(mode, dtype):
    kinds = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    tensor, array = numbered((2, 3, 6, 7), dtype)
    for order in itertools.permutations(range(4)):
        x, a = tensor.permute(*order), array.transpose(order)
        for left, right, top, bottom in ((0, 0, 0, 0), (1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 1, 1)):
            sizes = a.shape[2:]
            if mode == "reflect" and min(sizes) < 2:
                continue
            same(
                _C._nn.pad(x, (left, right, top, bottom), mode),
                np.pad(a, ((0, 0), (0, 0), (top, bottom), (left, right)), kinds[mode]),
            )
    if mode == "constant":
        same(
            _C._nn.pad(tensor, (-1, 3, 2, -2, 0, 0, 1, 1), mode, 1),
            np.pad(array[:, :, :-2, 1:], ((1, 1), (0, 0), (2, 0), (0, 3)), constant_values=1),
        )
