"""Lazy batch and instance normalization."""

from __future__ import annotations

import rushlight
from rushlight.nn.parameter import UninitializedBuffer, UninitializedParameter

from . import batchnorm, instancenorm
from ._lazy_base import LazyModuleMixin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


class _LazyNormBase(LazyModuleMixin):
    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = rushlight.tensor(0, dtype=rushlight.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        waiting = (self.weight, self.bias, self.running_mean, self.running_var)
        for value in waiting:
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, batchnorm._BatchNorm):
    """Apply 1-D batch normalization; the first input tells `num_features`.

    After its first call the layer is a `BatchNorm1d`; `load_state_dict` settles shapes, too. The parameters
    are those of `BatchNorm1d` without `num_features`.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyBatchNorm1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyBatchNorm1d.html

    Examples
    --------
    >>> layer = nn.LazyBatchNorm1d()
    >>> _ = layer(torch.randn(2, 8, 20))
    >>> layer
    BatchNorm1d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = batchnorm.BatchNorm1d
    _check_input_dim = batchnorm.BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, batchnorm._BatchNorm):
    """Apply 2-D batch normalization; the first input tells `num_features`.

    After its first call the layer is a `BatchNorm2d`; `load_state_dict` settles shapes, too. The parameters
    are those of `BatchNorm2d` without `num_features`.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyBatchNorm2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyBatchNorm2d.html

    Examples
    --------
    >>> layer = nn.LazyBatchNorm2d()
    >>> _ = layer(torch.randn(2, 8, 20, 20))
    >>> layer
    BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = batchnorm.BatchNorm2d
    _check_input_dim = batchnorm.BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, batchnorm._BatchNorm):
    """Apply 3-D batch normalization; the first input tells `num_features`.

    After its first call the layer is a `BatchNorm3d`; `load_state_dict` settles shapes, too. The parameters
    are those of `BatchNorm3d` without `num_features`.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyBatchNorm3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyBatchNorm3d.html

    Examples
    --------
    >>> layer = nn.LazyBatchNorm3d()
    >>> _ = layer(torch.randn(2, 8, 9, 9, 9))
    >>> layer
    BatchNorm3d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = batchnorm.BatchNorm3d
    _check_input_dim = batchnorm.BatchNorm3d._check_input_dim


class LazyInstanceNorm1d(_LazyNormBase, instancenorm._InstanceNorm):
    """Apply 1-D instance normalization; the first input tells `num_features`.

    After its first call the layer is an `InstanceNorm1d`; `load_state_dict` settles shapes, too. The
    parameters are those of `InstanceNorm1d` without `num_features`, but `affine` and `track_running_stats`
    are True.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyInstanceNorm1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyInstanceNorm1d.html

    Examples
    --------
    >>> layer = nn.LazyInstanceNorm1d()
    >>> _ = layer(torch.randn(2, 8, 20))
    >>> layer
    InstanceNorm1d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = instancenorm.InstanceNorm1d
    _get_no_batch_dim = instancenorm.InstanceNorm1d._get_no_batch_dim


class LazyInstanceNorm2d(_LazyNormBase, instancenorm._InstanceNorm):
    """Apply 2-D instance normalization; the first input tells `num_features`.

    After its first call the layer is an `InstanceNorm2d`; `load_state_dict` settles shapes, too. The
    parameters are those of `InstanceNorm2d` without `num_features`, but `affine` and `track_running_stats`
    are True.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyInstanceNorm2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyInstanceNorm2d.html

    Examples
    --------
    >>> layer = nn.LazyInstanceNorm2d()
    >>> _ = layer(torch.randn(2, 8, 20, 20))
    >>> layer
    InstanceNorm2d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = instancenorm.InstanceNorm2d
    _get_no_batch_dim = instancenorm.InstanceNorm2d._get_no_batch_dim


class LazyInstanceNorm3d(_LazyNormBase, instancenorm._InstanceNorm):
    """Apply 3-D instance normalization; the first input tells `num_features`.

    After its first call the layer is an `InstanceNorm3d`; `load_state_dict` settles shapes, too. The
    parameters are those of `InstanceNorm3d` without `num_features`, but `affine` and `track_running_stats`
    are True.

    Raises
    ------
    ValueError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyInstanceNorm3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyInstanceNorm3d.html

    Examples
    --------
    >>> layer = nn.LazyInstanceNorm3d()
    >>> _ = layer(torch.randn(2, 8, 9, 9, 9))
    >>> layer
    InstanceNorm3d(8, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = instancenorm.InstanceNorm3d
    _get_no_batch_dim = instancenorm.InstanceNorm3d._get_no_batch_dim
