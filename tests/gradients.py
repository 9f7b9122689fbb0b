"""Gradients of the operator rows' samples, in whichever library: first and second derivatives."""

import numpy as np

import opinfo

NAMES = [
    row["id"]
    for row in opinfo.ROWS.values()
    if (row["node"] or row["kind"] == 2) and not row["flags"] & opinfo.NO_GRAD
]


def leaves(library, sample, dtype, layout):
    """Arguments of a call in which each floating tensor is a leaf that wants a gradient; and those leaves."""
    args, kwargs = sample.build(library, dtype, layout)
    wanted = []

    def leaf(value):
        if isinstance(value, list):
            return [leaf(v) for v in value]
        if isinstance(value, library.Tensor) and value.is_floating_point():
            value = value.detach().requires_grad_()
            wanted.append(value)
        return value

    return [leaf(a) for a in args], {k: leaf(v) for k, v in kwargs.items()}, wanted


def call(library, row, sample, dtype="float64", layout="plain"):
    """Run one sample; the differentiable results, and the leaves. In-place rows write into a copy."""
    args, kwargs, wanted = leaves(library, sample, dtype, layout)
    if row["flags"] & opinfo.ONLY_INPLACE:
        args[0] = args[0] * 1
    library.default_generator.manual_seed(5)
    results = opinfo.flat_results(opinfo.function(library, row)(*args, **kwargs))
    return [r for r in results if isinstance(r, library.Tensor) and r.requires_grad], wanted


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
