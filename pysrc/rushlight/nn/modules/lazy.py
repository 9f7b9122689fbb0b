"""Layers that learn the size of their input from the first one that they see."""

from __future__ import annotations

from itertools import chain

import rushlight
from rushlight.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from . import batchnorm, conv, instancenorm
from .linear import Linear
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


# ---- what lazy layers share: parameters that wait for the first input ----
class LazyModuleMixin:
    """Give a Module parameters without a shape, which its first input settles.

    The subclass has `UninitializedParameter` attributes and defines
    ``initialize_parameters(*args, **kwargs)``, which materializes them; the first call runs it before
    `forward`, and `load_state_dict` settles shapes as well. Then the module becomes a `cls_to_become`, if the
    subclass names that class.

    Notes
    -----
    Same as torch.nn.modules.lazy.LazyModuleMixin:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html

    Examples
    --------
    >>> class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = nn.UninitializedParameter()
    ...
    ...     def initialize_parameters(self, x):
    ...         self.factor.materialize((x.shape[-1],))
    ...         nn.init.ones_(self.factor)
    ...
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> layer = Scale()
    >>> layer(torch.zeros(2, 3)).shape, layer.factor.shape
    (torch.Size([2, 3]), torch.Size([3]))
    """

    cls_to_become = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        fleeting = self._non_persistent_buffers_set
        for registered, skipped in ((self._parameters, ()), (self._buffers, fleeting)):
            for name, value in registered.items():
                if value is not None and name not in skipped:
                    as_it_is = keep_vars or is_lazy(value)
                    destination[prefix + name] = value if as_it_is else value.detach()

    def _lazy_load_hook(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Give what waits for a shape the shape of what is about to be loaded."""
        for name, value in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(value) and not is_lazy(given):
                with rushlight.no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> Any:
        """Materialize what has no shape, for the arguments of the first call; subclasses override it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer still waits for its shape."""
        return any(is_lazy(value) for value in chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self, module, args, kwargs=None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """Apply a linear transformation; the first input tells `in_features`.

    After its first call the layer is a `Linear`; `load_state_dict` settles shapes, too.

    Parameters
    ----------
    out_features : int
        Size of the last dimension of the output.
    bias : bool, default True
        Add a learned bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight, bias : UninitializedParameter
        Parameters once the first input was seen.

    Notes
    -----
    Same as torch.nn.LazyLinear: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyLinear.html

    Examples
    --------
    >>> layer = nn.LazyLinear(5)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(torch.randn(2, 3)).shape
    torch.Size([2, 5])
    >>> layer
    Linear(in_features=3, out_features=5, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        given = input.shape[-1]
        if self.has_uninitialized_params():
            with rushlight.no_grad():
                self.in_features = given
                self.weight.materialize((self.out_features, given))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the weight came from a state dict
            known = self.weight.shape[-1]
            if given != known:
                raise AssertionError(
                    f"The in_features inferred from input: {given} is not equal to in_features from "
                    f"self.weight: {known}"
                )
            self.in_features = given


# ---- lazy convolutions ----
class _LazyConvXdMixin(LazyModuleMixin):
    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        self.weight.materialize((first, second // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input) -> int:
        unbatched = self._get_num_spatial_dims() + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input "
                f"to {self.__class__.__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-unbatched]

    def _get_num_spatial_dims(self) -> int:
        raise NotImplementedError

    def _wait(self, out_channels, bias, device, dtype) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._wait(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, ...] = 1,
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._wait(out_channels, bias, device, dtype)


@_own_init
class LazyConv1d(_LazyConv, conv.Conv1d):
    """Apply 1-D convolution; the first input tells `in_channels`.

    After its first call the layer is a `Conv1d`; `load_state_dict` settles shapes, too. The parameters are
    those of `Conv1d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConv1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConv1d.html

    Examples
    --------
    >>> layer = nn.LazyConv1d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 20))
    >>> layer
    Conv1d(8, 16, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = conv.Conv1d

    def _get_num_spatial_dims(self) -> int:
        return 1


@_own_init
class LazyConv2d(_LazyConv, conv.Conv2d):
    """Apply 2-D convolution; the first input tells `in_channels`.

    After its first call the layer is a `Conv2d`; `load_state_dict` settles shapes, too. The parameters are
    those of `Conv2d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConv2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConv2d.html

    Examples
    --------
    >>> layer = nn.LazyConv2d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 20, 20))
    >>> layer
    Conv2d(8, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = conv.Conv2d

    def _get_num_spatial_dims(self) -> int:
        return 2


@_own_init
class LazyConv3d(_LazyConv, conv.Conv3d):
    """Apply 3-D convolution; the first input tells `in_channels`.

    After its first call the layer is a `Conv3d`; `load_state_dict` settles shapes, too. The parameters are
    those of `Conv3d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConv3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConv3d.html

    Examples
    --------
    >>> layer = nn.LazyConv3d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 9, 9, 9))
    >>> layer
    Conv3d(8, 16, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    cls_to_become = conv.Conv3d

    def _get_num_spatial_dims(self) -> int:
        return 3


@_own_init
class LazyConvTranspose1d(_LazyConvTranspose, conv.ConvTranspose1d):
    """Apply 1-D transposed convolution; the first input tells `in_channels`.

    After its first call the layer is a `ConvTranspose1d`; `load_state_dict` settles shapes, too. The
    parameters are those of `ConvTranspose1d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConvTranspose1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConvTranspose1d.html

    Examples
    --------
    >>> layer = nn.LazyConvTranspose1d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 20))
    >>> layer
    ConvTranspose1d(8, 16, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = conv.ConvTranspose1d

    def _get_num_spatial_dims(self) -> int:
        return 1


@_own_init
class LazyConvTranspose2d(_LazyConvTranspose, conv.ConvTranspose2d):
    """Apply 2-D transposed convolution; the first input tells `in_channels`.

    After its first call the layer is a `ConvTranspose2d`; `load_state_dict` settles shapes, too. The
    parameters are those of `ConvTranspose2d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConvTranspose2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConvTranspose2d.html

    Examples
    --------
    >>> layer = nn.LazyConvTranspose2d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 20, 20))
    >>> layer
    ConvTranspose2d(8, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = conv.ConvTranspose2d

    def _get_num_spatial_dims(self) -> int:
        return 2


@_own_init
class LazyConvTranspose3d(_LazyConvTranspose, conv.ConvTranspose3d):
    """Apply 3-D transposed convolution; the first input tells `in_channels`.

    After its first call the layer is a `ConvTranspose3d`; `load_state_dict` settles shapes, too. The
    parameters are those of `ConvTranspose3d` without `in_channels`.

    Raises
    ------
    ValueError
        When called, if `groups` does not divide the channels of the input.
    RuntimeError
        When called, if the input has other dimensions.

    Notes
    -----
    Same as torch.nn.LazyConvTranspose3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyConvTranspose3d.html

    Examples
    --------
    >>> layer = nn.LazyConvTranspose3d(16, 3)
    >>> layer.weight
    <UninitializedParameter>
    >>> _ = layer(torch.randn(2, 8, 9, 9, 9))
    >>> layer
    ConvTranspose3d(8, 16, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    cls_to_become = conv.ConvTranspose3d

    def _get_num_spatial_dims(self) -> int:
        return 3


# ---- lazy batch and instance normalization ----
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
