"""Dropout."""

import math
import warnings

from rushlight import _C


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
    _check_probability(p)
    if not training or p == 0:
        return input
    return _C.dropout_(input, p, training) if inplace else _C.dropout(input, p, training)


def _noise(input, p, by_channel):
    """Return ones, zeros with probability p: one for each element, or for each channel of each example."""
    if not by_channel:
        return _C.empty_like(input).bernoulli_(1 - p)
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_empty([*input.shape[:2], *[1] * (input.dim() - 2)]).bernoulli_(1 - p)


def _drop(input, p, training, inplace, by_channel=False, alpha=False):
    if p == 0 or not training or input.numel() == 0:
        return input
    multiply = input.mul_ if inplace else input.mul
    if p == 1:
        return multiply(input.new_zeros(()))
    noise = _noise(input, p, by_channel)
    if not alpha:
        return multiply(noise.div_(1 - p))
    # dropped elements become selu's lower bound; scale and shift keep mean 0 and variance 1
    bound = 1.7580993408473766
    scale = 1.0 / math.sqrt((bound * bound * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(bound * scale).add_(bound * scale * p)
    return multiply(noise.mul_(scale)).add_(shift)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of what selu gives."""
    _check_probability(p)
    return _drop(input, p, training, inplace, alpha=True)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    _check_probability(p)
    return _drop(input, p, training, inplace, by_channel=True, alpha=True)


_CHANNEL_TEXT = (
    "Note that {name} exists to provide channel-wise dropout on inputs with {sides} spatial dimension{s}, a "
    "channel dimension, and an optional batch dimension (i.e. {low}D or {high}D inputs)."
)


def _drop_unbatched(input, p, training, inplace, batched):
    if batched:
        return _drop(input, p, training, inplace, by_channel=True)
    result = _drop(input.unsqueeze(0), p, training, inplace, by_channel=True)
    return input if inplace else result.squeeze(0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        why = _CHANNEL_TEXT.format(name="dropout1d", sides=1, s="", low=2, high=3)
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. {why}")
    return _drop_unbatched(input, p, training, inplace, input.dim() == 3)


def _warn_of_dims(name, sides, dim):
    why = _CHANNEL_TEXT.format(name=name, sides=sides, s="s", low=sides + 1, high=sides + 2)
    warnings.warn(
        f"{name}: Received a {dim}-D input to {name}, which is deprecated and will result in an error in a "
        f"future release. To retain the behavior and silence this warning, please use dropout instead. {why}",
        stacklevel=3,
    )


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, H, W)."""
    _check_probability(p)
    if input.dim() not in (3, 4):
        _warn_of_dims("dropout2d", 2, input.dim())
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
            "is desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior "
            "will change in a future release to interpret the input as one without a batch dimension, i.e. "
            "shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using "
            "dropout1d instead.",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, by_channel=True)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check_probability(p)
    if input.dim() not in (4, 5):
        _warn_of_dims("dropout3d", 3, input.dim())
    return _drop_unbatched(input, p, training, inplace, input.dim() == 5)
