"""Derivatives where pieces meet, beside real PyTorch: ties, borders, zeros, infinities and NaN."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

inf, nan = float("inf"), float("nan")

# what is differentiated, and where; `t` is the library
CASES = [
    ("t.abs(x)", [-1.0, 0.0, -0.0, 2.0]),
    ("t.relu(x)", [-1.0, 0.0, -0.0, 2.0]),
    ("t.relu(x)", [nan, inf, -inf]),
    ("t.sqrt(x)", [0.0, 4.0, inf]),
    ("t.rsqrt(x)", [0.0, 4.0, inf]),
    ("t.log(x)", [0.0, 1.0, inf]),
    ("t.reciprocal(x)", [0.0, 2.0, inf]),
    ("x ** 0", [0.0, 1.0, -2.0]),
    ("x ** 1", [0.0, 1.0, -2.0]),
    ("x ** 2", [0.0, 1.0, -2.0]),
    ("x ** 3", [0.0, 1.0, -2.0]),
    ("x ** 0.5", [0.0, 1.0, 2.0]),
    ("x ** -1", [0.0, 1.0, -2.0]),
    ("x ** y", [0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]),
    ("x ** y", [1.5, 2.0, 0.5], [0.0, -1.0, 2.5]),
    ("2 ** x", [0.0, 1.0, -2.0]),
    ("0 ** x", [0.0, 1.0, 2.0]),
    ("t.clamp(x, -1, 1)", [-2.0, -1.0, 0.0, 1.0, 2.0, nan]),
    ("t.clamp(x, min=-1)", [-2.0, -1.0, 0.0, nan]),
    ("t.clamp(x, max=1)", [0.0, 1.0, 2.0, nan]),
    ("t.clamp(x, 1, -1)", [-2.0, 0.0, 2.0]),
    ("t.maximum(x, y)", [1.0, 2.0, 3.0, nan], [1.0, 3.0, 2.0, 1.0]),
    ("t.minimum(x, y)", [1.0, 2.0, 3.0, nan], [1.0, 3.0, 2.0, 1.0]),
    ("t.max(x)", [3.0, 1.0, 3.0, 2.0]),
    ("t.min(x)", [1.0, 1.0, 3.0, 1.0]),
    ("t.max(x)", [3.0, nan, 3.0, 2.0]),
    ("t.amax(x)", [3.0, 1.0, 3.0, 2.0]),
    ("t.amin(x, 0)", [1.0, 1.0, 3.0, 1.0]),
    ("t.amax(x, 0, keepdim=True)", [3.0, 1.0, 3.0]),
    ("t.max(x, 0)[0]", [3.0, 1.0, 3.0, 2.0]),
    ("t.min(x, 0, keepdim=True)[0]", [1.0, 1.0, 3.0, 1.0]),
    ("t.prod(x)", [2.0, 3.0, 4.0]),
    ("t.prod(x)", [2.0, 0.0, 4.0]),
    ("t.prod(x)", [2.0, 0.0, 0.0]),
    ("t.prod(x, 0)", [2.0, 0.0, 4.0]),
    ("t.prod(x, 0)", [0.0]),
    ("t.prod(x.reshape(2, 2), 1)", [2.0, 0.0, 4.0, 5.0]),
    ("t.prod(x.reshape(2, 2), 1, keepdim=True)", [0.0, 0.0, 4.0, 0.0]),
    ("t.std(x)", [2.0, 2.0, 2.0]),
    ("t.std(x)", [1.0, 2.0, 4.0]),
    ("t.var(x, unbiased=False)", [1.0, 2.0, 4.0]),
    ("t.var(x, correction=3)", [1.0, 2.0, 4.0]),
    ("t.var(x)", [1.0]),
    *((f"t.norm(x, {p})", [3.0, 0.0, -4.0]) for p in (0, 0.5, 1, 1.5, 2, 3)),
    *((f"t.norm(x, float('{p}'))", [3.0, 0.0, -3.0, 1.0]) for p in ("inf", "-inf")),
    *((f"t.norm(x, {p})", [0.0, 0.0]) for p in (1, 1.5, 2, 3)),
    ("t.norm(x)", [0.0, 0.0]),
    ("t.nn.functional.hardtanh(x)", [-2.0, -1.0, 0.0, 1.0, 2.0]),
    ("t.nn.functional.relu6(x)", [-1.0, 0.0, 3.0, 6.0, 7.0]),
    ("t.nn.functional.leaky_relu(x)", [-2.0, 0.0, 1.0]),
    ("t.nn.functional.elu(x)", [-2.0, 0.0, 1.0]),
    ("t.nn.functional.celu(x, 2.0)", [-2.0, 0.0, 1.0]),
    ("t.nn.functional.selu(x)", [-2.0, 0.0, 1.0]),
    ("t.nn.functional.hardswish(x)", [-4.0, -3.0, 0.0, 3.0, 4.0]),
    ("t.nn.functional.hardsigmoid(x)", [-4.0, -3.0, 0.0, 3.0, 4.0]),
    ("t.nn.functional.softshrink(x)", [-1.0, -0.5, 0.0, 0.5, 1.0]),
    ("t.nn.functional.hardshrink(x)", [-1.0, -0.5, 0.0, 0.5, 1.0]),
    ("t.nn.functional.threshold(x, 0.5, 9.0)", [0.0, 0.5, 1.0]),
    ("t.nn.functional.softplus(x)", [-30.0, 0.0, 20.0, 20.5]),
    ("t.nn.functional.logsigmoid(x)", [-30.0, 0.0, 30.0]),
    ("t.nn.functional.prelu(x, y)", [-2.0, 1.0], [0.25]),
    ("t.nn.functional.rrelu(x)", [-2.0, 0.0, 1.0]),
    ("t.nn.functional.silu(x)", [-60.0, 0.0, 60.0]),
    ("t.nn.functional.mish(x)", [-60.0, 0.0, 30.0]),
    ("t.nn.functional.gelu(x)", [-9.0, 0.0, 9.0]),
    ("t.cosine_similarity(x, y, 0)", [0.0, 0.0], [1.0, 2.0]),
    ("t.cosine_similarity(x, y, 0, 4.0)", [1.0, 0.5], [1.0, 2.0]),
    ("t.remainder(x, y)", [5.0, -5.0], [3.0, 3.0]),
    ("t.hypot(x, y)", [3.0, 0.0], [4.0, 0.0]),
    ("t.where(x > 0, x, y)", [1.0, -1.0], [2.0, 3.0]),
    ("x.masked_fill(x > 0, y.sum())", [1.0, -1.0, 2.0], [2.0, 3.0]),
    ("t.lerp(x, y, 0.3)", [1.0, -1.0], [2.0, 3.0]),
    ("t.lerp(x, y, t.sigmoid(x))", [1.0, -1.0], [2.0, 3.0]),
    ("t.addcdiv(x, x, y, value=0.5)", [1.0, -1.0], [2.0, 3.0]),
    ("t.addcmul(x, x, y, value=0.5)", [1.0, -1.0], [2.0, 3.0]),
    ("t.softmax(x, 0)", [1.0, -inf, 2.0]),
    ("t.log_softmax(x, 0)", [1.0, -60.0, 2.0]),
    ("(x.expand(3, 2) * 2).sum()", [1.0, 2.0]),
    ("(x.reshape(2, 1) + y)", [1.0, 2.0], [1.0, 2.0, 3.0]),
    ("(x.reshape(2, 1) + y).sum()", [1.0, 2.0], [1.0, 2.0, 3.0]),
]


def derivatives(library, what, values):
    """First derivatives, and those of their squares; None where there are none."""
    leaves = [library.tensor(v, dtype=library.float64, requires_grad=True) for v in values]
    names = {"t": library, **dict(zip("xy", leaves, strict=False))}
    total = (eval(what, names) * 1.5).sum()
    first = library.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    squares = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    second = [None] * len(leaves)
    if squares:
        try:
            second = library.autograd.grad(sum(squares), leaves, allow_unused=True)
        except RuntimeError as error:  # PyTorch has no second derivative of some
            assert library is torch and "is not implemented" in str(error)
            second = None
    values = [None if g is None else g.detach().clone().tolist() for g in [*first, *(second or [])]]
    return values[: len(leaves)], None if second is None else values[len(leaves) :]


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        if a is None and b is None:
            continue
        zeros = np.zeros_like(a if b is None else b)
        np.testing.assert_allclose(
            zeros if a is None else a, zeros if b is None else b, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("what, values", [(c[0], c[1:]) for c in CASES], ids=lambda v: str(v))
def test_same_where_pieces_meet(what, values):
    ours, theirs = (derivatives(library, what, values) for library in (rushlight, torch))
    same(ours[0], theirs[0])
    if theirs[1] is not None:
        same(ours[1], theirs[1])


def test_rounded_quotients_refuse():
    for library in (rushlight, torch):
        x = library.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
            (x // 2).sum().backward()
