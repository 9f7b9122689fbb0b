"""Batch normalization."""

from __future__ import annotations

from ._batchnorm_base import _BatchNorm


class BatchNorm1d(_BatchNorm):
    """Apply 1-D batch normalization over features or signals.

    Each feature or channel gets mean 0 and variance 1, then a scale and a shift:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and variance over the batch (and the
    signal) in training, running averages in evaluation; `BatchNorm2d` says how those are kept.

    Parameters
    ----------
    num_features : int
        Number of features or channels, C.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages; None weighs all batches the same.
    affine : bool, default True
        Learn weight and bias.
    track_running_stats : bool, default True
        Keep running averages. Without them evaluation normalizes by the batch, too.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.
    num_batches_tracked : Tensor or None
        Buffer of one int64: how many batches were seen.

    Shape
    -----
    Input : (N, C) or (N, C, L)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of other dimensions, or in training with one value for each channel only.
    RuntimeError
        When called, if the input has not `num_features` channels.

    Notes
    -----
    Same as torch.nn.BatchNorm1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.BatchNorm1d.html

    References
    ----------
    S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal
    Covariate Shift", 2015, https://arxiv.org/abs/1502.03167

    Examples
    --------
    >>> layer = nn.BatchNorm1d(2)
    >>> layer(torch.tensor([[0.0, 10.0], [2.0, 30.0]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> layer.running_mean
    tensor([0.1000, 2.0000])
    """

    def _check_input_dim(self, input) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Apply 2-D batch normalization over images with several channels.

    Each channel gets mean 0 and variance 1, then a scale and a shift:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and (biased) variance of each channel over
    the batch and the image. In training they are those of the batch, and running averages of them, of the
    unbiased variance, are kept: ``running = (1 - momentum) * running + momentum * batch``. In evaluation
    (``layer.eval()``) these averages are used.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance, so that nothing is divided by 0.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages; None weighs all batches the same.
    affine : bool, default True
        Learn weight and bias.
    track_running_stats : bool, default True
        Keep running averages. Without them evaluation normalizes by the batch, too.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.
    num_batches_tracked : Tensor or None
        Buffer of one int64: how many batches were seen.

    Shape
    -----
    Input : (N, C, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of other dimensions, or in training with one value for each channel only.
    RuntimeError
        When called, if the input has not `num_features` channels.

    Notes
    -----
    Same as torch.nn.BatchNorm2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.BatchNorm2d.html

    References
    ----------
    S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal
    Covariate Shift", 2015, https://arxiv.org/abs/1502.03167

    Examples
    --------
    >>> layer = nn.BatchNorm2d(3)
    >>> x = 5 + 2 * torch.randn(16, 3, 8, 8)
    >>> y = layer(x)
    >>> torch.allclose(y.mean((0, 2, 3)), torch.zeros(3), atol=1e-5)
    True
    >>> torch.allclose(layer.running_mean, 0.1 * x.mean((0, 2, 3)))
    True
    """

    def _check_input_dim(self, input) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Apply 3-D batch normalization over volumes with several channels.

    Each channel gets mean 0 and variance 1, then a scale and a shift:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and variance over the batch and the volume
    in training, running averages in evaluation; `BatchNorm2d` says how those are kept.

    Parameters
    ----------
    num_features : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance.
    momentum : float or None, default 0.1
        Weight of a new batch in the running averages; None weighs all batches the same.
    affine : bool, default True
        Learn weight and bias.
    track_running_stats : bool, default True
        Keep running averages. Without them evaluation normalizes by the batch, too.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.
    running_mean, running_var : Tensor or None
        (C), buffers, 0 and 1 at the start.
    num_batches_tracked : Tensor or None
        Buffer of one int64: how many batches were seen.

    Shape
    -----
    Input : (N, C, D, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of other dimensions, or in training with one value for each channel only.
    RuntimeError
        When called, if the input has not `num_features` channels.

    Notes
    -----
    Same as torch.nn.BatchNorm3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.BatchNorm3d.html

    References
    ----------
    S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal
    Covariate Shift", 2015, https://arxiv.org/abs/1502.03167

    Examples
    --------
    >>> layer = nn.BatchNorm3d(3, affine=False)
    >>> y = layer(torch.randn(4, 3, 5, 6, 7))
    >>> torch.allclose(y.var((0, 2, 3, 4), unbiased=False), torch.ones(3), atol=1e-4)
    True
    """

    def _check_input_dim(self, input) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")
