"""Numbers beside halves: PyTorch multiplies and divides by the float32 of a number, and rounds an alpha."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = {
    "mul": lambda t, x, y, k: x * k,
    "rmul": lambda t, x, y, k: k * x,
    "div": lambda t, x, y, k: x / k,
    "rdiv": lambda t, x, y, k: k / x,
    "floor": lambda t, x, y, k: t.div(x, k, rounding_mode="floor"),
    "trunc": lambda t, x, y, k: t.div(x, k, rounding_mode="trunc"),
    "floor_divide": lambda t, x, y, k: x // k,
    "by a tensor": lambda t, x, y, k: x * t.tensor(k),
    "by a double": lambda t, x, y, k: x / t.tensor(k, dtype=t.float64),
    "in place": lambda t, x, y, k: x.clone().mul_(k).div_(3 * k),
    "out": lambda t, x, y, k: t.mul(x, k, out=t.empty_like(x)),
    "transposed": lambda t, x, y, k: x.view(64, 16).t() * k,
    "one": lambda t, x, y, k: x[:1] * k,
    "number": lambda t, x, y, k: x[0] * k,
    "add": lambda t, x, y, k: x + k,
    "remainder": lambda t, x, y, k: x % k,
    "add alpha": lambda t, x, y, k: t.add(x, y, alpha=k),
    "sub alpha": lambda t, x, y, k: t.sub(x, y, alpha=k),
    "gradient": lambda t, x, y, k: t.autograd.grad((x.requires_grad_() * k / 3.3).sum(), x)[0],
    "gradient of the number": lambda t, x, y, k: t.autograd.grad(
        (x * (z := t.tensor(k, requires_grad=True))).sum(), z
    )[0],
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_same_bits(name, dtype):
    # a multiple of the vectors: PyTorch rounds an alpha otherwise in the rest
    rng = np.random.default_rng(3)
    values = rng.normal(size=(2, 1024)).astype(np.float32)
    for k in (0.999, 0.0316, -7.3):
        theirs, ours = (
            CALLS[name](t, *(t.tensor(v).to(getattr(t, dtype)) for v in values), k)
            for t in (torch, rushlight)
        )
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_array_equal(ours.float().numpy(), theirs.float().numpy())
