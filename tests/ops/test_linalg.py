"""Factorisations: what they mean, their errors, empty and broken input, and LAPACK where SciPy brings it."""

import importlib.util
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight as rl
from rushlight import linalg

HAS_SCIPY = importlib.util.find_spec("scipy") is not None
SIZES = [(1, 1), (2, 2), (5, 5), (7, 3), (3, 7), (30, 30), (60, 60), (90, 40), (40, 90)]
SQUARES = [1, 2, 5, 30, 60]


def matrix(*shape, seed=0):
    return rl.tensor(np.random.default_rng(seed).uniform(-1, 1, shape))


def near(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def identity(n):
    return rl.eye(n, dtype=rl.float64)


@pytest.mark.parametrize("m, n", SIZES)
@pytest.mark.parametrize("full", [False, True])
def test_svd(m, n, full):
    a = matrix(2, m, n)
    u, s, vh = linalg.svd(a, full_matrices=full)
    k = min(m, n)
    near(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
    near(u.mT @ u, identity(u.shape[-1]).expand(2, -1, -1))
    near(vh @ vh.mT, identity(vh.shape[-2]).expand(2, -1, -1))
    assert bool((s[..., :-1] >= s[..., 1:]).all()) and bool((s >= 0).all())
    near(linalg.svdvals(a), s)


@pytest.mark.parametrize("values", [[3, 3, 3, 0, 0], [1e-200, 1, 1e200, 0, 2], [0] * 5, [1e-300] * 5])
def test_svd_of_repeated_zero_and_far_apart_values(values):
    q = linalg.qr(matrix(6, 5)).Q
    u, s, vh = linalg.svd(q * rl.tensor(values, dtype=rl.float64), full_matrices=True)
    near(u.mT @ u, identity(6))
    near(vh @ vh.mT, identity(5))
    np.testing.assert_allclose(s.numpy(), sorted(values, reverse=True), rtol=1e-9, atol=1e-14 * max(values))


@pytest.mark.parametrize("n", SQUARES)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh(n, uplo):
    a = matrix(2, n, n)
    a = a + a.mT
    w, v = linalg.eigh(a.tril() if uplo == "L" else a.triu(), uplo)  # the other triangle is not read
    near(v * w.unsqueeze(-2) @ v.mT, a)
    near(v.mT @ v, identity(n).expand(2, n, n))
    assert bool((w[..., :-1] <= w[..., 1:]).all())


def as_complex(t):
    return np.array(t.tolist(), dtype=complex).reshape(tuple(t.shape))


@pytest.mark.parametrize("n", SQUARES)
def test_eig(n):
    a = matrix(3, n, n)
    w, v = (as_complex(t) for t in linalg.eig(a))
    np.testing.assert_allclose(a.numpy() @ v, v * w[:, None, :], atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(v, axis=-2), 1)
    np.testing.assert_allclose(np.sort_complex(as_complex(linalg.eigvals(a))), np.sort_complex(w), atol=1e-9)


@pytest.mark.parametrize(
    "array", [np.eye(4), np.zeros((3, 3)), np.diag(np.ones(4), 1), np.eye(6)[[1, 2, 3, 4, 5, 0]]]
)
def test_eig_of_matrices_that_shifts_do_not_help(array):
    w, v = (as_complex(t) for t in linalg.eig(rl.tensor(array)))
    np.testing.assert_allclose(array @ v, v * w, atol=1e-7)
    np.testing.assert_allclose(np.sort(abs(w)), np.sort(abs(np.linalg.eigvals(array))), atol=1e-3)


@pytest.mark.parametrize("m, n", SIZES)
def test_lu_and_qr(m, n):
    a = matrix(2, m, n)
    p, lower, upper = linalg.lu(a)
    near(p @ lower @ upper, a)
    parts = rl.lu_unpack(*linalg.lu_factor_ex(a)[:2])
    for one, other in zip((p, lower, upper), parts):
        near(one, other, 1e-13)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(a, mode)
        near(q @ r, a)
        near(q.mT @ q, identity(q.shape[-1]).expand(2, -1, -1))
    packed, tau = rl.geqrf(a)
    near(packed.triu()[..., : min(m, n), :], linalg.qr(a).R)
    other = matrix(2, m, 3, seed=1)
    near(rl.ormqr(packed, tau, other), linalg.qr(a, "complete").Q @ other)


@pytest.mark.parametrize("n", SQUARES)
def test_equations(n):
    a, b = matrix(2, n, n) + 2 * math.sqrt(n) * identity(n), matrix(2, n, 3, seed=1)
    x = linalg.solve(a, b)
    near(a @ x, b)
    near(linalg.solve(a, b.mT, left=False) @ a, b.mT)
    lu, pivots = linalg.lu_factor(a)
    near(linalg.lu_solve(lu, pivots, b), x)
    near(a.mT @ linalg.lu_solve(lu, pivots, b, adjoint=True), b)
    near(linalg.inv(a) @ b, x)
    sign, size = linalg.slogdet(a)
    near(sign * size.exp() / linalg.det(a), rl.ones(2, dtype=rl.float64))
    positive = a @ a.mT
    for upper in (False, True):
        factor = linalg.cholesky(positive, upper=upper)
        near(factor.mT @ factor if upper else factor @ factor.mT, positive, 1e-8)
        near(positive @ rl.cholesky_solve(b, factor, upper), b, 1e-7)
        near(rl.cholesky_inverse(factor, upper), linalg.inv(positive), 1e-7)
    symmetric = a + a.mT - 4 * math.sqrt(n) * identity(n)
    near(symmetric @ linalg.ldl_solve(*linalg.ldl_factor(symmetric), b), b, 1e-7)


@pytest.mark.parametrize("m, n", SIZES)
@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
def test_least_squares(m, n, driver):
    a, b = matrix(m, n), matrix(m, 2, seed=1)
    x = linalg.lstsq(a, b, driver=driver).solution
    near(x, linalg.pinv(a) @ b, 1e-7)
    near(a.mT @ (a @ x - b), rl.zeros(n, 2, dtype=rl.float64), 1e-8)


# ---- nothing ----
def test_empty_matrices():
    none = rl.zeros(0, 0)
    assert linalg.det(none).item() == 1 and linalg.slogdet(none).logabsdet.item() == 0
    for function in (linalg.inv, linalg.cholesky, linalg.matrix_exp, rl.inverse, linalg.pinv):
        assert function(none).shape == (0, 0)
        assert function(rl.zeros(0, 3, 3)).shape == (0, 3, 3)
    assert [t.shape for t in linalg.svd(rl.zeros(0, 3))] == [(0, 0), (0,), (3, 3)]
    near(linalg.svd(rl.zeros(0, 3)).Vh, rl.eye(3))
    near(linalg.svd(rl.zeros(3, 0)).U, rl.eye(3))
    assert [t.shape for t in linalg.eigh(rl.zeros(2, 0, 0))] == [(2, 0), (2, 0, 0)]
    assert [t.shape for t in linalg.eig(none)] == [(0,), (0, 0)]
    near(linalg.qr(rl.zeros(3, 0), "complete").Q, rl.eye(3))
    near(linalg.solve(rl.eye(3), rl.zeros(3, 0)), rl.zeros(3, 0))
    assert linalg.lstsq(rl.zeros(3, 0), rl.ones(3, 2)).solution.shape == (0, 2)
    near(linalg.lstsq(rl.zeros(0, 3), rl.ones(0, 2)).solution, rl.zeros(3, 2))
    assert [t.shape for t in linalg.lu(rl.zeros(0, 3))] == [(0, 0), (0, 0), (0, 3)]


# ---- what cannot be done ----
SINGULAR = rl.zeros(2, 2)
BATCH = rl.stack([rl.eye(2), SINGULAR])
NAN, INF = rl.full((3, 3), math.nan), rl.full((3, 3), math.inf)


@pytest.mark.parametrize(
    "function, text",
    [
        (linalg.inv, "linalg.inv: {}The diagonal element 1 is zero, the inversion could not be completed"),
        (linalg.solve, "torch.linalg.solve: {}The solver failed because the input matrix is singular."),
        (
            linalg.cholesky,
            "linalg.cholesky: {}The factorization could not be completed because the input is not",
        ),
        (linalg.lu_factor, "torch.linalg.lu_factor: {}U[1,1] is zero and using it on lu_solve would result"),
    ],
)
def test_singular_matrices(function, text):
    given = (lambda a: (a, a)) if function is linalg.solve else (lambda a: (a,))
    for a, place in ((SINGULAR, ""), (BATCH, "(Batch element 1): ")):
        with pytest.raises(RuntimeError if function is linalg.lu_factor else linalg.LinAlgError) as raised:
            function(*given(a))
        assert str(raised.value).startswith(text.format(place))
    ex = getattr(linalg, function.__name__.removeprefix("linalg_") + "_ex")
    assert ex(*given(BATCH)).info.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="_ex: "):
        ex(*given(SINGULAR), check_errors=True)


def test_linalg_error_is_a_runtime_error():
    assert issubclass(linalg.LinAlgError, RuntimeError) and linalg.LinAlgError is rl._C._LinAlgError


@pytest.mark.parametrize("n", [3, 60])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nothing_hangs_on_what_is_not_finite(n, value):
    a = rl.eye(n)
    a[n - 1, 0] = value
    with pytest.raises(linalg.LinAlgError, match="contained non-finite values"):
        linalg.svd(a)
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        linalg.eig(a)
    assert bool(linalg.eigh(a).eigenvalues.isnan().all())
    assert bool(linalg.matrix_exp(a).isnan().any())
    for function in (linalg.det, linalg.lu, linalg.qr, linalg.slogdet, linalg.inv_ex, linalg.ldl_factor_ex):
        function(a)


@pytest.mark.parametrize("n", [3, 60])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nothing_is_printed_for_what_is_not_finite(n, value, capfd):
    a, whole = rl.eye(n).repeat(2, 1), rl.full((n, n), value)
    a[n - 1, 0] = value
    for driver in ("gelsy", "gelsd", "gelss"):
        for matrix in (a, a.mT, whole):
            with pytest.raises(linalg.LinAlgError, match="least squares solution could not be computed"):
                linalg.lstsq(matrix, rl.ones(len(matrix), 2), driver=driver)
    for function in (linalg.svdvals, linalg.pinv, linalg.cond, linalg.matrix_rank):
        with pytest.raises(linalg.LinAlgError, match="contained non-finite values"):
            function(whole)
    for function in (
        linalg.eigvalsh,
        linalg.qr,
        linalg.lu,
        linalg.ldl_factor_ex,
        linalg.cholesky_ex,
        linalg.inv_ex,
    ):
        function(whole)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_sizes(scale):
    a = matrix(5, 5)
    np.testing.assert_allclose(
        linalg.svdvals(a * scale).numpy(), linalg.svdvals(a).numpy() * scale, rtol=1e-9
    )
    symmetric = a + a.mT
    expected = linalg.eigvalsh(symmetric).numpy() * scale
    np.testing.assert_allclose(linalg.eigvalsh(symmetric * scale).numpy(), expected, rtol=1e-9)
    got, expected = as_complex(linalg.eigvals(a * scale)), as_complex(linalg.eigvals(a)) * scale
    np.testing.assert_allclose(np.sort(abs(got)), np.sort(abs(expected)), rtol=1e-9)


@pytest.mark.parametrize("bad", [[0, 1, 2], [4, 1, 2], [-1, -1, 3], [2**31 - 1, 1, 1], [-(2**31), 1, 1]])
def test_pivots_that_are_nowhere(bad):
    a, b, pivots = rl.eye(3), rl.ones(3, 1), rl.tensor(bad, dtype=rl.int32)
    with pytest.raises(RuntimeError):
        linalg.lu_solve(a, pivots, b)
    with pytest.raises(RuntimeError):
        rl.lu_unpack(a, pivots)


@pytest.mark.parametrize("bad", [[0, 1, 2], [4, 1, 2], [1, 2, -3], [-1, -2, 3], [-(2**31), -(2**31), 1]])
def test_blocks_that_are_none(bad):
    with pytest.raises(RuntimeError, match="are not those of ldl_factor"):
        linalg.ldl_solve(rl.eye(3), rl.tensor(bad, dtype=rl.int32), rl.ones(3, 1))


# ---- LAPACK ----
def run(code, **environment):
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p), **environment)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_small_matrices_do_not_import_scipy():
    run("import sys, rushlight as rl; rl.linalg.inv(rl.eye(20)); assert 'scipy' not in sys.modules")


@pytest.mark.skipif(not HAS_SCIPY, reason="SciPy is not installed: make scipy")
def test_large_matrices_use_scipys_lapack():
    code = "import sys, rushlight as rl; rl.linalg.inv(rl.eye(60)); assert 'scipy' in sys.modules"
    assert "-> lapack_linalg_inv " in run(code, RUSHLIGHT_TRACE="1").stderr
    code = code.replace("' in", "' not in")
    assert "-> ref_linalg_inv " in run(code, RUSHLIGHT_TRACE="1", RUSHLIGHT_SCIPY="0").stderr


def test_capsules_of_others_are_refused():
    with pytest.raises(ValueError, match="is not a function void"):
        rl._C._lapack_offer(())
    with pytest.raises(TypeError):
        rl._C._lapack_offer(None)
    names = rl._C._lapack_names()
    assert ("dgetrf", "scipy.linalg.cython_lapack") in names and (
        "sgemm",
        "scipy.linalg.cython_blas",
    ) in names
