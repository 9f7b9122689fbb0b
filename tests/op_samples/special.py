"""Samples and NumPy's answers: special functions."""

import math

import numpy as np

from op_samples.sample import Placeholder, S, pos, special, unary, x

NAN, INF = math.nan, math.inf
# what PyTorch has for infinities and far from 0 is a matter of its own
_NEAR = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, 1e-3)


def _at(*values):
    return Placeholder((len(values),), values=values, kinks=True)


def _over(low, high, *more):
    """Where a function has a derivative, and at its borders."""

    def grown(*shape):
        return Placeholder(shape, low, high)

    return [S(grown(2, 3, 4)), *more, S(grown(0, 3)), S(grown())]


def _two(first=pos, second=pos, numbers=True):
    """Two tensors, and a tensor with a number."""
    return [
        S(first(2, 3, 4), second(2, 3, 4)),
        S(first(2, 1, 4), second(3, 1)),
        S(first(3), second()),
        S(first(0, 3), second(3)),
        S(first(), second()),
        *([S(first(2, 3), 2.5), S(first(3), 2)] if numbers else []),
    ]


def _after(second=pos):
    """A number and a tensor."""
    return [S(2.5, second(2, 3)), S(3, second(2, 1, 4)), S(1.5, second())]


def _integer_degrees(*shape):
    return Placeholder(shape, values=np.arange(math.prod(shape)).reshape(shape) % 12)


_POLYNOMIALS = (
    *(
        f"special_{shifted}chebyshev_polynomial_{kind}"
        for shifted in ("", "shifted_")
        for kind in ("t", "u", "v", "w")
    ),
    *("special_hermite_polynomial_h", "special_hermite_polynomial_he"),
    *("special_laguerre_polynomial_l", "special_legendre_polynomial_p"),
)
_DEGREES = [
    S(Placeholder((2, 3, 4), -1, 1), _integer_degrees(2, 3, 4)),
    S(_at(0.0, 1.0, -1.0, 1.5, -1.25), _at(2.0, 7.0, 9.0, 4.0, 10.0)),
    S(x(3, 1), _integer_degrees(4)),
    S(x(2, 3), 2.5),
    S(x(0, 3), 3),
]
# without the poles, where PyTorch's second derivatives are large numbers
_GAMMA = _at(NAN, INF, 0.0, -0.0, 1.0, 2.0, 0.5, -0.5, 1.5, -2.5, 1e-3, 60.0, 700.0)
_OF_ANY = ("sinc", "i0", "special_i0e", "special_i1", "special_i1e", "special_ndtr")

SAMPLES = {
    **dict.fromkeys(("lgamma", "digamma"), [S(_GAMMA), S(_at(-0.5, -1.25, -2.5, 12.0)), *_over(0.5, 4)]),
    **dict.fromkeys(_OF_ANY, unary()),
    **dict.fromkeys(("polygamma", "special_polygamma"), [S(n, pos(2, 3)) for n in range(5)] + [S(2, pos())]),
    "polygamma_method": [S(pos(2, 3), n) for n in range(5)] + [S(pos(), 2), S(pos(0, 3), 1)],
    "mvlgamma": [
        S(Placeholder(shape, 2, 6), p) for shape, p in (((2, 3), 1), ((2, 3), 3), ((0, 3), 2), ((), 2))
    ],
    **dict.fromkeys(
        ("igamma", "igammac"),
        [
            *_two(numbers=False),
            S(special(30), pos(30)),
            S(_at(0.5, 30.0, 300.0, 300.0), _at(0.1, 40.0, 310.0, 200.0)),
        ],
    ),
    "logit": [
        S(_at(NAN, 0.0, 1.0, 0.5, -1.0, 2.0)),
        *_over(0.1, 0.9, S(Placeholder((2, 3), 0.1, 0.9), 1e-3), S(_at(-1.0, 0.125, 0.5, 2.0), 0.25)),
    ],
    "special_log_ndtr": [S(_at(NAN, INF, 0.0, -0.0, 1.0, -1.0, 10.0, -10.0, 60.0, -60.0)), *_over(-4, 4)],
    "special_entr": [S(special(30)), *_over(0.5, 4)],
    "special_erfcx": [S(special(30)), *_over(-3, 4)],
    "special_ndtri": [S(_at(NAN, 0.0, 1.0, 0.5, -1.0, 2.0, 1e-3)), *_over(0.1, 0.9)],
    "special_xlog1py": [S(special(30), pos(30)), S(pos(30), special(30)), *_two()],
    "special_xlog1py_number": _after(),
    "special_zeta": [
        S(_at(1.0, 0.5, 2.0, 3.0), _at(2.0, 2.0, -1.0, -2.5)),
        *_two(lambda *s: Placeholder(s, 1.5, 5)),
    ],
    "special_zeta_number": _after(),
    **{
        f"special_{name}": [S(_at(*_NEAR)), *_over(0.25, 4)]
        for name in (
            *("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1"),
            *("modified_bessel_k0", "modified_bessel_k1"),
            *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"),
        )
    },
    "special_airy_ai": [S(_at(*_NEAR)), *_over(-2, 4)],
    **{name: _DEGREES for name in _POLYNOMIALS},
    **{f"{name}_number": _after(_integer_degrees) for name in _POLYNOMIALS},
}


# ---- NumPy's side: integrals, sums and recurrences ----
def _each(function):
    return lambda *a: np.vectorize(function, otypes=[np.float64])(*a) if np.broadcast(*a).size else sum(a)


def _integral(function, low, high, steps=2000):
    t = np.linspace(low, high, steps + 1)
    y = function(t)
    return (y.sum() - (y[0] + y[-1]) / 2) * (high - low) / steps


def _lgamma(a):
    return math.inf if abs(a) == math.inf or (a <= 0 and a == math.floor(a)) else math.lgamma(a)


def _digamma(a):
    if a == 0:
        return math.copysign(math.inf, -a)
    if a == math.inf:
        return a
    if not a > -math.inf or a == math.floor(a) < 0:
        return math.nan
    if a > 1e6:
        return math.log(a) - 0.5 / a
    steps = np.arange(20000)
    at, far = a + steps, a + 20000
    return -np.sum(1 / at) + math.log(far) - 1 / (2 * far) - 1 / (12 * far**2)


def _ndtr(a):
    return math.erfc(-a / math.sqrt(2)) / 2


def _i0e(a, order=0):
    size, sign = abs(a), math.copysign(1, a if order else 1)
    if size > 1e4:
        return sign * (1 + (-3 if order else 1) / 8 / size) / math.sqrt(2 * math.pi * size)
    return _integral(lambda t: np.exp(a * np.cos(t) - size) * np.cos(order * t), 0, math.pi) / math.pi


def _grown(order):
    def run(a):
        if abs(a) == math.inf:
            return math.nan
        return _i0e(a, order) * (math.exp(abs(a)) if abs(a) < 700 else math.inf)

    return run


def _k(order, scaled):
    def run(a):
        if not a > 0:
            return math.inf if a == 0 else math.nan
        top = math.acosh(1 + 745 / a)
        whole = _integral(lambda t: np.exp(-a * (np.cosh(t) - 1)) * np.cosh(order * t), 0, top)
        return whole * (1 if scaled else math.exp(-a))

    return run


def _j(order):
    return lambda a: _integral(lambda t: np.cos(order * t - a * np.sin(t)), 0, math.pi) / math.pi


def _entr(a):
    return -a * np.log(a) if a > 0 else a if a != a else 0 if a == 0 else -math.inf


def _logit(a, eps=None):
    a = np.asarray(a, dtype=np.float64)
    a = a if eps is None else np.clip(a, eps, 1 - eps)
    return np.log(a / (1 - a))


def _recurrence(first, following):
    """following(k, x, p(k), p(k - 1)) is p(k + 1)."""

    def run(a, n):
        degree = int(n)
        last, p = 1.0, first(a)
        if degree < 1:
            return float(degree == 0)
        for k in range(1, degree):
            last, p = p, following(k, a, p, last)
        return p

    return _each(run)


def _chebyshev(first, shifted=False):
    run = _recurrence(first, lambda k, a, p, last: 2 * a * p - last)
    return (lambda a, n: run(2 * np.asarray(a, dtype=np.float64) - 1, n)) if shifted else run


_FIRST = {"t": lambda a: a, "u": lambda a: 2 * a, "v": lambda a: 2 * a - 1, "w": lambda a: 2 * a + 1}
_OF_DEGREE = {
    **{f"special_chebyshev_polynomial_{kind}": _chebyshev(first) for kind, first in _FIRST.items()},
    **{
        f"special_shifted_chebyshev_polynomial_{kind}": _chebyshev(first, True)
        for kind, first in _FIRST.items()
    },
    "special_hermite_polynomial_h": _recurrence(
        lambda a: 2 * a, lambda k, a, p, last: 2 * (a * p - k * last)
    ),
    "special_hermite_polynomial_he": _recurrence(lambda a: a, lambda k, a, p, last: a * p - k * last),
    "special_laguerre_polynomial_l": _recurrence(
        lambda a: 1 - a, lambda k, a, p, last: ((2 * k + 1 - a) * p - k * last) / (k + 1)
    ),
    "special_legendre_polynomial_p": _recurrence(
        lambda a: a, lambda k, a, p, last: ((2 * k + 1) * a * p - k * last) / (k + 1)
    ),
}
NUMPY = {
    "lgamma": _each(_lgamma),
    "digamma": _each(_digamma),
    "mvlgamma": lambda a, p: (
        p * (p - 1) / 4 * math.log(math.pi) + sum(_each(_lgamma)(a - i / 2) for i in range(p))
    ),
    "i0": _each(_grown(0)),
    "special_i0e": _each(_i0e),
    "special_i1": _each(_grown(1)),
    "special_i1e": _each(lambda a: _i0e(a, 1)),
    "special_modified_bessel_i0": _each(_grown(0)),
    "special_modified_bessel_i1": _each(_grown(1)),
    **{f"special_modified_bessel_k{n}": _each(_k(n, False)) for n in (0, 1)},
    **{f"special_scaled_modified_bessel_k{n}": _each(_k(n, True)) for n in (0, 1)},
    **{f"special_bessel_j{n}": _each(_j(n)) for n in (0, 1)},
    "special_spherical_bessel_j0": lambda a: np.sinc(np.asarray(a, dtype=np.float64) / math.pi),
    "logit": _logit,
    "sinc": np.sinc,
    "special_entr": _each(_entr),
    "special_ndtr": _each(_ndtr),
    **_OF_DEGREE,
    **{f"{name}_number": answer for name, answer in _OF_DEGREE.items()},
}


# ---- PyTorch's side ----
def _in_special(name):
    return lambda torch: getattr(torch.special, name.removeprefix("special_").removesuffix("_number"))


WIDER = {("mvlgamma", "bool")}
PYTORCH = {name: _in_special(name) for name in SAMPLES if name.startswith("special_")}
