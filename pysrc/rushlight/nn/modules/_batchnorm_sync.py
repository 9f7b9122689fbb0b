"""Batch normalization over processes."""

from __future__ import annotations

from ._batchnorm_base import _BatchNorm
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import dtype
    from rushlight.types import Device


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
