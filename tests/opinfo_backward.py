"""Samples of the backward rows, and what PyTorch calls them."""

from opinfo import S, x

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

SAMPLES = {**CONVOLUTIONS}


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


THEIRS = {
    **{f"conv{n}d_{which}": _conv_grad(n, which) for n in (1, 2, 3) for which in ("input", "weight")},
    "conv_bias": _channel_sum,
}
NARROWER = {(name, dtype) for name in SAMPLES for dtype in _WHOLE}  # integers have no gradients here


def join(samples, theirs):
    """Adds these rows to what tests/opinfo.py has."""
    samples.update(SAMPLES)
    theirs.update(THEIRS)
