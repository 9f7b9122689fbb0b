"""First and second gradients of every differentiable operator's samples, beside real PyTorch's."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import op_samples as samples  # noqa: E402
from helpers import gradients  # noqa: E402
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
# One operator here, others there.
OTHER_NODES = {
    *(f"{pool}_backward" for pool in ("max_pool2d", "max_pool3d", "adaptive_avg_pool2d")),
    *("affine_grid_generator_backward", "pad_backward", "dropout"),
}
# Nothing to compare: no number of the result depends on the input,
UNCOMPARED = {"nonzero", "nonzero_tuple", "argwhere", "where_condition", "one_hot", "multinomial"}
UNCOMPARED |= {"repeat_interleave_index", "view_copy_dtype"}
# PyTorch has no derivative of it,
UNCOMPARED |= {f"{name}_backward" for name in ("silu", "hardsigmoid", "mish", "flash_attention")}
UNCOMPARED |= {"_cdist_backward", "_pdist_backward", "native_group_norm_backward", "linalg_powsum"}
# is made of other operators (rms_norm) or wrong about it, or samples have no statistics of their input.
UNCOMPARED |= {"rms_norm_backward", "as_strided_scatter"}
UNCOMPARED |= {"native_batch_norm_backward", "native_layer_norm_backward"}


def same(ours, theirs, what):
    """Compare, and return how many numbers there were."""
    count = 0
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
        count += got.size
    return count


def outcome(library, entry, sample, layout, grad, second):
    try:
        return gradients.derivatives(library, entry, sample, grad, layout=layout, second=second)
    except Exception as error:
        return error


def expected(entry, sample, layout):
    """PyTorch's answer, and whether it knows second derivatives."""
    for second in (True, False) if entry["id"] not in ONCE else (False,):
        theirs = outcome(torch, entry, sample, layout, torch.autograd.grad, second)
        if not isinstance(theirs, Exception):
            break
    return theirs, second


@pytest.mark.parametrize("name", gradients.NAMES)
def test_gradients(name):
    entry, compared = samples.OPERATORS[name], 0
    for sample in samples.of(name):
        if (name, str(sample)) in WRONG_THERE:
            continue
        for layout in ["plain"] if name == "as_strided" else ["plain", "transposed"]:
            what = f"{name}({sample}) {layout}"
            theirs, second = expected(entry, sample, layout)
            if isinstance(theirs, Exception) or not theirs[1]:
                continue  # PyTorch refuses the call, or knows no derivative
            ours = outcome(_C, entry, sample, layout, autograd.grad, second)
            if isinstance(ours, Exception):
                raise AssertionError(what) from ours
            named = entry["kind"] != 2 and entry["name"][0] != "_" and name not in OTHER_NODES
            if named and not COMPOSED & set(theirs[0]):
                assert ours[0] == theirs[0], what
            compared += same(ours[1], theirs[1], what + ": first")
            same(ours[2], theirs[2], what + ": second")
    assert compared > 0 if name not in UNCOMPARED else compared == 0
