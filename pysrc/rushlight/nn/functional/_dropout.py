"""Dropout."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the rest by 1 / (1 - p)."""
    _check_probability(p)
    if not training or p == 0:
        return input
    return _C.dropout_(input, p, training) if inplace else _C.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what selu gives."""
    _check_probability(p)
    return (_C.alpha_dropout_ if inplace else _C.alpha_dropout)(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels."""
    _check_probability(p)
    return (_C.feature_alpha_dropout_ if inplace else _C.feature_alpha_dropout)(input, p, training)


def _drop_channels(input, p, training, inplace):
    return (_C.feature_dropout_ if inplace else _C.feature_dropout)(input, p, training)


_CHANNEL_TEXT = (
    "Note that {name} exists to provide channel-wise dropout on inputs with {sides} spatial dimension{s}, a "
    "channel dimension, and an optional batch dimension (i.e. {low}D or {high}D inputs)."
)


def _drop_unbatched(input, p, training, inplace, batched):
    if batched:
        return _drop_channels(input, p, training, inplace)
    result = _drop_channels(input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
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


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
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
    return _drop_channels(input, p, training, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    _check_probability(p)
    if input.dim() not in (4, 5):
        _warn_of_dims("dropout3d", 3, input.dim())
    return _drop_unbatched(input, p, training, inplace, input.dim() == 5)
