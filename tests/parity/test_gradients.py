"""First and second gradients of every differentiable operator's samples, beside real PyTorch's."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import samples  # noqa: E402
from kits import gradients  # noqa: E402
from rushlight import _C, autograd  # noqa: E402

# The last step of what PyTorch composes of several operators, and rushlight has as one.
COMPOSED = {"SqueezeBackward1", "ViewBackward0", "UnsafeViewBackward0"}

# PyTorch divides by the number of elements of the input, which is not that of the broadcast result; it takes
# 2 to the power of a negative integer for 0; and as_strided_scatter() passes the gradient of what was
# overwritten, and none of the rest.
WRONG_THERE = {
    *((loss, "t[2, 1], t[3], 1") for loss in ("mse_loss", "smooth_l1_loss", "huber_loss")),
    *(("ldexp", sample) for sample in ("t[15], t[]", "t[2, 3], t[]")),
    *(("as_strided_scatter", str(sample)) for sample in samples.of("as_strided_scatter")),
}
# Their second derivatives would be the third ones of sampling, which only PyTorch has.
ONCE = {"grid_sampler_2d_grid", "grid_sampler_3d_grid"}


def same(ours, theirs, what):
    for i, (a, b) in enumerate(itertools.zip_longest(ours, theirs)):
        if a is None or b is None:
            # a gradient that is zero everywhere may be left out
            rest = b if a is None else a
            assert rest is None or not rest.detach().abs().sum().item(), f"{what}: input {i}: {a} against {b}"
            continue
        assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape)), what
        # PyTorch's zeros may be without memory until they are copied
        got, expected = samples.as_array(a.detach()), samples.as_array(b.detach().clone())
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9, err_msg=f"{what}: input {i}")


def outcome(library, entry, sample, layout, grad):
    try:
        return gradients.derivatives(library, entry, sample, grad, layout=layout)
    except Exception as error:
        return error


@pytest.mark.parametrize("name", [name for name in gradients.NAMES if name not in ONCE])
def test_gradients(name):
    entry = samples.OPERATORS[name]
    for sample in samples.of(name):
        if (name, str(sample)) in WRONG_THERE:
            continue
        for layout in ["plain"] if name == "as_strided" else ["plain", "transposed"]:
            what = f"{name}({sample}) {layout}"
            theirs = outcome(torch, entry, sample, layout, torch.autograd.grad)
            if isinstance(theirs, Exception) or not theirs[0]:
                continue  # PyTorch refuses the call, knows no second derivative, or no derivative at all
            ours = outcome(_C, entry, sample, layout, autograd.grad)
            if isinstance(ours, Exception):
                raise AssertionError(what) from ours
            if entry["kind"] != 2 and entry["name"][0] != "_" and not COMPOSED & set(theirs[0]):
                assert ours[0] == theirs[0], what
            same(ours[1], theirs[1], what + ": first")
            same(ours[2], theirs[2], what + ": second")
