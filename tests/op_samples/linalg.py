"""Samples and NumPy's answers: factorisations, equations, and norms of vectors."""

import math

import numpy as np

from op_samples.sample import WHOLE, Placeholder, S, fixed, nz, special, x

HALVES = ("float16", "bfloat16")
OTHERS = (*WHOLE, *HALVES)  # what no factorisation takes


# ---- matrices of which something is known ----
def _values(*shape):
    return np.random.default_rng(math.prod(shape) + len(shape)).uniform(-2, 2, shape).round(3)


def given(array):
    return Placeholder(np.shape(array), values=np.asarray(array, dtype=float))


def square(*shape):
    """Far from singular."""
    return given(_values(*shape) + 3 * np.eye(shape[-1]))


def tall(*shape):
    return given(_values(*shape))


def positive(*shape):
    a = _values(*shape)
    return given((a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])).round(3))


def symmetric(*shape):
    a = _values(*shape)
    return given(a + np.swapaxes(a, -1, -2) + 5 * np.diag(np.arange(shape[-1])))


def lower(*shape):
    return given(np.tril(_values(*shape), -1) + 2 * np.eye(shape[-1]))


def upper(*shape):
    return given(np.triu(_values(*shape), 1) + 2 * np.eye(shape[-1]))


def pivots(*rows):
    return fixed(np.array(rows, dtype=np.int32))


def _no(*these):
    return [s.but(*OTHERS) for s in these]


_SQUARE = _no(
    S(square(3, 3)),
    S(square(2, 4, 4)),
    S(square(2, 1, 2, 2)),
    S(square(1, 1)),
)
_ANY = _no(S(tall(5, 3)), S(tall(3, 5)), S(tall(2, 4, 3)), S(square(4, 4)))
_INVERSE = {name: _SQUARE for name in ("linalg_inv", "inverse", "linalg_inv_ex")}
_DETERMINANT = {name: _SQUARE[:3] for name in ("linalg_det", "det", "linalg_slogdet", "slogdet")}
_CHOLESKY = _no(S(positive(3, 3)), S(positive(2, 3, 3)), S(positive(4, 4)))
_EQUATIONS = _no(
    *(
        S(square(3, 3), x(3, 2)),
        S(square(2, 3, 3), x(2, 3, 1)),
        S(square(3, 3), x(2, 3, 2)),
        S(square(3, 3), x(3)),
    ),
    *(S(square(2, 3, 3), x(2, 3)), S(square(3, 3), x(2, 3), left=False)),
)
_LU = {"A": square(3, 3), "wide": tall(2, 4)}

SAMPLES = {
    **_INVERSE,
    **_DETERMINANT,
    "logdet": _no(S(positive(3, 3)), S(positive(2, 4, 4)), S(given(np.diag([1.0, -2.0])))),
    **{
        name: _ANY + _no(S(square(2, 4, 4))) for name in ("linalg_lu", "linalg_lu_factor_ex", "_lu_with_info")
    },
    "linalg_lu_factor": _SQUARE + _no(S(tall(5, 3)), S(tall(3, 5))),
    "lu_unpack": [
        s
        for s in (
            *(S(tall(3, 3), pivots(3, 2, 3)), S(tall(4, 2), pivots(2, 4)), S(tall(2, 4), pivots(2, 2))),
            *(S(tall(3, 3), pivots(1, 3, 3), False), S(tall(3, 3), pivots(1, 3, 3), True, False)),
            S(tall(2, 2, 2), pivots([1, 2], [2, 2])),
        )
    ],
    "linalg_cholesky": _CHOLESKY + _no(S(positive(3, 3), upper=True)),
    "linalg_cholesky_ex": _CHOLESKY + _no(S(positive(3, 3), upper=True)),
    **{name: _CHOLESKY + _no(S(positive(3, 3), True)) for name in ("_cholesky", "cholesky")},
    "cholesky_inverse": _no(S(lower(3, 3)), S(lower(2, 3, 3)), S(upper(3, 3), True)),
    "cholesky_solve": _no(
        *(S(x(3, 2), lower(3, 3)), S(x(2, 3, 1), lower(3, 3)), S(x(3, 2), upper(2, 3, 3), True)),
    ),
    **{
        name: _no(S(symmetric(3, 3)), S(symmetric(2, 4, 4)))
        for name in ("linalg_ldl_factor", "linalg_ldl_factor_ex")
    },
    "linalg_ldl_solve": _no(
        S(lower(3, 3), pivots(1, 2, 3), x(3, 2)),
        S(given([[0.5, 0, 0], [2, 1, 0], [1, 3, 2]]), pivots(-2, -2, 3), x(3, 1)),
    ),
    "linalg_qr": [
        s.but(*OTHERS)
        for s in (
            *(S(x(5, 3)), S(x(3, 5)), S(x(4, 4)), S(x(2, 4, 3)), S(x(5, 3), "complete"), S(x(4, 3), "r")),
            *(S(x(3, 0), "complete"), S(x(0, 3))),
            S(Placeholder((3, 3), values=np.diag([1.0, -2.0, 3.0]), kinks=True)),
        )
    ],
    "qr": _no(S(tall(4, 3)), S(tall(3, 4), False), S(tall(2, 3, 3))),
    "geqrf": _ANY,
    "linalg_eigh": _no(S(symmetric(3, 3)), S(symmetric(2, 4, 4)), S(symmetric(3, 3), "U")),
    "linalg_eigvalsh": _no(S(symmetric(3, 3)), S(symmetric(2, 4, 4)), S(symmetric(3, 3), "U")),
    "linalg_svd": _ANY + _no(S(tall(5, 3), False), S(tall(3, 5), full_matrices=False)),
    "linalg_svdvals": _ANY,
    "svd": _no(
        S(tall(4, 3)), S(tall(3, 4)), S(tall(2, 3, 3)), S(tall(4, 3), False), S(tall(4, 3), True, False)
    ),
    **{
        name: _no(S(square(3, 3)), S(tall(2, 4, 4)), S(given([[0, -1], [1, 0]])))
        for name in ("linalg_eig", "linalg_eigvals")
    },
    **{
        name: [s.but(*WHOLE) for s in (S(tall(3, 3)), S(tall(2, 2, 2)), S(given(10 * _values(3, 3))))]
        for name in ("linalg_matrix_exp", "matrix_exp")
    },
    "_linalg_pinv": _no(
        *(S(tall(4, 3), None, None), S(tall(3, 4), None, None), S(symmetric(3, 3), None, None, True)),
        S(tall(2, 3, 2), None, given(0.1)),
    ),
    "pinverse": _no(S(tall(4, 3)), S(tall(2, 3, 4)), S(tall(3, 3), 1e-4)),
    "linalg_solve": _EQUATIONS,
    "linalg_solve_ex": _EQUATIONS,
    "linalg_lu_solve": _no(
        *(S(square(3, 3), pivots(2, 2, 3), x(3, 2)), S(square(3, 3), pivots(3, 2, 3), x(3, 2), adjoint=True)),
        *(
            S(square(3, 3), pivots(3, 2, 3), x(2, 3), left=False),
            S(square(3, 3), pivots(1, 3, 3), x(2, 3, 1)),
        ),
        S(square(3, 3), pivots(3, 3, 3), x(2, 3), left=False, adjoint=True),
    ),
    "lu_solve": _no(S(x(3, 2), square(3, 3), pivots(2, 2, 3)), S(x(2, 3, 1), square(3, 3), pivots(3, 2, 3))),
    "linalg_solve_triangular": _no(
        *(S(lower(3, 3), x(3, 2), upper=False), S(upper(2, 3, 3), x(3, 2), upper=True)),
        *(S(upper(3, 3), x(2, 3), upper=True, left=False), S(square(3, 3), x(3, 1), upper=False)),
        S(lower(3, 3), x(2, 3, 1), upper=False, unitriangular=True),
    ),
    **{
        name: _no(
            *(
                S(x(3, 2), upper(3, 3)),
                S(x(2, 3, 1), lower(3, 3), False),
                S(x(3, 2), lower(3, 3), False, True),
            ),
            *(S(x(3, 2), upper(3, 3), True, True, True), S(x(3, 2), square(3, 3), upper=True)),
        )
        for name in ("_triangular_solve", "triangular_solve")
    },
    "linalg_lstsq": _no(
        *(S(tall(5, 3), x(5, 2)), S(tall(3, 5), x(3, 2)), S(tall(5, 3), x(5)), S(tall(2, 4, 3), x(2, 4, 1))),
        *(S(tall(5, 3), x(5, 2), driver=d) for d in ("gels", "gelsd", "gelss")),
        *(S(tall(3, 5), x(3, 2), driver=d) for d in ("gels", "gelsd")),
    ),
    "linalg_householder_product": _no(S(tall(4, 3), tall(3)), S(tall(2, 3, 3), tall(2, 2))),
    "orgqr": _no(S(tall(4, 3), tall(3)), S(tall(2, 3, 3), tall(2, 2))),
    "ormqr": _no(
        *(
            S(tall(4, 3), tall(3), x(4, 2)),
            S(tall(4, 3), tall(3), x(2, 4), False),
            S(tall(4, 2), tall(2), x(4, 2), True, True),
        ),
        S(tall(2, 3, 3), tall(2, 3), x(2, 2, 3), False, True),
    ),
    "linalg_cross": [
        s.but("bool")
        for s in (S(x(4, 3), x(4, 3)), S(x(2, 3, 4), x(1, 3, 4), dim=1), S(x(0, 3), x(0, 3)), S(x(3), x(3)))
    ],
    "cross": [
        s.but("bool") for s in (S(x(4, 3), x(4, 3)), S(x(2, 3, 4), x(1, 3, 4), 1), S(x(3, 3), x(3, 3), -1))
    ],
    **{
        name: [
            *_no(S(square(3, 3), -2), S(square(2, 3, 3), -1)),
            *(s.but("bool") for s in (S(x(3, 3), 2), S(x(2, 2, 2), 3))),
            S(x(3, 3), 1),
        ]
        for name in ("matrix_power", "linalg_matrix_power")
    },
    **{
        name: [
            s.but(*WHOLE)
            for s in (
                *(S(x(2, 3, 4)), S(x(2, 3, 4), 1, 1), S(x(2, 3, 4), 2, (0, 2)), S(x(70, 65), 2, 0)),
                *(S(x(2, 3, 4), 3, -1, True), S(x(2, 3, 4), 0, 1), S(x(2, 3, 4), math.inf, 1)),
                *(S(x(2, 3, 4), -math.inf, 1), S(nz(2, 3), -1.5, 1), S(x(70, 65), 2.5), S(x(0, 3), 2)),
                *(S(x(0, 3), math.inf, 1), S(x(), 2), S(special(30), 2), S(special(30), math.inf)),
            )
        ]
        for name in ("linalg_vector_norm", "norm")
    },
    "linalg_powsum": [
        s.but(*WHOLE)
        for s in (
            *(S(x(2, 3, 4)), S(x(2, 3, 4), 1, 1), S(x(2, 3, 4), 3, -1, True), S(x(2, 3), 0, 1)),
            *(S(nz(2, 3), -1.5, 1), S(x(), 2.5)),
        )
    ],
    "norm_text": [s.but(*WHOLE) for s in (S(x(2, 3), "fro"), S(x(2, 3), "fro", 1, True))],
}


def _norm(a, p=2, dim=None, keepdim=False):
    a, axis = abs(a), dim
    if math.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdim)
    if p == 0:
        return (a != 0).sum(axis=axis, keepdims=keepdim).astype(float)
    return (a**p).sum(axis=axis, keepdims=keepdim) ** (1 / p)


def _powsum(a, p=2, dim=None, keepdim=False):
    return (abs(a) ** float(p)).sum(axis=dim, keepdims=keepdim)


def _exp(a):
    """Taylor's series, of the matrix made small."""
    small, result, term = a / 2**8, 0, np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for i in range(1, 30):
        result, term = result + term, term @ small / i
    for _ in range(8):
        result = result @ result
    return result


def _solve(a, b, left=True):
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        return np.linalg.solve(a, b[..., None])[..., 0]
    if b.ndim == a.ndim - 1:
        b = b[None]  # NumPy 1 took it for vectors
    return (
        np.linalg.solve(a, b)
        if left
        else np.swapaxes(_solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)
    )


def _triangular(a, b, upper=True, left=True, unitriangular=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    return _solve(a, b, left)


def _cholesky(a, upper=False):
    low = np.linalg.cholesky(a)
    return np.swapaxes(low, -1, -2) if upper else low


NUMPY = {
    "linalg_vector_norm": _norm,
    "linalg_powsum": _powsum,
    "norm": _norm,
    "linalg_inv": np.linalg.inv,
    "inverse": np.linalg.inv,
    "linalg_det": np.linalg.det,
    "det": np.linalg.det,
    "linalg_slogdet": np.linalg.slogdet,
    "slogdet": np.linalg.slogdet,
    "linalg_cholesky": _cholesky,
    "cholesky": _cholesky,
    "linalg_eigvalsh": lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    "linalg_svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "linalg_matrix_exp": _exp,
    "matrix_exp": _exp,
    "pinverse": np.linalg.pinv,
    "linalg_solve": _solve,
    "linalg_solve_triangular": _triangular,
    "linalg_cross": lambda a, b, dim=-1: np.cross(a, b, axis=dim),
    "matrix_power": np.linalg.matrix_power,
}


def _named(name):
    return lambda torch: getattr(torch.linalg, name)


WARNS = {
    "_lu_with_info": "torch.lu is deprecated",
    **dict.fromkeys(("cholesky", "_cholesky"), "torch.cholesky is deprecated"),
    **dict.fromkeys(("triangular_solve", "_triangular_solve"), "torch.triangular_solve is deprecated"),
    **{name: f"torch.{name} is deprecated" for name in ("lu_solve", "qr")},
    "cross": "Using torch.cross without specifying the dim arg is deprecated",
}
PYTORCH = {
    **{name: _named(name.removeprefix("linalg_")) for name in SAMPLES if name.startswith("linalg_")},
    "linalg_powsum": lambda torch: torch._C._linalg.linalg__powsum,
    "_cholesky": lambda torch: torch.cholesky,
    "_triangular_solve": lambda torch: torch.triangular_solve,
    "_linalg_pinv": lambda torch: (
        lambda a, atol, rtol, hermitian=False: torch.linalg.pinv(a, atol=atol, rtol=rtol, hermitian=hermitian)
    ),
}


# Vectors are known up to their sign, and pairs of eigenvalues have no order: what both libraries agree on.
def _signed(lib, u, other, turned):
    """Columns of u, and the same of other, so that the largest element of each column of u is positive."""
    if u.numel() == 0:
        return u, other
    fixed = u.detach()
    sign = lib.gather(fixed, -2, fixed.abs().argmax(-2, keepdim=True)).sign()
    return u * sign, other * (sign.mT if turned else sign) if other is not None else None


def _svd(lib, result, turned=True):
    u, s, v = result
    k = s.shape[-1]
    u, v = u[..., :k], v[..., :k, :] if turned else v[..., :k]
    u, v = _signed(lib, u, v, turned)
    return u, s, v


def _eig(lib, result):
    """The eigenvalues in order, as real and imaginary parts."""
    values = result[0] if isinstance(result, tuple) else result
    flat = np.array(values.tolist(), dtype=complex).reshape(tuple(values.shape))
    flat = np.take_along_axis(flat, np.lexsort((flat.imag.round(3), flat.real.round(3)), axis=-1), -1)
    kind = lib.float32 if values.dtype == lib.complex64 else lib.float64
    return lib.tensor(np.stack([flat.real, flat.imag]).tolist(), dtype=kind)


def _not_of_halves(lib, result):
    """PyTorch's are NaN."""
    return result if result.dtype in (lib.float32, lib.float64) else lib.zeros_like(result)


CANONICAL = {
    "linalg_matrix_exp": _not_of_halves,
    "matrix_exp": _not_of_halves,
    "linalg_svd": _svd,
    "svd": lambda lib, result: _svd(lib, result, turned=False) if result[0].abs().sum() > 0 else result,
    "linalg_eigh": lambda lib, result: (result[0], _signed(lib, result[1], None, False)[0]),
    "linalg_eig": _eig,
    "linalg_eigvals": _eig,
}


def _triangle(a):
    """The triangle that has more in it."""
    low, up = a.tril(), a.triu()
    return low if low.detach().abs().sum() > up.detach().abs().sum() else up


def _symmetric(a, *rest):
    return ((a + a.mT) / 2, *rest)


# one triangle is read, and its gradient is that of both, as PyTorch's
DOMAIN = dict.fromkeys(
    ("linalg_eigh", "linalg_eigvalsh", "_cholesky", "cholesky"), _symmetric
) | dict.fromkeys(
    ("linalg_cholesky", "linalg_cholesky_ex", "_linalg_pinv"),
    lambda a, *rest: _symmetric(a, *rest) if a.shape[-1] == a.shape[-2] else (a, *rest),
)
DOMAIN |= {
    "cholesky_inverse": lambda a: (_triangle(a),),
    "cholesky_solve": lambda b, a: (b, _triangle(a)),
}
