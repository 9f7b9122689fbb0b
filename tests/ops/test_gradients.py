"""First and second derivatives of every differentiable operator against finite differences in float64."""

import dataclasses

import pytest

import op_samples as samples
from helpers import gradients
from rushlight import autograd

CONSTANT = {  # results without gradients
    *("nonzero", "nonzero_tuple", "argwhere", "where_condition", "repeat_interleave_index", "multinomial"),
    "one_hot",
    "view_copy_dtype",
}
REFUSED = {  # by PyTorch, too
    *("floor_divide", "remainder_number", "heaviside", "scatter_join", "scatter_number_join"),
    *("embedding_renorm_", "binomial", "bernoulli_number", "_ctc_loss_backward"),
    *("_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad"),
}
# PyTorch has their first derivative alone
ONCE = {"segment_reduce", "_standard_gamma", "ctc_loss", "ctc_loss_tensor", "_ctc_loss", "_ctc_loss_tensor"}
ONCE |= {"multi_margin_loss", "multilabel_margin_loss", "grid_sampler_2d_grid", "grid_sampler_3d_grid"}
ONCE |= {"embedding_bag", "embedding_bag_padded", "embedding_bag_recorded"}
DRAWN = {"normal_tensors", "normal_mean", "normal_std"}  # zero in PyTorch, which takes draws for constants
DRAWN |= {"_standard_gamma"}  # at one probability, not by one seed: tests/ops/test_random_gamma.py
# Right for the statistics of the input alone: checked as the second derivatives of the operators forward.
BACKWARD = {"native_batch_norm_backward", "native_layer_norm_backward", "native_group_norm_backward"}

# Between which numbers an operator is smooth, where its samples leave that; nothing is within 1e-5 of a kink.
SMOOTH = {
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), (-0.9, 0.9)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), (0.5, 4)),
    "log1p": (-0.9, 4),
    "acosh": (1.5, 4),
    "reciprocal": (0.5, 4),
}


def smooth(name, placeholder):
    """The same shape with numbers where the operator has a derivative."""
    if not placeholder.follows or (placeholder.values is not None and not placeholder.kinks):
        return placeholder
    low, high = SMOOTH.get(name, (placeholder.low, placeholder.high))
    return dataclasses.replace(placeholder, low=low, high=high, values=None, special=False)


def refused(name, sample):
    """PyTorch has no such derivative, either, or one that is zero by intent."""
    args = sample.args
    if name.startswith("scatter"):  # by more of src than the index takes
        return isinstance(args[3], samples.Placeholder) and args[3].shape != args[2].values.shape
    if name.startswith("pixel"):
        return 0 in args[0].shape
    if name == "linalg_qr":
        return "r" in args or ("complete" in args and args[0].shape[-2] > args[0].shape[-1])
    if name in ("linalg_svd", "svd"):  # the columns of U, or of V, that no singular value belongs to
        full = (args[1:2] or (name[0] == "l",))[0] if "full_matrices" not in sample.kwargs else False
        return (full if name[0] == "l" else not (args[1:2] or (True,))[0]) and args[0].shape[-1] != args[
            0
        ].shape[-2]
    if name == "embedding":  # the line of the padding index
        return len(args) > 2 and args[2] in args[1].values
    if name.startswith("embedding_bag"):  # divided by how often a row comes
        return args[3]
    return name == "embedding_dense_backward" and args[4]


def cases(name):
    """(what, function of the leaves, leaves) for each sample with something to differentiate."""
    entry = samples.OPERATORS[name]
    for sample in samples.of(name):
        if refused(name, sample):
            continue
        call, leaves = gradients.function_of(entry, sample.mapped(lambda p: smooth(name, p)))
        results = call(*leaves) if leaves else ()
        if results and all(r.isfinite().all() for r in results):  # the mean of nothing has no derivative
            yield f"{name}({sample})", call, leaves


WITHOUT = REFUSED | BACKWARD | DRAWN | CONSTANT


@pytest.mark.parametrize("name", [name for name in gradients.NAMES if name not in WITHOUT])
def test_first_and_second(name):
    count = 0
    for what, call, leaves in cases(name):
        count += 1
        try:
            autograd.gradcheck(call, leaves, fast_mode=True)
            if name not in ONCE:
                autograd.gradgradcheck(call, leaves, fast_mode=True)
        except Exception as error:
            raise AssertionError(what) from error
    assert count, "no sample has a derivative"


def test_constants_have_no_derivative():
    assert CONSTANT <= set(gradients.NAMES) and not any(case for name in CONSTANT for case in cases(name))
