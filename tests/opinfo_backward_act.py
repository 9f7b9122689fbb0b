"""Samples of the gradients of activations, and what PyTorch calls them."""

from opinfo import Placeholder, S, unit, x

_WHOLE = ("bool", "uint8", "int8", "int16", "int32", "int64")
# without NaN, which PyTorch treats in two ways: one in long runs of elements, another in strided ones
_BORDERS = (-60.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 60.0)


def _pairs(*numbers, second=x, **named):
    """(gradient, input, numbers) of every layout, with the places where pieces meet."""
    borders = Placeholder((len(_BORDERS),), values=_BORDERS, kinks=True)
    return [
        S(x(len(_BORDERS)), borders, *numbers, **named),
        *(S(x(*shape), second(*shape), *numbers, **named) for shape in ((2, 3, 4), (0, 3), ())),
    ]


SAMPLES = {
    "sigmoid_backward": _pairs(second=unit),
    "tanh_backward": _pairs(second=unit),
    "leaky_relu_backward": _pairs(0.1),
    "hardtanh_backward": _pairs(-1, 2),
    "clamp_backward": _pairs(-1, 2) + _pairs(None, 0.5) + _pairs(-0.5),
    "shrink_backward": _pairs(0.5),
    "hardsigmoid_backward": _pairs(),
    "hardswish_backward": _pairs(),
    "elu_backward": _pairs(1.5, 1, 1) + _pairs(1.7, 1.1, 0.5),
    "softplus_backward": _pairs(1, 20) + _pairs(2, 1),
    "silu_backward": _pairs(),
    "mish_backward": _pairs(),
    "log_sigmoid_backward": _pairs(),
    "gelu_backward": _pairs() + _pairs(approximate="tanh")[1:],  # NaN in theirs far out,
}
NARROWER = {(name, dtype) for name in SAMPLES for dtype in _WHOLE}  # integers have no gradients here


# ---- PyTorch's side ----
def _aten(name, *more):
    return lambda torch: lambda *args, **named: getattr(torch.ops.aten, name)(*args, *more, **named)


def _elu(torch):
    return lambda grad, source, *numbers: torch.ops.aten.elu_backward(grad, *numbers, False, source)


def _clamp(torch):
    def run(grad, source, low=None, high=None):
        inside = torch.ones_like(source, dtype=torch.bool)
        inside = inside if low is None else inside & (source >= low)
        inside = inside if high is None else inside & (source <= high)
        return torch.where(inside, grad, 0)

    return run


def _log_sigmoid(torch):
    def run(grad, source):
        buffer = torch.exp(-source.detach().abs())
        return torch.ops.aten.log_sigmoid_backward(grad, source, buffer)

    return run


THEIRS = {
    **{
        name: _aten(name)
        for name in (
            *("sigmoid_backward", "tanh_backward", "hardtanh_backward", "hardsigmoid_backward"),
            *("hardswish_backward", "softplus_backward", "silu_backward", "mish_backward", "gelu_backward"),
        )
    },
    "leaky_relu_backward": _aten("leaky_relu_backward", False),
    "shrink_backward": _aten("hardshrink_backward"),
    "clamp_backward": _clamp,
    "elu_backward": _elu,
    "log_sigmoid_backward": _log_sigmoid,
}


def join(samples, theirs):
    """Adds these rows to what tests/opinfo.py has."""
    samples.update(SAMPLES)
    theirs.update(THEIRS)
