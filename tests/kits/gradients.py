"""Gradients of the operator rows' samples, in whichever library: first and second derivatives."""

import numpy as np

import opinfo
from rushlight import _C

NAMES = [
    row["id"]
    for row in opinfo.ROWS.values()
    if (row["node"] or row["kind"] == 2) and not row["flags"] & opinfo.NO_GRAD
]
# Arguments that nobody differentiates by: weights of classes, running statistics.
CONSTANT = {
    **dict.fromkeys(("batch_norm", "instance_norm", "native_batch_norm"), (3, 4)),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward"), (2,)),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), (3, 6)),
}


def leaves(library, row, sample, dtype="float64", layout="plain"):
    """Arguments of a call in which each floating tensor is a leaf that wants a gradient; and those leaves."""
    args, kwargs = sample.build(library, dtype, layout)
    constant = CONSTANT.get(row["id"], ())
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


def call(library, row, sample, dtype="float64", layout="plain"):
    """Run one sample; the differentiable results, and the leaves. In-place rows write into a copy."""
    args, kwargs, wanted = leaves(library, row, sample, dtype, layout)
    if row["flags"] & opinfo.ONLY_INPLACE:
        args[0] = args[0] * 1
    library.default_generator.manual_seed(5)
    results = opinfo.flat_results(opinfo.function(library, row)(*args, **kwargs))
    return [r for r in results if isinstance(r, library.Tensor) and r.requires_grad], wanted


def function_of(row, sample):
    """A call of rushlight's row as a function of its leaves, and those leaves, in float64."""
    args, kwargs, wanted = leaves(_C, row, sample)
    places = {id(leaf): n for n, leaf in enumerate(wanted)}

    def call(*values):
        def fill(value):
            if isinstance(value, list):
                return [fill(v) for v in value]
            return values[places[id(value)]] if id(value) in places else value

        given = [fill(a) for a in args]
        if row["flags"] & opinfo.ONLY_INPLACE:
            given[0] = given[0] * 1
        _C.default_generator.manual_seed(5)
        results = opinfo.function(_C, row)(*given, **{k: fill(v) for k, v in kwargs.items()})
        return tuple(r for r in opinfo.flat_results(results) if isinstance(r, _C.Tensor) and r.requires_grad)

    return call, wanted


def weights(library, like, seed):
    """Fixed random numbers of a tensor's shape."""
    values = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(like.shape))
    return library.tensor(values, dtype=like.dtype)


def derivatives(library, row, sample, grad, dtype="float64", layout="plain", second=True):
    """(names of nodes, first gradients, second gradients) of one sample."""
    results, wanted = call(library, row, sample, dtype, layout)
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
