"""Numbers of the gamma and of the Dirichlet distribution: the draws of PyTorch 2.13, and how they move."""

import math
import sys

import numpy as np
import pytest

import rushlight as torch

SHAPES = [0.01, 0.5, 1.0, 3.0, 200.0]
DRAWN = [
    0.012491471134126186,
    0.24387645721435547,
    0.9819415807723999,
    4.682042598724365,
    207.1346435546875,
]
DRAWN_DOUBLE = [
    1.5326448296956846e-18,
    2.0676202464370723,
    1.5790582850758375,
    1.7057023992869829,
    185.07190142795716,
]
DRAWN_VECTORS = [
    [0.047636404633522034, 0.37502115964889526, 0.5773424506187439],
    [0.5334241986274719, 0.46553531289100647, 0.0010404884815216064],
]


def test_draws_what_pytorch_draws():
    """One after the other, from the seed 3: each takes what it needs and no more."""
    torch.manual_seed(3)
    assert torch._standard_gamma(torch.tensor(SHAPES)).tolist() == DRAWN
    assert torch._standard_gamma(torch.tensor(SHAPES, dtype=torch.float64)).tolist() == DRAWN_DOUBLE
    assert torch._sample_dirichlet(torch.tensor([[0.3, 2.0, 5.0], [1.0, 1.0, 0.1]])).tolist() == DRAWN_VECTORS
    assert torch.rand(1).item() == 0.9243085384368896


def integral(density, x, n=4000):
    """The integral from 0 to x, by Gauss and Legendre in pieces that end at powers of 2."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([[0], x * 2.0 ** np.arange(-40, 1)])
    low, high = edges[:-1, None], edges[1:, None]
    points = (low + high) / 2 + (high - low) / 2 * nodes
    return float((density(points) * weights * (high - low) / 2).sum())


def moved(log_density, x, a, step=1e-4):
    """How x moves with a at its probability: -(dP/da) / (dP/dx)."""
    total = [integral(lambda t, a=a: np.exp(log_density(t, a)), x) for a in (a - step, a + step)]
    return -(total[1] - total[0]) / (2 * step) / math.exp(log_density(x, a))


@pytest.mark.parametrize("a, x", [(0.7, 0.3), (2.0, 1.5), (5.0, 9), (12.0, 11.9), (12.0, 5.0), (30.0, 50.0)])
def test_gamma_numbers_move_with_their_shape(a, x):
    def log_density(t, a):
        return (a - 1) * np.log(t) - t - math.lgamma(a)

    got = torch._standard_gamma_grad(torch.tensor(a).double(), torch.tensor(x).double()).item()
    assert got == pytest.approx(moved(log_density, x, a), rel=3e-3)


@pytest.mark.parametrize(
    "a, b, x",
    [
        (0.7, 2.0, 0.1),
        (3.0, 0.8, 0.99),
        (2.0, 3.0, 0.4),
        (9.0, 12.0, 0.43),
        (9.0, 12.0, 0.2),
        (4.0, 9.0, 0.6),
    ],
)
def test_beta_numbers_move_with_their_concentration(a, b, x):
    def log_density(t, a):
        scale = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        return (a - 1) * np.log(t) + (b - 1) * np.log1p(-t) - scale

    one = [torch.tensor(value).double() for value in (x, a, a + b)]
    # the rest of the vector moves against it: the operator's answer leaves that out
    got = torch._dirichlet_grad(*one).item() * (1 - x)
    assert got == pytest.approx(moved(log_density, x, a), rel=3e-3)


def test_gamma_numbers_of_odd_shapes_come_to_an_end():
    odd = torch.tensor([math.nan, -0.9, -math.inf, 0.0, 1e-30, 1e30], dtype=torch.float64)
    drawn = torch._standard_gamma(odd).tolist()
    assert [math.isnan(value) for value in drawn] == [True, True, True, False, False, False]
    assert drawn[3] == drawn[4] == sys.float_info.min and drawn[5] == pytest.approx(1e30)
    assert torch._sample_dirichlet(torch.ones(3, 0)).shape == (3, 0)
    assert torch._sample_dirichlet(torch.tensor(2.0)).item() == 1 - 2**-24
    sums = torch._sample_dirichlet(torch.rand(5, 4).t()).sum(-1)
    assert torch.allclose(sums, torch.ones(4))
