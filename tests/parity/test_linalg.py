"""linalg's compositions and errors beside real PyTorch: values, gradients, names of nodes, texts."""

import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight as rl  # noqa: E402

LIBRARIES = (rl, torch)
SQUARE = np.random.default_rng(0).uniform(-2, 2, (3, 3)) + 2 * np.eye(3)
GIVEN = {
    "m": SQUARE,
    "b": np.random.default_rng(1).uniform(-2, 2, (2, 3, 3)),
    "tall": np.random.default_rng(2).uniform(-2, 2, (4, 3)),
    "wide": np.random.default_rng(3).uniform(-2, 2, (3, 4)),
    "v": np.array([1.0, -2.0, 0.5]),
    "w": np.array([2.0, 1.0, 3.0, -1.0]),
    "deficient": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]]),
    "none": np.zeros((0, 3)),
    "cube": np.random.default_rng(4).uniform(-2, 2, (2, 3, 6)),
}
ORDERS = ("'fro'", "'nuc'", 1, -1, 2, -2, "inf", "-inf")
CALLS = [
    *(f"L.matrix_norm({x}, {o})" for x in ("m", "b", "tall", "wide") for o in ORDERS),
    *(f"L.matrix_norm(b, {o}, (0, 2), True)" for o in ORDERS if o not in ("'nuc'", 2, -2)),
    *(f"L.norm({x}, {o})" for x in ("m", "tall") for o in ORDERS),
    *(
        "L.norm(b)",
        "L.norm(v, 3)",
        "L.norm(v, 0)",
        "L.norm(b, 2, 1)",
        "L.norm(b, 1, (0, 1))",
        "L.norm(v, inf)",
    ),
    *(f"L.cond({x}, {o})" for x in ("m", "b") for o in (*ORDERS, None)),
    *("L.cond(tall)", "L.cond(wide, -2)", "L.cond(deficient, 1)"),
    *(f"L.pinv({x})" for x in ("m", "b", "tall", "wide", "deficient")),
    *("L.pinv(m, 0.5)", "L.pinv(m, atol=1.0)", "L.pinv(b, rtol=t.tensor([0.1, 0.9]))", "t.pinverse(tall)"),
    *("L.pinv(m + m.mT, hermitian=True)", "L.pinv(b + b.mT, rtol=0.2, hermitian=True)"),
    *(f"L.matrix_rank({x})" for x in ("m", "b", "tall", "deficient", "none")),
    *(
        "L.matrix_rank(m, 3.0)",
        "L.matrix_rank(m, atol=1.5, rtol=0.1)",
        "L.matrix_rank(b, rtol=t.tensor(0.5))",
    ),
    *("L.matrix_rank(m + m.mT, hermitian=True)", "L.matrix_rank(b, tol=t.tensor([0.5, 3.0]))"),
    *(f"L.matrix_power({x}, {n})" for x in ("m", "b") for n in (-3, -1, 1, 2, 5)),
    *("m.matrix_power(3)", "L.vander(v)", "L.vander(v, N=5)", "L.vander(m, N=2)", "L.diagonal(b, offset=1)"),
    *("L.multi_dot([m, tall.mT, tall])", "L.multi_dot([v, wide, w])", "L.multi_dot([wide, tall, wide, w])"),
    *(
        "L.vecdot(m, v)",
        "L.vecdot(b, m, dim=1)",
        "L.tensorinv(cube)",
        "L.tensorinv(cube.permute(2, 0, 1), 1)",
    ),
    *("L.tensorsolve(cube, cube[..., 0])", "L.tensorsolve(cube.permute(2, 0, 1), cube[..., 0], dims=(0,))"),
    *("m.det()", "m.slogdet().logabsdet", "(m @ m.mT).logdet()", "t.logdet(b @ b.mT)", "deficient.det()"),
    *(
        "m.inverse()",
        "(m @ m.mT).cholesky()",
        "m.lu()[0]",
        "t.lu(m)[0]",
        "t.chain_matmul(m, tall.mT)",
        "m.matrix_exp()",
    ),
    *(
        "t.lu_solve(m[:, :1], *L.lu_factor(m))",
        "tall.svd().S",
        "m.qr().R.abs()",
        "t.triangular_solve(m, m)[0]",
    ),
    *("t.cross(m, m.mT)", "m.cross(m.mT, 0)", "L.cross(m, v.unsqueeze(0))", "L.lstsq(tall, w).solution"),
    *(
        "L.lstsq(tall, wide.mT, driver='gelsd')[1]",
        "L.lstsq(deficient, m, driver='gelsd')[2]",
        "L.matmul(m, v)",
    ),
    *(
        "L.householder_product(*t.geqrf(tall.detach()))",
        "L.lstsq(deficient.repeat(2, 1), t.cat([m, m]), driver='gelsd')[1]",
    ),
    *("L.solve(m, v)", "L.solve_ex(b, m)[0]", "L.inv_ex(b)[0]", "L.lu_factor_ex(tall)[0]"),
]
REFUSED = [
    *("L.matrix_norm(m, 3)", "L.matrix_norm(m, 'x')", "L.matrix_norm(v)", "L.matrix_norm(m, 1, (0, 0))"),
    *("L.matrix_norm(m, 1, (0, 5))", "L.matrix_norm(m.int())", "L.matrix_norm(m, dtype=t.int32)"),
    *("L.matrix_norm(m, 1, dtype=t.float32)", "L.norm(b, 2)", "L.norm(m, 2, (0, 1, 1))", "L.norm(v, 'nuc')"),
    *("L.cond(m, 3)", "L.cond(m, 'x')", "L.cond(v)", "L.cond(tall, 1)", "L.pinv(v)", "L.pinv(m.int())"),
    *("L.matrix_rank(v)", "L.matrix_power(v, 2)", "L.matrix_power(tall, 2)", "L.vander(v, N=1)"),
    *("L.vander(t.tensor(1.0))", "L.vander(v > 0)", "L.multi_dot([m])", "L.multi_dot([b, m])"),
    *(
        "L.multi_dot([m, v, m])",
        "L.multi_dot([m, wide.mT])",
        "L.multi_dot([m, m.float()])",
        "L.vecdot(m.int(), m.int())",
    ),
    *(
        "L.tensorinv(m, 0)",
        "L.tensorinv(m, 1).x",
        "L.tensorinv(m)",
        "L.tensorinv(tall, 1)",
        "L.tensorsolve(tall, w)",
    ),
    *(
        "L.cross(m, v)",
        "L.cross(tall, wide.mT, dim=0)",
        "t.cross(tall[:, :2], tall[:, :2])",
        "t.logdet(tall)",
        "t.logdet(v)",
    ),
    *("L.inv(v)", "L.inv(tall)", "L.inv(m.int())", "L.inv(m.half())", "L.det(tall)", "L.det(m.half())"),
    *(
        "L.slogdet(m.half())",
        "L.solve(m, wide.mT)",
        "L.solve(m, m.float())",
        "L.solve(tall, m)",
        "L.solve(m, t.ones(2))",
    ),
    *(
        "L.solve(m, v, left=False)",
        "L.solve(m.half(), m.half())",
        "L.cholesky(tall)",
        "L.cholesky(-m @ m.mT)",
    ),
    *(
        "t.cholesky(-m @ m.mT)",
        "L.cholesky_ex(-m @ m.mT, check_errors=True)",
        "L.lu(v)",
        "L.lu(m, pivot=False)",
    ),
    *(
        "L.lu_factor(v)",
        "L.lu_factor(m * 0)",
        "L.lu_factor(m, pivot=False)",
        "L.eigh(tall)",
        "L.eigh(m, 'X')",
    ),
    *(
        "L.eigh(m.half())",
        "L.svd(v)",
        "L.svd(m.int())",
        "L.svd(m.half())",
        "L.svd(m * t.nan)",
        "L.svd(m, driver='gesvd')",
    ),
    *(
        "L.eig(tall)",
        "L.eig(m * t.nan)",
        "L.eig(m.int())",
        "L.qr(v)",
        "L.qr(m, 'x')",
        "t.geqrf(v)",
        "t.geqrf(m.int())",
    ),
    *(
        "L.householder_product(wide, v)",
        "L.householder_product(m, w)",
        "L.householder_product(v, v)",
        "t.orgqr(m, m)",
    ),
    *(
        "t.ormqr(tall, v, v)",
        "t.ormqr(tall, v, m)",
        "t.ormqr(tall, v[:2], tall)",
        "L.solve_triangular(m, wide.mT, upper=True)",
    ),
    *(
        "L.solve_triangular(tall, m, upper=True)",
        "L.solve_triangular(m, m)",
    ),
    *(
        "t.cholesky_solve(v, m)",
        "t.cholesky_solve(tall, m)",
        "t.cholesky_solve(m, tall)",
        "t.cholesky_inverse(m * 0)",
    ),
    *(
        "t.triangular_solve(v, m)",
        "t.triangular_solve(tall, m)",
        "L.lstsq(v, v)",
        "L.lstsq(m, w)",
        "L.lstsq(m.int(), m)",
    ),
    *(
        "L.lstsq(m, m, driver='x')",
        "L.lstsq(m, t.tensor(1.0))",
        "L.lstsq(m, m.float())",
    ),
    *(
        "L.matrix_exp(tall)",
        "L.matrix_exp(m.int())",
        "L.inv(m * 0)",
        "L.inv(b * 0)",
        "L.solve(b * 0, m)",
        "t.inverse(m * 0)",
    ),
    *("L.lu_solve(m.int(), t.ones(3, dtype=t.int32), m)", "t.lu_unpack(m, v)", "t.lu_unpack(v, v)"),
]


def value(library, text, grad):
    tensors = {name: library.tensor(array, dtype=library.float64) for name, array in GIVEN.items()}
    if grad:
        tensors = {name: each.requires_grad_() for name, each in tensors.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(text, {"t": library, "L": library.linalg, "inf": math.inf, **tensors})
    return result, list(tensors.values())


def derivatives(library, result, leaves):
    """First and second gradients by all that have one."""
    first = library.autograd.grad(
        (result * result.detach().cos()).sum(), leaves, create_graph=True, allow_unused=True
    )
    known = [g for g in first if g is not None and g.requires_grad]
    second = [None] * len(leaves)
    if known:
        total = sum((g * g.detach().sin()).sum() for g in known)
        second = library.autograd.grad(total, leaves, allow_unused=True)
    return [0 if g is None else g.detach().clone().numpy() for g in (*first, *second)]


# PyTorch's composition ends with another step, or its views are other ones
OTHER_NODES = ("tensorinv", "vecdot", "matrix_norm(b, ", "cross", "orgqr", "householder", "cond(")


@pytest.mark.parametrize("text", CALLS)
def test_values_and_gradients(text):
    (ours, our_leaves), (theirs, their_leaves) = (value(library, text, True) for library in LIBRARIES)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-9)
    assert (str(ours.dtype), ours.shape) == (str(theirs.dtype), tuple(theirs.shape))
    assert ours.requires_grad == theirs.requires_grad
    # unless it is not differentiable, or PyTorch's composition writes into what its gradient needs
    if ours.requires_grad and "deficient" not in text and ("cond(" not in text or "nuc" in text):
        if not any(part in text for part in OTHER_NODES):
            assert ours.grad_fn.name() == theirs.grad_fn.name()
        pairs = zip(derivatives(rl, ours, our_leaves), derivatives(torch, theirs, their_leaves), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("text", REFUSED)
def test_errors(text):
    errors = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as raised:
            value(library, text, False)
        errors.append((type(raised.value).__name__, str(raised.value).splitlines()[0]))
    assert errors[0] == errors[1]


def test_names():
    assert set(torch.linalg.__all__ if hasattr(torch.linalg, "__all__") else ()) <= set(dir(rl.linalg))
    own = {n for n in dir(torch.linalg) if n[0] != "_" and callable(getattr(torch.linalg, n))}
    assert own == set(rl.linalg.__all__)


@pytest.mark.parametrize(
    "name", ["linalg.svd", "linalg.eigh", "linalg.lu", "linalg.slogdet", "slogdet", "qr", "svd", "geqrf"]
)
def test_named_tuples(name):
    fields = []
    for library in LIBRARIES:
        function = library
        for part in name.split("."):
            function = getattr(function, part)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(library.eye(3))
        fields.append(
            [
                f
                for f in (
                    "U",
                    "S",
                    "Vh",
                    "V",
                    "P",
                    "L",
                    "Q",
                    "R",
                    "a",
                    "tau",
                    "sign",
                    "logabsdet",
                    "eigenvalues",
                    "eigenvectors",
                )
                if hasattr(result, f)
            ]
        )
    assert fields[0] == fields[1] and len(fields[0]) > 1
