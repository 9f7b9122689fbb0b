"""Copies on a device: dims turned around by tiles, casts of strips in vectors, zeros."""

import numpy as np
import pytest

import rushlight as torch

from .conftest import indices_of_64_bits

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"
DTYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.int64, torch.float64]


def numbers(*shape, dtype=torch.float32):
    count = int(np.prod(shape))
    return torch.tensor((np.arange(count) % 251).reshape(shape)).to(dtype)


def same(ours, expected):
    assert ours.shape == expected.shape and ours.stride() == expected.stride()
    assert ours.cpu().equal(expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(16, 16), (33, 70), (64, 32), (15, 40), (1, 50)])
def test_matrices_are_turned(dtype, shape):
    x = numbers(*shape, dtype=dtype)
    same(x.to(DEVICE).t().contiguous(), x.t().contiguous())


@pytest.mark.parametrize("order", [(0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (2, 0, 3, 1), (1, 0, 2, 3)])
def test_dims_in_another_order(order):
    x = numbers(3, 17, 5, 35)
    same(x.to(DEVICE).permute(order).contiguous(), x.permute(order).contiguous())
    part = x[:, 1:, :, 2:]  # planes with gaps, from an odd place on
    same(x.to(DEVICE)[:, 1:, :, 2:].permute(order).contiguous(), part.permute(order).contiguous())


def test_a_block_turns_several_tiles():
    x = numbers(3, 33, 70)
    with indices_of_64_bits():
        same(x.to(DEVICE).transpose(1, 2).contiguous(), x.transpose(1, 2).contiguous())


def test_channels_last_and_back():
    x = numbers(2, 20, 9, 11)
    last = x.to(DEVICE).contiguous(memory_format=torch.channels_last)
    same(last, x.contiguous(memory_format=torch.channels_last))
    same(last.contiguous(), x)


@pytest.mark.parametrize("to", [*DTYPES, torch.bool])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool])
def test_casts_of_strips(dtype, to):
    x = numbers(2 * 1024 + 7, dtype=dtype)
    there = x.to(DEVICE)
    for first in (0, 1, 5):
        same(there[first:].to(to), x[first:].to(to))
    same(there[::3].to(to), x[::3].to(to))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool])
def test_zeros_of_a_part(dtype):
    x = numbers(70, dtype=dtype) + torch.ones(70, dtype=dtype)
    there = x.to(DEVICE)
    for y in (x, there):
        y[3:33].zero_()
        y[40:60:2].zero_()
    same(there, x)
