"""Dropout."""

from __future__ import annotations

import warnings

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Apply dropout: in training, zero each element with probability `p`, independently.

    What is left is multiplied by ``1 / (1 - p)``, which keeps the mean.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    p : float, default 0.5
        Probability of an element to become 0.
    training : bool, default True
        Whether this is training; otherwise the input is returned.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.dropout:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.dropout.html

    References
    ----------
    G. Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012,
    https://arxiv.org/abs/1207.0580

    Examples
    --------
    >>> F.dropout(torch.ones(1000), p=0.2).unique()
    tensor([0.0000, 1.2500])
    >>> F.dropout(torch.ones(3), p=0.2, training=False)
    tensor([1., 1., 1.])
    """
    _check_probability(p)
    if not training or p == 0:
        return input
    return _C.dropout_(input, p, training) if inplace else _C.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha dropout, which keeps mean and variance of activations after `selu`.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    p : float, default 0.5
        Probability of an element to be masked.
    training : bool, default False
        Whether this is training; otherwise the input is returned.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.alpha_dropout:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.alpha_dropout.html

    References
    ----------
    G. Klambauer et al., "Self-normalizing neural networks", 2017, https://arxiv.org/abs/1706.02515

    Examples
    --------
    >>> F.alpha_dropout(torch.zeros(1000), p=0.5, training=True).unique()
    tensor([-0.7792,  0.7792])
    """
    _check_probability(p)
    return (_C.alpha_dropout_ if inplace else _C.alpha_dropout)(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Apply alpha dropout to whole channels, which keeps mean and variance of activations after `selu`.

    Parameters
    ----------
    input : Tensor
        Input, (N, C, ...).
    p : float, default 0.5
        Probability of a channel to be masked.
    training : bool, default False
        Whether this is training; otherwise the input is returned.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.feature_alpha_dropout:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.feature_alpha_dropout.html

    Examples
    --------
    >>> masked = F.feature_alpha_dropout(torch.zeros(1, 1000, 2), p=0.5, training=True)
    >>> (masked[..., 0] == masked[..., 1]).all()
    tensor(True)
    """
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
    """Apply dropout to whole channels of signals: in training, zero each channel with probability `p`.

    Parameters
    ----------
    input : Tensor
        Signals, (N, C, L) or (C, L).
    p : float, default 0.5
        Probability of a channel to become 0.
    training : bool, default True
        Whether this is training; otherwise nothing changes.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].
    RuntimeError
        If the input has other dimensions.

    Notes
    -----
    Same as torch.nn.functional.dropout1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.dropout1d.html

    Examples
    --------
    >>> F.dropout1d(torch.ones(1, 1000, 4), p=0.2).sum(-1).unique()
    tensor([0., 5.])
    """
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
    """Apply dropout to whole channels of images: in training, zero each channel with probability `p`.

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W). Three dimensions count as (N, C, L), with a warning.
    p : float, default 0.5
        Probability of a channel to become 0.
    training : bool, default True
        Whether this is training; otherwise nothing changes.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.dropout2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.dropout2d.html

    Examples
    --------
    >>> F.dropout2d(torch.ones(1, 1000, 2, 2), p=0.2).sum((-2, -1)).unique()
    tensor([0., 5.])
    """
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
    """Apply dropout to whole channels of volumes: in training, zero each channel with probability `p`.

    Parameters
    ----------
    input : Tensor
        Volumes, (N, C, D, H, W) or (C, D, H, W).
    p : float, default 0.5
        Probability of a channel to become 0.
    training : bool, default True
        Whether this is training; otherwise nothing changes.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.functional.dropout3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.dropout3d.html

    Examples
    --------
    >>> F.dropout3d(torch.ones(1, 1000, 2, 2, 1), p=0.2).sum((-3, -2, -1)).unique()
    tensor([0., 5.])
    """
    _check_probability(p)
    if input.dim() not in (4, 5):
        _warn_of_dims("dropout3d", 3, input.dim())
    return _drop_unbatched(input, p, training, inplace, input.dim() == 5)
