"""Pooling and sampling at the edges of what numbers a caller may give."""

import pytest

import rushlight as torch
from rushlight.nn import functional as F


def test_padding_of_a_huge_window_takes_no_memory():
    x = torch.arange(5.0).reshape(1, 1, 1, 5)
    y = F.max_pool2d(x, (1, 3), 1, (0, 2**30), dilation=(1, 2**30))  # their middles alone are inside
    assert torch.equal(y, x)


def test_places_of_windows_count_beyond_32_bits():
    """The corner of the window lies 2**32 elements in front of its first one."""
    x = torch.empty(1, 1, 64, 2**20, 2)
    x[:, :, :, :: 2**19] = 1
    window = (65, 1, 1), (64, 2**19, 1), (2048, 0, 0), (64, 1, 1)
    y, places = F.max_pool3d(x, *window, return_indices=True)
    assert y.eq(1).all()
    assert places.flatten().tolist() == [0, 1, 2**20, 2**20 + 1]


def test_a_wide_number_is_no_mode_of_volumes():
    x, grid, grad = torch.zeros(1, 1, 3, 3, 3), torch.zeros(1, 2, 2, 2, 3), torch.zeros(1, 1, 2, 2, 2)
    cubic = 2**32 + 2, 0, False
    with pytest.raises(RuntimeError, match="only supports 4D input"):
        torch.grid_sampler_3d(x, grid, *cubic)
    with pytest.raises(RuntimeError, match="only supports 4D input"):
        torch._C._nn.grid_sampler_3d_input(grad, grid, x.shape, *cubic)
    with pytest.raises(RuntimeError, match="only supports 4D input"):
        torch._C._nn.grid_sampler_3d_grid(grad, x, grid, *cubic)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_no_window_of_ceil_mode_starts_behind_the_input(kind):
    pool = getattr(torch.nn.functional, f"{kind}_pool1d")
    assert pool(torch.ones(1, 1, 2), 1, 3, ceil_mode=True).tolist() == [[[1]]]
    assert pool(torch.ones(1, 1, 4), 1, 3, ceil_mode=True).tolist() == [[[1, 1]]]
