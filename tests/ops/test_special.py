"""Special functions where samples do not reach: borders of their domains, large degrees, and identities."""

import math

import pytest

import rushlight as torch
from rushlight import special

NAN, INF = math.nan, math.inf
BORDERS = [
    (special.entr, -1.0, -INF),
    (special.ndtri, 0.0, -INF),
    (special.ndtri, 1.0, INF),
    (special.ndtri, -0.5, NAN),
    (special.erfcx, INF, 0.0),
    (special.erfcx, -30.0, INF),
    (special.log_ndtr, -INF, -INF),
    (special.digamma, -3.0, NAN),
    (special.digamma, -0.0, INF),
    (special.gammaln, -2.0, INF),
    (special.i0, INF, NAN),
    (special.i1e, -INF, 0.0),
    (special.bessel_j0, INF, NAN),
    (special.bessel_y0, 0.0, -INF),
    (special.bessel_y1, -1.0, NAN),
    (special.modified_bessel_k0, 0.0, INF),
    (special.scaled_modified_bessel_k1, -1.0, NAN),
    (special.spherical_bessel_j0, -INF, 0.0),
    (special.airy_ai, INF, NAN),
    (special.airy_ai, 200.0, 0.0),
    (special.sinc, 5.0, 0.0),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function, x, expected", BORDERS)
def test_borders(function, x, expected, dtype):
    for more in (0, 40):  # an element alone, and vectors of them
        y = function(torch.tensor([x] * (1 + more), dtype=dtype))
        assert all(v == expected or (v != v and expected != expected) for v in y.tolist())


@pytest.mark.parametrize(
    "name, low, high",
    [
        *((name, -30, 30) for name in ("gammaln", "digamma", "i0", "i0e", "i1", "i1e", "sinc")),
        *((name, 1e-6, 1) for name in ("logit", "ndtri", "entr")),
        *(("erfcx", -9, 40), ("log_ndtr", -40, 11), ("ndtr", -11, 11)),
    ],
)
def test_floats_are_rounded_doubles(name, low, high):
    """Vectors of floats have series of their own."""
    function = getattr(special, name)
    x = torch.linspace(low, high, 20011)
    y, exact = function(x).double(), function(x.double())
    finite = exact.isfinite() & (exact.abs() > 1e-30)
    wrong = ((y - exact).abs() > 1e-6 * exact.abs() + 1e-11) & finite
    assert not wrong.any(), x[wrong][:5]
    assert finite.sum() > 19000


@pytest.mark.parametrize("name", [name for name in special.__all__ if "polynomial" in name])
def test_degrees_that_are_none(name):
    """Below 0, and what is no int64: PyTorch converts those to the lowest one."""
    function = getattr(special, name)
    assert function(torch.tensor(0.3), torch.tensor([-1.0, NAN, INF, -INF, 1e19])).tolist() == [0] * 5
    assert function(torch.tensor([0.3]), 0.9).item() == 1
    assert math.isnan(function(torch.tensor(NAN), torch.tensor(2.0**40)).item())


def test_large_degrees_end():
    x, n = torch.tensor([0.25, -0.25, 1.5], dtype=torch.float64), 2.0**50
    for function in (
        special.legendre_polynomial_p,
        special.laguerre_polynomial_l,
        special.hermite_polynomial_h,
    ):
        assert function(x, n).shape == (3,)
    at_most = math.sqrt(2 / math.pi / n) * 1.1
    assert special.legendre_polynomial_p(x, n)[:2].abs().max().item() < at_most


def test_limits_of_large_degrees_follow_the_recurrences():
    x, n = torch.tensor([0.25, 0.75], dtype=torch.float64), 1 << 24

    def three(function):
        return [function(x, n + i) for i in (-1, 0, 1)]

    last, p, limit = three(special.legendre_polynomial_p)
    assert (((2 * n + 1) * x * p - n * last) / (n + 1) - limit).abs().max().item() < 1e-10
    last, p, limit = three(special.laguerre_polynomial_l)
    assert (((2 * n + 1 - x) * p - n * last) / (n + 1) - limit).abs().max().item() < 1e-6


def test_incomplete_gamma_functions_add_up_to_1():
    a = torch.tensor([0.01, 0.5, 3.0, 30.0, 300.0, 3e4, 3e8], dtype=torch.float64).unsqueeze(1)
    x = a * torch.tensor([0.2, 0.9, 0.9999, 1.0, 1.0001, 1.1, 5.0], dtype=torch.float64)
    whole = torch.igamma(a, x) + torch.igammac(a, x)
    assert (whole - 1).abs().max().item() < 1e-14
    assert torch.igamma(torch.tensor([1e300]), torch.tensor([1e-300])).item() == 0


def test_zeta_of_large_negative_numbers():
    """The terms below 0 are not added up one by one."""
    s, q = torch.tensor([2.0, 3.0], dtype=torch.float64), -1e9 - 0.25
    assert special.zeta(s, q)[0].item() == pytest.approx(2 * math.pi**2, rel=1e-7)
    assert math.isnan(special.zeta(torch.tensor(2.5), torch.tensor(-0.5)).item())


def test_polygamma_takes_its_order_first():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert torch.polygamma(1, x).tolist() == x.polygamma(1).tolist() == special.polygamma(1, x).tolist()
    y = x.clone()
    assert y.polygamma_(1) is y and y.tolist() == x.polygamma(1).tolist()
    with pytest.raises(RuntimeError, match="does not support negative n"):
        torch.polygamma(-1, x)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.arange(1, 4).polygamma_(1)


def test_mvlgamma_refuses_what_has_no_end():
    x = torch.tensor([5.0])
    with pytest.raises(RuntimeError, match="p has to be greater than or equal to 1"):
        torch.mvlgamma(x, 0)
    with pytest.raises((RuntimeError, MemoryError)):
        torch.mvlgamma(x, 1 << 60)


@pytest.mark.parametrize("name", ["igamma: input", "igammac: input", "zeta"])
def test_derivatives_that_nobody_has(name):
    function = {"igamma: input": torch.igamma, "igammac: input": torch.igammac, "zeta": special.zeta}[name]
    a, x = torch.tensor([1.5], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented."):
        function(a, x).backward()
    function(a.detach(), x).backward()
    assert x.grad.isfinite().all()


def test_names_of_nodes_tell_overloads_apart():
    x = torch.tensor([1.5], requires_grad=True)
    for function, name in ((special.zeta, "SpecialZeta"), (special.xlog1py, "SpecialXlog1Py")):
        for i, args in enumerate([(x, x), (1.5, x), (x, 1.5)]):
            assert type(function(*args).grad_fn).__name__ == f"{name}Backward{i}"
