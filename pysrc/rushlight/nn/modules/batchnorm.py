"""Batch normalization."""

from __future__ import annotations

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module
from .utils import _own_init, wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


# ---- what batch and instance normalization share: running statistics ----
class _NormBase(Module):
    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        try:
            for name, wanted in (("weight", affine), ("bias", affine and bias)):
                value = Parameter(rushlight.empty(num_features, **options)) if wanted else None
                self.register_parameter(name, value)
        except TypeError as error:
            raise wrong_size(error, num_features=num_features) from None
        if track_running_stats:
            self.register_buffer("running_mean", rushlight.zeros(num_features, **options))
            self.register_buffer("running_var", rushlight.ones(num_features, **options))
            count = rushlight.tensor(0, dtype=rushlight.int64, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics: set the mean to 0 and the variance to 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the statistics, set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = rushlight.tensor(0, dtype=rushlight.int64) if count is None else count
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


@_own_init
class _BatchNorm(_NormBase):
    def _average_factor(self) -> float:
        """Count the batch; return the weight of its statistics."""
        count = self.num_batches_tracked
        if self.training and self.track_running_stats and count is not None:
            count.add_(1)
            if self.momentum is None:  # all batches weigh the same
                return 1.0 / float(count)
        return 0.0 if self.momentum is None else self.momentum

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._average_factor()
        mean, var = self.running_mean, self.running_var
        from_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, factor, self.eps)


# ---- batch normalization ----
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


# ---- batch normalization over processes ----
class SyncBatchNorm(_BatchNorm):
    """Apply batch normalization over the batches of all processes.

    rushlight runs one process: this is batch normalization of inputs with any number of dimensions from 2,
    under a name and with a state dict that other programs can use. `BatchNorm2d` says more of each parameter.

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
        Keep running averages.
    process_group : optional
        Kept as an attribute, without effect.
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

    Shape
    -----
    Input : (N, C, *)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of fewer than two dimensions or without channels.

    Notes
    -----
    Same as torch.nn.SyncBatchNorm: https://docs.pytorch.org/docs/2.13/generated/torch.nn.SyncBatchNorm.html

    Examples
    --------
    >>> model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    >>> nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]
    SyncBatchNorm(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any | None = None,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Any:
        """Replace the batch normalization layers of a module by SyncBatchNorm layers.

        Parameters
        ----------
        module : Module
            Its layers are replaced in place; a module that is such a layer itself comes back as a new one.
        process_group : optional
            Kept by the new layers, without effect.

        Returns
        -------
        Module
            The module; the new layers share parameters and statistics with the old ones.
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias") if module.affine else ():
                setattr(converted, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(converted, name, getattr(module, name))
            if hasattr(module, "qconfig"):
                converted.qconfig = module.qconfig
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted
