"""Convolutions and what turns them round."""

from __future__ import annotations

import math

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module
from .utils import _own_init, _pair, _reverse_repeat_tuple, _single, _triple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


def _same_padding(kernel_size, dilation):
    """Return what F.pad needs for an output as large as the input; the odd one goes to the right."""
    padding = []
    for k, d in zip(reversed(kernel_size), reversed(dilation)):
        total = d * (k - 1)
        padding += [total // 2, total - total // 2]
    return padding


class _ConvNd(Module):
    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    in_channels: int
    out_channels: int
    transposed: bool
    groups: int
    padding_mode: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: int | tuple[int, ...],
        transposed: bool,
        output_padding: int | tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"],
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            words = {"same", "valid"}
            if padding not in words:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {words}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        if padding == "valid":
            self._reversed_padding_repeated_twice = [0, 0] * len(kernel_size)
        elif padding == "same":
            self._reversed_padding_repeated_twice = _same_padding(kernel_size, dilation)
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(rushlight.empty((*shape, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(rushlight.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values, uniform within 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"


class _Conv(_ConvNd):
    """What the convolutions share; _numbers makes as many numbers of one as there are sides."""

    _numbers = staticmethod(_pair)

    def __init__(
        self,
        in_channels: int,
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
        numbers = self._numbers
        super().__init__(
            in_channels,
            out_channels,
            numbers(kernel_size),
            numbers(stride),
            padding if isinstance(padding, str) else numbers(padding),
            numbers(dilation),
            False,
            numbers(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _convolve(self, convolution, input, weight, bias):
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _conv_forward(self, input, weight, bias):
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@_own_init
class Conv1d(_Conv):
    """Slides filters over signals (N, C, L); padding a number, 'same' or 'valid'."""

    _numbers = staticmethod(_single)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv1d, input, weight, bias)


@_own_init
class Conv2d(_Conv):
    """Slides filters over images (N, C, H, W); padding numbers, 'same' or 'valid'."""

    _numbers = staticmethod(_pair)

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode == "zeros":  # the commonest case, without a detour
            return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        return self._convolve(F.conv2d, input, weight, bias)


@_own_init
class Conv3d(_Conv):
    """Slides filters over volumes (N, C, D, H, W); padding numbers, 'same' or 'valid'."""

    _numbers = staticmethod(_triple)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv3d, input, weight, bias)


class _ConvTransposeNd(_ConvNd):
    _numbers = staticmethod(_pair)

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        numbers = self._numbers
        super().__init__(
            in_channels,
            out_channels,
            numbers(kernel_size),
            numbers(stride),
            numbers(padding),
            numbers(dilation),
            True,
            numbers(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None
    ):
        """Return what to add to the smallest output for one of output_size."""
        if output_size is None:
            return self.output_padding
        sides = num_spatial_dims
        before = 2 if input.dim() == sides + 2 else 1
        if len(output_size) == before + sides:
            output_size = output_size[before:]
        if len(output_size) != sides:
            raise ValueError(
                f"ConvTranspose{sides}D: for {input.dim()}D input, output_size must have {sides} "
                f"or {before + sides} elements (got {len(output_size)})"
            )
        least = [
            (input.size(before + d) - 1) * stride[d]
            - 2 * padding[d]
            + (1 if dilation is None else dilation[d]) * (kernel_size[d] - 1)
            + 1
            for d in range(sides)
        ]
        most = [size + s - 1 for size, s in zip(least, stride)]
        if any(not a <= size <= b for a, size, b in zip(least, output_size, most)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.size()[2:]})"
            )
        return [size - a for size, a in zip(output_size, least)]

    def _spread(self, convolution, input, output_size):
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        if not isinstance(self.padding, tuple):
            raise AssertionError("self.padding must be a tuple")
        more = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            len(self.kernel_size),
            self.dilation,
        )
        return convolution(
            input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation
        )


@_own_init
class ConvTranspose1d(_ConvTransposeNd):
    """Spreads signals (N, C, L) over larger ones: the gradient of Conv1d."""

    _numbers = staticmethod(_single)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] = None) -> Tensor:
        return self._spread(F.conv_transpose1d, input, output_size)


@_own_init
class ConvTranspose2d(_ConvTransposeNd):
    """Spreads images (N, C, H, W) over larger ones: the gradient of Conv2d."""

    _numbers = staticmethod(_pair)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] = None) -> Tensor:
        return self._spread(F.conv_transpose2d, input, output_size)


@_own_init
class ConvTranspose3d(_ConvTransposeNd):
    """Spreads volumes (N, C, D, H, W) over larger ones: the gradient of Conv3d."""

    _numbers = staticmethod(_triple)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] = None) -> Tensor:
        return self._spread(F.conv_transpose3d, input, output_size)
