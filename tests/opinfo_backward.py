"""Samples of the backward rows, and what PyTorch calls them."""

import numpy as np

from opinfo import Placeholder, S, fixed, index, pos, special, unit, x

_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")


def small(*shape):
    """PyTorch rounds halves on the way: little to round."""
    return x(*shape, low=-0.5, high=0.5)


def _conv(n, size, weight, out, *numbers, batch=2):
    """Samples (grad, other, size) of conv{n}d_input and conv{n}d_weight for one convolution."""
    groups = numbers[3] if len(numbers) > 3 else 1
    image, kernel = (batch, weight[1] * groups, *size), weight
    grad = (batch, weight[0], *out)
    return (
        S(small(*grad), small(*kernel), image, *numbers),
        S(small(*grad), small(*image), kernel, *numbers),
    )


_CONVOLUTIONS = {
    1: [
        _conv(1, (9,), (4, 3, 3), (7,)),
        _conv(1, (20,), (6, 2, 4), (11,), 2, 2, 1, 3),
        _conv(1, (9,), (2, 1, 3), (7,), 1, 1, 2, 2),
    ],
    2: [
        _conv(2, (7, 6), (4, 3, 3, 3), (5, 4)),
        _conv(2, (7, 6), (4, 3, 3, 2), (4, 4), (2, 1), (1, 0), (1, 2)),
        _conv(2, (8, 9), (6, 2, 3, 3), (3, 3), 3, 1, 1, 3),
        _conv(2, (5, 6), (20, 18, 1, 1), (5, 6)),
        _conv(2, (6, 7), (5, 3, 1, 1), (3, 4), 2),
        _conv(2, (4, 4), (3, 2, 2, 2), (9, 9), 1, 3),
        _conv(2, (7, 6), (4, 3, 3, 3), (5, 4), batch=0),
    ],
    3: [
        _conv(3, (4, 5, 3), (3, 2, 2, 2, 2), (3, 4, 2)),
        _conv(3, (5, 6, 4), (4, 1, 3, 2, 3), (3, 3, 4), (2, 2, 1), (1, 0, 1), 1, 2),
    ],
}
CONVOLUTIONS = {
    **{f"conv{n}d_input": [a for a, _ in pairs] for n, pairs in _CONVOLUTIONS.items()},
    **{f"conv{n}d_weight": [b for _, b in pairs] for n, pairs in _CONVOLUTIONS.items()},
    "conv_bias": [S(x(2, 3, 7, 6), 2), S(x(3, 70), 1), S(x(2, 3, 2, 3, 4), 3), S(x(0, 3, 5), 1)],
}


def _places(shape, volume):
    """Indices of a plane's elements, some of them equal."""
    return fixed(np.random.default_rng(volume).integers(0, volume, shape))


_FLAT, _CUBE = (2, 3, 7, 6), (2, 2, 5, 6, 4)
POOLS = {
    "max_pool1d_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2),
        S(x(3, 5), x(3, 9), 3, 2, 1),
        S(x(2, 3, 5), x(2, 3, 9), 2, ceil_mode=True),
        S(x(2, 12), special(2, 15), 4, 1),
        S(x(2, 35), special(2, 70), 3, 2, 1),
        S(x(2, 12), x(2, 35), 2, 3),
        S(x(0, 3, 4), x(0, 3, 9), 2),
    ],
    "max_pool2d_backward": [
        S(x(2, 3, 3, 3), x(*_FLAT), 2),
        S(x(2, 2, 17), special(2, 5, 35), 2, 2),
        S(x(3, 7, 7), x(3, 7, 6), (3, 2), (1, 1), (1, 1)),
        S(x(2, 3, 4, 3), special(*_FLAT), 2, 2, ceil_mode=True),
        S(x(2, 3, 2, 4), x(*_FLAT), 3, (2, 1), 0, (2, 1)),
        S(x(2, 5, 18), special(2, 9, 36), 3, 2, 1),
        S(x(2, 7, 16), special(2, 7, 16), 3, 1, 1),
        S(x(1, 3, 6), x(1, 9, 19), 3, 3, (1, 0)),
        S(x(1, 2, 17), x(1, 6, 36), 3, 2, 1, 2),
        S(x(0, 3, 3, 3), x(0, 3, 7, 6), 2),
    ],
    "max_pool3d_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2),
        S(x(2, 5, 3, 3), x(2, 5, 6, 4), (3, 2, 2), (1, 2, 2), (1, 0, 1)),
        S(x(1, 2, 2, 17), special(1, 4, 4, 33), 3, 2, 1),
        S(x(0, 2, 2, 3, 2), x(0, *_CUBE[1:]), 2),
    ],
    "max_pool1d_with_indices_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2, None, 0, 1, False, _places((2, 3, 4), 9))
    ],
    "max_pool2d_with_indices_backward": [
        S(x(2, 3, 3, 3), x(*_FLAT), 2, 2, 0, 1, False, _places((2, 3, 3, 3), 42)),
        S(x(3, 4, 4), x(3, 7, 6), 3, 2, 1, 1, True, _places((3, 4, 4), 42)),
    ],
    "max_pool3d_with_indices_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2, 2, 0, 1, False, _places((2, 2, 2, 3, 2), 120))
    ],
    "adaptive_max_pool1d_backward": [S(x(2, 3, 4), x(2, 3, 9), _places((2, 3, 4), 9))],
    "adaptive_max_pool2d_backward": [
        S(x(2, 3, 3, 4), x(*_FLAT), _places((2, 3, 3, 4), 42)),
        S(x(3, 1, 1), x(3, 7, 6), _places((3, 1, 1), 42)),
    ],
    "adaptive_max_pool3d_backward": [S(x(2, 2, 3, 4, 2), x(*_CUBE), _places((2, 2, 3, 4, 2), 120))],
}


def _classes(shape, n, *values):
    """Target classes; the given ones come first."""
    chosen = np.random.default_rng(n).integers(0, n, shape)
    chosen.flat[: len(values)] = values
    return fixed(chosen)


def _number(value):
    return Placeholder((), values=np.asarray(value))


_WEIGHTS = Placeholder((3,), values=np.array([0.5, 2, 1.25]))


def _total_weight(classes, ignored):
    """What the forward row gives with _WEIGHTS."""
    return _number(_WEIGHTS.values[classes.values[classes.values != ignored]].sum())


_SOFTMAX = [
    S(x(2, 3, 4), unit(2, 3, 4), 1),
    S(x(2, 3), unit(2, 3), -1),
    S(x(3, 70), unit(3, 70), 1),
    S(x(5), unit(5), 0),
    S(x(0, 3), unit(0, 3), 1),
    S(x(), unit(), 0),
]
_DIFFERENCES = [(x(2, 3), x(2, 3)), (x(70, 65), x(70, 65)), (x(2, 1), x(3)), (x(), x())]
LOSSES = {
    "threshold_backward": [
        S(x(30), special(30), 0),
        S(x(2, 3, 4), x(2, 3, 4), 0),
        S(x(5, 7), x(5, 7), 1),
        S(x(0, 3), x(0, 3), 0),
        S(x(), x(), 0),
    ],
    "softmax_backward": _SOFTMAX,
    "log_softmax_backward": _SOFTMAX,
    "nll_loss_forward": [
        *(S(x(5, 3), _classes(5, 3), None, reduction, -100) for reduction in (0, 1, 2)),
        *(S(x(5, 3), _classes(5, 3, 1, 1), pos(3), reduction, 1) for reduction in (0, 1, 2)),
        S(x(3), fixed(np.int64(2)), None, 1, -100),
        S(x(3), fixed(np.array([2])), pos(3), 0, -100),
        S(x(2, 3), _classes(2, 3, 1, 1), None, 1, 1),
        S(x(0, 3), _classes(0, 3), None, 1, -100),
    ],
    "nll_loss2d_forward": [
        *(S(x(2, 3, 4, 5), _classes((2, 4, 5), 3, -1), pos(3), reduction, -1) for reduction in (0, 1, 2)),
        S(x(2, 3, 1, 2), _classes((2, 1, 2), 3), None, 1, -100),
    ],
    "nll_loss_backward": [
        S(x(5), x(5, 3), _classes(5, 3, -1), pos(3), 0, -1, pos()),
        S(x(), x(5, 3), _classes(5, 3), None, 1, -100, _number(5)),
        S(x(), x(5, 3), _classes(5, 3, 1), _WEIGHTS, 1, 1, _total_weight(_classes(5, 3, 1), 1)),
        S(x(), x(5, 3), _classes(5, 3), pos(3), 2, -100, pos()),
        S(x(), x(3), fixed(np.int64(2)), None, 1, -100, _number(1)),
    ],
    "nll_loss2d_backward": [
        S(x(2, 4, 5), x(2, 3, 4, 5), _classes((2, 4, 5), 3, -1), pos(3), 0, -1, pos()),
        S(x(), x(2, 3, 4, 5), _classes((2, 4, 5), 3), None, 1, -100, _number(40)),
        S(x(), x(2, 3, 4, 5), _classes((2, 4, 5), 3), pos(3), 2, -100, pos()),
    ],
    "mse_loss": [*(S(a, b, n) for a, b in _DIFFERENCES for n in (0, 1, 2)), S(x(0, 3), x(0, 3), 1)],
    "mse_loss_backward": [
        *(S(x(), a, b, n) for a, b in _DIFFERENCES if a.shape == b.shape for n in (1, 2)),
        S(x(2, 3), x(2, 3), x(2, 3), 0),
        S(x(0, 3), x(0, 3), x(0, 3), 0),
    ],
}

_IMAGE = (2, 4, 3, 5)
NORMS = {
    "native_batch_norm": [
        S(small(*_IMAGE), small(4), small(4), small(4), pos(4), True, 0.1, 1e-5),
        S(small(*_IMAGE), small(4), small(4), small(4), pos(4), False, 0.1, 1e-5),
        S(small(5, 3), None, None, None, None, True, 0.1, 1e-3),
    ],
    "native_layer_norm": [
        S(small(2, 3, 4), (4,), small(4), small(4), 1e-5),
        S(small(2, 3, 70), (3, 70), small(3, 70), small(3, 70), 0.1),
        S(small(2, 3, 4), (4,), None, None, 1e-5),
        S(small(0, 3), (3,), small(3), None, 1e-5),
    ],
    "native_group_norm": [
        S(small(*_IMAGE), small(4), small(4), 2, 4, 15, 2, 1e-5),
        S(small(2, 4, 3), None, None, 2, 4, 3, 4, 0.1),
        S(small(0, 4, 3), small(4), small(4), 0, 4, 3, 2, 1e-5),
    ],
    "native_batch_norm_backward": [
        S(small(*_IMAGE), small(*_IMAGE), small(4), small(4), pos(4), small(4), pos(4), True, 1e-5),
        S(small(*_IMAGE), small(*_IMAGE), small(4), small(4), pos(4), small(4), pos(4), False, 1e-5),
        S(small(5, 3), small(5, 3), None, None, None, small(3), pos(3), True, 1e-3),
    ],
    "native_layer_norm_backward": [
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(2, 3, 1), pos(2, 3, 1), small(4)),
        S(small(2, 3, 70), small(2, 3, 70), (3, 70), small(2, 1, 1), pos(2, 1, 1), small(3, 70)),
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(2, 3, 1), pos(2, 3, 1), None),
        S(small(0, 3), small(0, 3), (3,), small(0, 1), small(0, 1), small(3)),
    ],
    "native_group_norm_backward": [
        S(small(*_IMAGE), small(*_IMAGE), small(2, 2), pos(2, 2), small(4), 2),
        S(small(2, 4, 3), small(2, 4, 3), small(2, 4), pos(2, 4), None, 4),
    ],
    "rms_norm_backward": [
        S(small(2, 3, 4), small(2, 3, 4), (4,), small(4)),
        S(small(2, 3, 70), small(2, 3, 70), (3, 70), small(3, 70), 0.1),
    ],
}

BOXES = {
    "avg_pool1d_backward": [
        S(x(2, 3, 4), x(2, 3, 9), 2),
        S(x(3, 5), x(3, 9), 3, 2, 1, False, False),
        S(x(2, 3, 5), x(2, 3, 9), 2, ceil_mode=True),
    ],
    "avg_pool2d_backward": [
        S(x(2, 3, 3, 3), x(*_FLAT), 2),
        S(x(3, 7, 7), x(3, 7, 6), (3, 2), (1, 1), (1, 1)),
        S(x(2, 3, 4, 4), x(*_FLAT), 3, 2, 1, True, False),
        S(x(2, 3, 3, 3), x(*_FLAT), 2, divisor_override=3),
        S(x(0, 3, 3, 3), x(0, 3, 7, 6), 2),
    ],
    "avg_pool3d_backward": [
        S(x(2, 2, 2, 3, 2), x(*_CUBE), 2),
        S(x(2, 5, 3, 3), x(2, 5, 6, 4), (3, 2, 2), (1, 2, 2), (1, 0, 1), False, False),
    ],
    "adaptive_avg_pool1d_backward": [S(x(2, 3, 4), x(2, 3, 9))],
    "adaptive_avg_pool2d_backward": [S(x(2, 3, 3, 4), x(*_FLAT)), S(x(3, 1, 1), x(3, 7, 6))],
    "adaptive_avg_pool3d_backward": [S(x(2, 2, 3, 4, 2), x(*_CUBE))],
    "upsample_nearest2d_backward": [
        S(x(2, 3, 14, 12), (14, 12), _FLAT),
        S(x(2, 3, 5, 4), (5, 4), _FLAT),
        S(x(2, 3, 10, 9), (10, 9), _FLAT, 1.5, 1.5),
    ],
    "upsample_bilinear2d_backward": [
        S(x(2, 3, 14, 12), (14, 12), _FLAT, False),
        S(x(2, 3, 5, 9), (5, 9), _FLAT, True),
        S(x(2, 3, 10, 9), (10, 9), _FLAT, False, 1.5, 1.5),
    ],
    "pad_backward": [
        *(S(small(2, 3, 11, 9), _FLAT, (1, 2, 3, 1), mode) for mode in ("reflect", "replicate", "circular")),
        S(x(3, 12), (3, 9), (2, 1), "reflect"),
        S(small(2, 2, 7, 8, 6), _CUBE, (1, 1, 0, 2, 2, 0), "replicate"),
    ],
    "embedding_dense_backward": [
        S(x(3, 4), index(1, 4, 1), 5, -1, False),
        S(x(2, 2, 3), fixed(np.array([[0, 1], [3, 1]], dtype=np.int32)), 4, 1, False),
        S(x(4, 3), index(2, 0, 2, 2), 3, -1, True),
        S(x(0, 3), index(), 3, -1, False),
    ],
}

SAMPLES = {**CONVOLUTIONS, **POOLS, **LOSSES, **NORMS, **BOXES}


# ---- PyTorch's side ----
def _conv_grad(n, which):
    def find(torch):
        theirs = getattr(torch.nn.grad, f"conv{n}d_{which}")
        if which == "input":
            return lambda grad, weight, size, *numbers: theirs(size, weight, grad, *numbers)
        return lambda grad, image, size, *numbers: theirs(image, size, grad, *numbers)

    return find


def _channel_sum(torch):
    return lambda grad, n: grad.sum([d for d in range(grad.ndim) if d != grad.ndim - n - 1])


def _grad_of(forward):
    """The gradient of forward(input, ...) by its first argument."""

    def find(torch):
        def run(grad, source, *args, **kwargs):
            source = source.detach().requires_grad_()
            return torch.autograd.grad(forward(torch)(source, *args, **kwargs), source, grad)[0]

        return run

    return find


def _aten(name):
    """Some kernels of theirs read strided indices as if they were dense."""

    def find(torch):
        theirs = getattr(torch.ops.aten, name)
        return lambda *args: theirs(*[a.contiguous() if isinstance(a, torch.Tensor) else a for a in args])

    return find


def _lifted(name):
    """PyTorch has it for planes only: a row of one plane."""

    def run(torch, grad, source, *args):
        *numbers, indices = args
        kernel = [[1, n or numbers[0]] for n in numbers[:2]] + [[0, numbers[2]], [1, 1]] if numbers else []
        ceil = numbers[4:]
        up = [t.unsqueeze(-2) for t in (grad, source, indices)]
        return getattr(torch.ops.aten, name)(*up[:2], *kernel, *ceil, up[2]).squeeze(-2)

    return lambda torch: lambda *args: run(torch, *args)


def _of_dtype(name):
    return lambda torch: lambda grad, out, dim: getattr(torch.ops.aten, name)(grad, out, dim, out.dtype)


def _norm_back(torch, name, grad, source, *args):
    """Theirs want contiguous tensors, masks, and weights where all gradients are asked for."""
    theirs, masks = getattr(torch.ops.aten, name), [True, True, True]
    grad, source = grad.contiguous(), source.contiguous()
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


def _rms_norm_back(torch):
    def run(grad, source, shape, weight, eps=None):
        source, weight = source.detach().requires_grad_(), weight.detach().requires_grad_()
        return torch.autograd.grad(torch.rms_norm(source, shape, weight, eps), (source, weight), grad)

    return run


def _pad_back(torch):
    def run(grad, size, pad, mode):
        source = torch.zeros(size, dtype=grad.dtype).requires_grad_()
        return torch.autograd.grad(torch.nn.functional.pad(source, pad, mode), source, grad)[0]

    return run


THEIRS = {
    "pad_backward": _pad_back,
    **{
        f"{kind}_pool{n}d_backward": _grad_of(
            lambda torch, kind=kind, n=n: getattr(torch.nn.functional, f"{kind}_pool{n}d")
        )
        for n in (1, 2, 3)
        for kind in ("avg",)
    },
    **{
        f"adaptive_avg_pool{n}d_backward": (
            lambda torch, n=n: (
                lambda grad, source: _grad_of(
                    lambda torch: getattr(torch.nn.functional, f"adaptive_avg_pool{n}d")
                )(torch)(grad, source, tuple(grad.shape[-n:]))
            )
        )
        for n in (1, 2, 3)
    },
    **{
        name: _aten(name)
        for name in (
            *("upsample_nearest2d_backward", "upsample_bilinear2d_backward"),
            "embedding_dense_backward",
        )
    },
    **{
        name: (lambda torch, name=name: lambda *args: _norm_back(torch, name, *args))
        for name in (
            *("native_batch_norm_backward", "native_layer_norm_backward"),
            "native_group_norm_backward",
        )
    },
    "rms_norm_backward": _rms_norm_back,
    **{
        f"max_pool{n}d_backward": _grad_of(lambda torch, n=n: getattr(torch.nn.functional, f"max_pool{n}d"))
        for n in (1, 2, 3)
    },
    **{
        name: _aten(name)
        for name in (
            *("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward"),
            *("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward", "threshold_backward"),
            *("nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward"),
            *("mse_loss", "mse_loss_backward", "native_group_norm"),
        )
    },
    "softmax_backward": _of_dtype("_softmax_backward_data"),
    "log_softmax_backward": _of_dtype("_log_softmax_backward_data"),
    "max_pool1d_with_indices_backward": _lifted("max_pool2d_with_indices_backward"),
    "adaptive_max_pool1d_backward": _lifted("adaptive_max_pool2d_backward"),
    **{f"conv{n}d_{which}": _conv_grad(n, which) for n in (1, 2, 3) for which in ("input", "weight")},
    "conv_bias": _channel_sum,
}
NARROWER = {(name, dtype) for name in SAMPLES for dtype in _WHOLE}  # integers have no gradients here


WIDER = {("avg_pool3d_backward", dtype) for dtype in ("float16", "bfloat16")}


def join(samples, theirs):
    """Adds these rows to what tests/opinfo.py has."""
    samples.update(SAMPLES)
    theirs.update(THEIRS)
