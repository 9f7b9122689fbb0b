"""First and second derivatives of every differentiable row, compared with finite differences in float64."""

import dataclasses

import pytest

import gradients
import opinfo
from rushlight import autograd

# Rows whose derivative has not been written: to shrink until it is empty.
NOT_YET = """
avg_pool2d adaptive_avg_pool2d batch_norm dropout upsample_bilinear2d upsample_nearest2d pad avg_pool1d
avg_pool3d adaptive_avg_pool1d adaptive_avg_pool3d linalg_qr layer_norm rms_norm group_norm instance_norm
native_batch_norm native_batch_norm_backward native_layer_norm native_layer_norm_backward
native_group_norm native_group_norm_backward rms_norm_backward avg_pool1d_backward
adaptive_avg_pool1d_backward avg_pool2d_backward adaptive_avg_pool2d_backward avg_pool3d_backward
adaptive_avg_pool3d_backward upsample_nearest2d_backward upsample_bilinear2d_backward pad_backward
embedding_dense_backward embedding scatter_join scatter_number_join
""".split()

CONSTANT = {"nonzero", "repeat_interleave_index"}  # results without gradients
REFUSED = {"floor_divide"}  # by PyTorch, too

# Between which numbers a row is smooth, where its samples leave that; nothing here is within 1e-5 of a kink.
SMOOTH = {
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), (0.5, 4)),
    "log1p": (-0.9, 4),
    "acosh": (1.5, 4),
    "reciprocal": (0.5, 4),
}


def smooth(name, placeholder):
    """The same shape with numbers where the row has a derivative."""
    if not placeholder.follows or (placeholder.values is not None and not placeholder.kinks):
        return placeholder
    low, high = SMOOTH.get(name, (placeholder.low, placeholder.high))
    return dataclasses.replace(placeholder, low=low, high=high, values=None, special=False)


def refused(name, sample):
    """PyTorch refuses these gradients, too: by more of src than the index takes, and of empty images."""
    if name.startswith("scatter"):
        index, src = sample.args[2:4]
        return isinstance(src, opinfo.Placeholder) and src.shape != index.values.shape
    return name.startswith("pixel") and 0 in sample.args[0].shape


def cases(name):
    """(what, function of the leaves, leaves) for each sample with something to differentiate."""
    row = opinfo.ROWS[name]
    for sample in opinfo.samples(name):
        if refused(name, sample):
            continue
        call, leaves = gradients.function_of(row, sample.mapped(lambda p: smooth(name, p)))
        results = call(*leaves) if leaves else ()
        if results and all(r.isfinite().all() for r in results):  # the mean of nothing has no derivative
            yield f"{name}({sample})", call, leaves


@pytest.mark.parametrize("name", [name for name in gradients.NAMES if name not in {*NOT_YET, *REFUSED}])
def test_first_and_second(name):
    count = 0
    for what, call, leaves in cases(name):
        count += 1
        try:
            autograd.gradcheck(call, leaves, fast_mode=True)
            autograd.gradgradcheck(call, leaves, fast_mode=True)
        except Exception as error:
            raise AssertionError(what) from error
    assert count or name in CONSTANT, "no sample has a derivative"


def has_derivative(name):
    """Or fails for another reason than that it has none."""
    try:
        test_first_and_second(name)
    except AssertionError as error:
        return "is not implemented" not in str(error.__cause__)
    return True


def test_the_list_shrinks():
    done = [name for name in NOT_YET if has_derivative(name)]
    assert not done, "these have derivatives by now and leave NOT_YET: " + " ".join(done)
