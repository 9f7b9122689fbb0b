"""Samples and NumPy's answers: normalisation."""

import math

import numpy as np

from op_samples.pytorch import in_format
from op_samples.sample import WHOLE, S, pos, small, unit, x

_LINE, _IMAGE, _DEEP = (2, 70, 9), (2, 3, 7, 6), (2, 4, 3, 5)
SAMPLES = {
    "batch_norm": [
        S(x(*_IMAGE), x(3), x(3), x(3), pos(3), False, 0.1, 1e-5, True),
        S(x(*_IMAGE), x(3), x(3), x(3), pos(3), True, 0.1, 1e-5, True),
        S(x(5, 3), None, None, None, None, True, 0.1, 1e-5, True),
    ],
    "native_batch_norm": [
        S(small(*_DEEP), small(4), small(4), small(4), pos(4), True, 0.1, 1e-5),
        S(small(*_DEEP), small(4), small(4), small(4), pos(4), False, 0.1, 1e-5),
        S(small(5, 3), None, None, None, None, True, 0.1, 1e-3),
    ],
    "layer_norm": [
        S(x(2, 3, 4), (4,), x(4), x(4)),
        S(x(2, 3, 4), (3, 4), x(3, 4), x(3, 4), 0.1),
        S(x(2, 3, 4), (4,)),
        S(x(*_LINE), (70, 9), None, x(70, 9)),
        S(x(2, 5), (5,), weight=x(5)),
        S(x(0, 3), (3,), x(3)),
    ],
    "native_layer_norm": [
        S(small(2, 3, 4), (4,), small(4), small(4), 1e-5),
        S(small(2, 3, 70), (3, 70), small(3, 70), small(3, 70), 0.1),
        S(small(2, 3, 4), (4,), None, None, 1e-5),
        S(small(0, 3), (3,), small(3), None, 1e-5),
    ],
    "rms_norm": [
        S(x(2, 3, 4), (4,), x(4)),
        S(x(2, 3, 4), (3, 4), x(3, 4), 0.1),
        S(x(2, 3, 4), (4,)),
        S(unit(3, 300), (300,)),
        S(x(0, 3), (3,)),
    ],
    "group_norm": [
        S(x(2, 6, 4), 3, x(6), x(6)),
        S(x(2, 6), 2, x(6), x(6), 0.1),
        S(x(2, 4, 3, 5), 1),
        S(x(2, 4, 3, 5), 4, x(4)),
        S(x(0, 4, 3), 2),
    ],
    "native_group_norm": [
        S(small(*_DEEP), small(4), small(4), 2, 4, 15, 2, 1e-5),
        S(small(2, 4, 3), None, None, 2, 4, 3, 4, 0.1),
        S(small(0, 4, 3), small(4), small(4), 0, 4, 3, 2, 1e-5),
    ],
    "instance_norm": [
        S(x(2, 3, 5), x(3), x(3), None, None, True, 0.1, 1e-5, True),
        S(x(2, 3, 5), None, None, x(3), pos(3), True, 0.1, 1e-5, True),
        S(x(2, 3, 4, 5), x(3), x(3), x(3), pos(3), False, 0.1, 1e-5, True),
    ],
}
BACKWARD = {
    "native_batch_norm_backward": [
        S(small(*_DEEP), small(*_DEEP), small(4), small(4), pos(4), small(4), pos(4), True, 1e-5),
        S(small(*_DEEP), small(*_DEEP), small(4), small(4), pos(4), small(4), pos(4), False, 1e-5),
        S(small(5, 3), small(5, 3), None, None, None, small(3), pos(3), True, 1e-3),
    ],
    "native_layer_norm_backward": [
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(2, 3, 1), pos(2, 3, 1), small(4)),
        S(small(2, 3, 70), small(2, 3, 70), (3, 70), small(2, 1, 1), pos(2, 1, 1), small(3, 70)),
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(2, 3, 1), pos(2, 3, 1), None),
        S(small(0, 3), small(0, 3), (3,), small(0, 1), small(0, 1), small(3)),
    ],
    "rms_norm_backward": [
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(4)),
        S(small(2, 3, 70), small(2, 3, 70), (3, 70), small(3, 70), 0.1),
    ],
    "native_group_norm_backward": [
        S(small(*_DEEP), small(*_DEEP), small(2, 2), pos(2, 2), small(4), 2),
        S(small(2, 4, 3), small(2, 4, 3), small(2, 4), pos(2, 4), None, 4),
    ],
}
NARROWER = {(op, dtype) for op in SAMPLES if op.startswith("native_") for dtype in WHOLE}


# ---- NumPy's side ----
def _layer_norm(a, shape, weight=1, bias=0, eps=1e-5):
    axes = tuple(range(-len(shape), 0))
    a = (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + eps)
    return a * (1 if weight is None else weight) + bias


def _rms_norm(a, shape, weight=1, eps=0):
    return a / np.sqrt((a * a).mean(tuple(range(-len(shape), 0)), keepdims=True) + eps) * weight


def _group_norm(a, groups, weight=None, bias=None, eps=1e-5):
    flat = a.reshape(a.shape[0], groups, math.prod(a.shape[1:]) // groups)
    flat = (flat - flat.mean(2, keepdims=True)) / np.sqrt(flat.var(2, keepdims=True) + eps)
    a, channels = flat.reshape(a.shape), (-1, *[1] * (a.ndim - 2))
    a = a if weight is None else a * weight.reshape(channels)
    return a if bias is None else a + bias.reshape(channels)


NUMPY = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
}


# ---- PyTorch's side ----
def _norm_back(torch, name, grad, source, *args):
    """Theirs want tensors without gaps, masks, and weights where all gradients are asked for."""
    theirs, masks = getattr(torch.ops.aten, name), [True, True, True]
    source = in_format(torch, source)
    grad = torch.empty_like(source).copy_(grad)
    args = [a.contiguous() if isinstance(a, torch.Tensor) else a for a in args]
    if name == "native_layer_norm_backward":
        shape, mean, scale, weight = args
        made = torch.ones(shape, dtype=source.dtype) if weight is None else weight
        return theirs(grad, source, shape, mean, scale, made, torch.zeros_like(made), masks)
    if name == "native_group_norm_backward":
        mean, scale, weight, groups = args
        made = torch.ones(source.shape[1], dtype=source.dtype) if weight is None else weight
        n, c = source.shape[:2]
        return theirs(grad, source, mean, scale, made, n, c, source[0, 0].numel(), groups, masks)
    if args[0] is None:
        args[0] = torch.ones(source.shape[1], dtype=source.dtype)
    return theirs(grad, source, *args, masks)


def _native_group_norm(torch):
    def run(source, weight, bias, *args):
        weight, bias = (None if a is None else a.contiguous() for a in (weight, bias))
        return torch.native_group_norm(in_format(torch, source), weight, bias, *args)

    return run


def _rms_norm_back(torch):
    def run(grad, source, shape, weight, eps=None):
        source, weight = source.detach().requires_grad_(), weight.detach().requires_grad_()
        return torch.autograd.grad(torch.rms_norm(source, shape, weight, eps), (source, weight), grad)

    return run


PYTORCH = {
    **{
        name: (lambda torch, name=name: lambda *args: _norm_back(torch, name, *args))
        for name in (
            *("native_batch_norm_backward", "native_layer_norm_backward"),
            "native_group_norm_backward",
        )
    },
    "rms_norm_backward": _rms_norm_back,
    "native_group_norm": _native_group_norm,
}
