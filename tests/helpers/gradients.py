"""Gradients of the operators' samples, in whichever library: first and second derivatives."""

import numpy as np

import op_samples as samples
from rushlight import _C

NAMES = [
    entry["id"]
    for entry in samples.OPERATORS.values()
    if (entry["node"] not in ("", "NotImplemented") or entry["kind"] == 2)
    and not entry["flags"] & samples.NO_GRAD
]
# Arguments that nobody differentiates by: weights of classes, running statistics.
CONSTANT = {
    **dict.fromkeys(("batch_norm", "instance_norm", "native_batch_norm"), (3, 4)),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward", "nll_loss", "nll_loss2d"), (2,)),
    **dict.fromkeys(("nll_loss_nd", "cross_entropy_loss"), (2,)),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), (3, 6)),
    **dict.fromkeys(("fractional_max_pool2d", "fractional_max_pool3d"), (3,)),  # random numbers
    "multi_margin_loss": (4,),
    "binary_cross_entropy": (2,),
    "binary_cross_entropy_backward": (3,),
    "binary_cross_entropy_with_logits": (2, 3),
    "binary_cross_entropy_with_logits_backward": (3, 4),
    **dict.fromkeys(("igamma", "igammac", "special_zeta"), (0,)),  # PyTorch has no such derivative
}


def leaves(library, entry, sample, dtype="float64", layout="plain"):
    """Arguments of a call in which each floating tensor is a leaf that wants a gradient; and those leaves."""
    args, kwargs = sample.build(library, dtype, layout)
    constant = CONSTANT.get(entry["id"], ())
    wanted = []

    def leaf(value):
        if isinstance(value, list):
            return [leaf(v) for v in value]
        if isinstance(value, library.Tensor) and value.is_floating_point():
            value = value.detach().requires_grad_()
            wanted.append(value)
        return value

    args = [a if i in constant else leaf(a) for i, a in enumerate(args)]
    return args, {k: leaf(v) for k, v in kwargs.items()}, wanted


def call(library, entry, sample, dtype="float64", layout="plain"):
    """Run one sample; the differentiable results, and the leaves. In-place operators write into a copy."""
    args, kwargs, wanted = leaves(library, entry, sample, dtype, layout)
    if entry["flags"] & samples.ONLY_INPLACE:
        args[0] = args[0] * 1
    library.default_generator.manual_seed(5)
    results = samples.agreed(library, entry["id"], samples.function(library, entry)(*args, **kwargs))
    return [r for r in results if isinstance(r, library.Tensor) and r.requires_grad], wanted


def function_of(entry, sample):
    """A call of rushlight's operator as a function of its leaves, and those leaves, in float64."""
    args, kwargs, wanted = leaves(_C, entry, sample)
    places = {id(leaf): n for n, leaf in enumerate(wanted)}

    def call(*values):
        values = samples.DOMAIN[entry["id"]](*values) if entry["id"] in samples.DOMAIN else values

        def fill(value):
            if isinstance(value, list):
                return [fill(v) for v in value]
            return values[places[id(value)]] if id(value) in places else value

        given = [fill(a) for a in args]
        if entry["flags"] & samples.ONLY_INPLACE:
            given[0] = given[0] * 1
        _C.default_generator.manual_seed(5)
        results = samples.function(_C, entry)(*given, **{k: fill(v) for k, v in kwargs.items()})
        return tuple(r for r in samples.flat_results(results) if isinstance(r, _C.Tensor) and r.requires_grad)

    return call, wanted


def weights(library, like, seed):
    """Fixed random numbers of a tensor's shape."""
    values = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(like.shape))
    return library.tensor(values, dtype=like.dtype)


def derivatives(library, entry, sample, grad, dtype="float64", layout="plain", second=True):
    """(names of nodes, first gradients, second gradients) of one sample."""
    results, wanted = call(library, entry, sample, dtype, layout)
    names = [r.grad_fn.name() for r in results if r.grad_fn]
    if not results or not wanted:
        return names, [], []
    total = sum((r * weights(library, r, i)).sum() for i, r in enumerate(results))
    first = grad(total, wanted, create_graph=second, allow_unused=True)
    again = [g for g in first if g is not None and g.requires_grad]
    if not second or not again:
        return names, first, []
    total = sum((g * weights(library, g, 7 + i)).sum() for i, g in enumerate(again))
    return names, first, grad(total, wanted, allow_unused=True)
