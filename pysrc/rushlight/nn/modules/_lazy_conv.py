"""Lazy convolutions."""

from __future__ import annotations

from rushlight.nn.parameter import UninitializedParameter

from . import conv
from ._lazy_base import LazyModuleMixin
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


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
