"""Operators that move elements in runs and tiles: what small samples do not reach."""

import numpy as np
import pytest

import rushlight as rl

DTYPES = ("bool", "uint8", "int16", "float32", "float64")


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape)) * 7 % 251).astype(dtype).reshape(shape)


def same(got, want):
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


def layouts(a):
    """(tensor, array) of the values: contiguous, turned, with gaps."""
    yield rl.from_numpy(a.copy()), a
    yield rl.from_numpy(a.T.copy()).transpose(0, 1), a
    gaps = np.zeros((a.shape[0], 2 * a.shape[1]), a.dtype)
    gaps[:, ::2] = a
    yield rl.from_numpy(gaps)[:, ::2], a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (40, 3), (130, 257)])
def test_rolls_of_any_strides(shape, dtype):
    for x, a in layouts(numbers(shape, dtype)):
        for shift in (0, 1, -2, a.size - 1, a.size + 3, -5 * a.size - 1):
            same(rl.roll(x, shift), np.roll(a, shift))
            same(rl.roll(x, shift, -1), np.roll(a, shift, -1))
            same(rl.roll(x, (shift, 1, 2), (0, 1, 0)), np.roll(a, (shift + 2, 1), (0, 1)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 40), (40, 3), (300, 301)])
def test_triangles_of_any_strides(shape, dtype):
    for x, a in layouts(numbers(shape, dtype)):
        for diagonal in (0, 1, -2, 39, 400, -400, 2**63 - 1, -(2**63)):
            near = max(-1000, min(1000, diagonal))
            same(rl.tril(x, diagonal), np.tril(a, near))
            same(rl.triu(x, diagonal), np.triu(a, near))
            same(x.clone().tril_(diagonal), np.tril(a, near))


def test_triangles_of_turned_matrices_in_place():
    x = rl.from_numpy(numbers((2, 70, 50))).transpose(1, 2)
    same(x.triu_(3), np.triu(numbers((2, 70, 50)).transpose(0, 2, 1), 3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33])
def test_flips_of_every_width(width, dtype):
    for x, a in layouts(numbers((5, width), dtype)):
        same(rl.flip(x, (1,)), np.flip(a, 1))
        same(rl.flip(x, (0, 1)), np.flip(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 255, 256, 257, 600])
def test_interleaved_tiles(rows, dtype):
    for x, a in layouts(numbers((rows, 3), dtype)):
        for times in (0, 1, 2, 15, 16, 17):
            same(rl.repeat_interleave(x, times), np.repeat(a, times))
            same(rl.repeat_interleave(x, times, 0), np.repeat(a, times, 0))
            same(rl.repeat_interleave(x, times, -1), np.repeat(a, times, 1))


def test_interleaved_dtypes_that_are_only_moved():
    x = rl.tensor([1 + 2j, 3 - 1j])
    assert rl.repeat_interleave(x, 2).tolist() == [1 + 2j, 1 + 2j, 3 - 1j, 3 - 1j]
    same(rl.repeat_interleave(rl.ones((1,) * 64), 2, 63), np.ones((1,) * 63 + (2,), "float32"))


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (5, 17), (2, 300)])
def test_pixels(r, size):
    h, w = size
    deep = numbers((2, 3 * r * r, h, w))
    wide = deep.reshape(2, 3, r, r, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, h * r, w * r)
    same(rl.pixel_shuffle(rl.from_numpy(deep), r), wide)
    same(rl.pixel_unshuffle(rl.from_numpy(wide), r), deep)
    turned = rl.from_numpy(deep.transpose(0, 1, 3, 2).copy()).transpose(2, 3)
    same(rl.pixel_shuffle(turned, r), wide)
