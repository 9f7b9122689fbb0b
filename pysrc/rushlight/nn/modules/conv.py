"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module
from .utils import _own_init, _pair, _reverse_repeat_tuple, _single, _triple, wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


# ---- convolutions, and what transposed ones share with them ----
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


def _same_padding(kernel_size, dilation):
    """Return what F.pad needs for an output as large as the input; the odd one goes to the right."""
    padding = []
    for k, d in zip(reversed(kernel_size), reversed(dilation)):
        total = d * (k - 1)
        padding += [total // 2, total - total // 2]
    return padding


def _wrong_size(error, in_channels, out_channels, groups, kernel_size):
    sizes = {"in_channels": in_channels, "out_channels": out_channels, "kernel_size": kernel_size}
    return wrong_size(error, **sizes, groups=groups)


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
        try:
            if groups <= 0:
                raise ValueError("groups must be a positive integer")
            if in_channels % groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            if out_channels % groups != 0:
                raise ValueError("out_channels must be divisible by groups")
        except TypeError as error:
            raise _wrong_size(error, in_channels, out_channels, groups, kernel_size) from None
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
        try:
            self.weight = Parameter(rushlight.empty((*shape, *kernel_size), device=device, dtype=dtype))
        except TypeError as error:
            raise _wrong_size(error, in_channels, out_channels, groups, kernel_size) from None
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
    """Apply 1-D convolution over signals or sequences with several channels.

    Each output channel is the sum, over the input channels of its group, of the cross-correlation with a
    learned kernel, plus a bias; `Conv2d` says more of each parameter.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output: the number of filters.
    kernel_size : int or tuple of 1 int
        Length of the kernel.
    stride : int or tuple of 1 int, default 1
        Step of the kernel over the input.
    padding : int, tuple of 1 int, 'valid' or 'same', default 0
        Elements added to each end.
    dilation : int or tuple of 1 int, default 1
        Distance between the elements of the kernel.
    groups : int, default 1
        Number of groups of channels that do not see each other.
    bias : bool, default True
        Add a learned bias.
    padding_mode : {'zeros', 'reflect', 'replicate', 'circular'}, default 'zeros'
        What the padding is filled with.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (out_channels, in_channels / groups, kernel_size), drawn from U(-k, k) with
        ``k = sqrt(groups / (in_channels * kernel_size))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, L_in) or (C_in, L_in)
    Output : (N, C_out, L_out) or (C_out, L_out), where
        ``L_out = floor((L_in + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)``

    Raises
    ------
    ValueError
        If `groups` does not divide both numbers of channels, or `padding` or `padding_mode` is not admitted.
    RuntimeError
        When called, if the size or dtype of the input does not fit.

    Notes
    -----
    Same as torch.nn.Conv1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Conv1d.html

    Examples
    --------
    >>> layer = nn.Conv1d(16, 33, kernel_size=3, stride=2)
    >>> layer(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _numbers = staticmethod(_single)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv1d, input, weight, bias)


@_own_init
class Conv2d(_Conv):
    """Apply 2-D convolution over images with several channels.

    Each output channel is the sum, over the input channels of its group, of the cross-correlation with a
    learned kernel, plus a bias::

        output[n, o] = bias[o] + sum(cross_correlate(input[n, c], weight[o, c]) for c in the group of o)

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output: the number of filters.
    kernel_size : int or tuple of 2 ints
        Height and width of the kernel; one number stands for both, here and below.
    stride : int or tuple of 2 ints, default 1
        Step of the kernel over the input.
    padding : int, tuple of 2 ints, 'valid' or 'same', default 0
        Rows and columns added to each side. 'valid' adds none, 'same' as many as keep the size of the input,
        which needs a stride of 1.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of the kernel.
    groups : int, default 1
        Number of groups into which the channels are split; each group of output channels sees its own group
        of input channels only. ``groups=in_channels`` is depthwise convolution.
    bias : bool, default True
        Add a learned bias.
    padding_mode : {'zeros', 'reflect', 'replicate', 'circular'}, default 'zeros'
        What the padding is filled with.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (out_channels, in_channels / groups, kernel_size[0], kernel_size[1]), drawn from U(-k, k) with
        ``k = sqrt(groups / (in_channels * kernel_size[0] * kernel_size[1]))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, H_in, W_in) or (C_in, H_in, W_in)
    Output : (N, C_out, H_out, W_out) or (C_out, H_out, W_out), where
        ``H_out = floor((H_in + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0] + 1)``
        and likewise ``W_out`` with index 1.

    Raises
    ------
    ValueError
        If `groups` is not positive or does not divide both numbers of channels, if `padding` or
        `padding_mode` is no such word, or if 'same' meets a stride other than 1.
    RuntimeError
        When called, if the input has another number of dimensions or channels, another dtype than the weight,
        or is smaller than the kernel.

    Notes
    -----
    Same as torch.nn.Conv2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Conv2d.html

    Examples
    --------
    >>> layer = nn.Conv2d(16, 33, kernel_size=3, stride=2)
    >>> layer(torch.randn(20, 16, 50, 100)).shape
    torch.Size([20, 33, 24, 49])
    >>> layer = nn.Conv2d(16, 33, (3, 5), padding="same", dilation=(3, 1))
    >>> layer(torch.randn(16, 50, 100)).shape
    torch.Size([33, 50, 100])
    """

    _numbers = staticmethod(_pair)

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode == "zeros":  # the commonest case, without a detour
            return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        return self._convolve(F.conv2d, input, weight, bias)


@_own_init
class Conv3d(_Conv):
    """Apply 3-D convolution over volumes or videos with several channels.

    Each output channel is the sum, over the input channels of its group, of the cross-correlation with a
    learned kernel, plus a bias; `Conv2d` says more of each parameter.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output: the number of filters.
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the kernel; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, default 1
        Step of the kernel over the input.
    padding : int, tuple of 3 ints, 'valid' or 'same', default 0
        Elements added to each side.
    dilation : int or tuple of 3 ints, default 1
        Distance between the elements of the kernel.
    groups : int, default 1
        Number of groups of channels that do not see each other.
    bias : bool, default True
        Add a learned bias.
    padding_mode : {'zeros', 'reflect', 'replicate', 'circular'}, default 'zeros'
        What the padding is filled with.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (out_channels, in_channels / groups, *kernel_size), drawn from U(-k, k) with
        ``k = sqrt(groups / (in_channels * prod(kernel_size)))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, D_in, H_in, W_in) or (C_in, D_in, H_in, W_in)
    Output : (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out), where for each side
        ``out = floor((in + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)``

    Raises
    ------
    ValueError
        If `groups` does not divide both numbers of channels, or `padding` or `padding_mode` is not admitted.
    RuntimeError
        When called, if the size or dtype of the input does not fit.

    Notes
    -----
    Same as torch.nn.Conv3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Conv3d.html

    Examples
    --------
    >>> layer = nn.Conv3d(4, 6, (3, 5, 2), stride=(2, 1, 1), padding=(4, 2, 0))
    >>> layer(torch.randn(2, 4, 10, 20, 20)).shape
    torch.Size([2, 6, 8, 20, 19])
    """

    _numbers = staticmethod(_triple)

    def _conv_forward(self, input, weight, bias):
        return self._convolve(F.conv3d, input, weight, bias)


# ---- transposed convolutions ----
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
    """Apply 1-D transposed convolution over signals with several channels.

    It spreads each element of the input over a window of the output: the gradient of `Conv1d` with respect to
    its input. `ConvTranspose2d` says more of each parameter.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output.
    kernel_size : int or tuple of 1 int
        Length of the kernel.
    stride : int or tuple of 1 int, default 1
        Step of the kernel over the output: by how much the signal grows.
    padding : int or tuple of 1 int, default 0
        Elements taken away from each end of the output.
    output_padding : int or tuple of 1 int, default 0
        Elements added at the end of the output.
    groups : int, default 1
        Number of groups of channels that do not see each other.
    bias : bool, default True
        Add a learned bias.
    dilation : int or tuple of 1 int, default 1
        Distance between the elements of the kernel.
    padding_mode : {'zeros'}, default 'zeros'
        No other is admitted.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (in_channels, out_channels / groups, kernel_size), drawn from U(-k, k) with
        ``k = sqrt(groups / (out_channels * kernel_size))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, L_in) or (C_in, L_in)
    Output : (N, C_out, L_out) or (C_out, L_out), where
        ``L_out = (L_in - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``

    Raises
    ------
    ValueError
        If `groups` does not divide both numbers of channels, `padding_mode` is not 'zeros', or, when called,
        `output_size` cannot be reached.
    RuntimeError
        When called, if the size or dtype of the input does not fit.

    Notes
    -----
    Same as torch.nn.ConvTranspose1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConvTranspose1d.html

    Examples
    --------
    >>> layer = nn.ConvTranspose1d(16, 33, kernel_size=3, stride=2)
    >>> layer(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 101])
    """

    _numbers = staticmethod(_single)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] | None = None) -> Tensor:
        """Return the transposed convolution of the input.

        Parameters
        ----------
        input : Tensor
            (N, C_in, L_in) or (C_in, L_in).
        output_size : sequence of ints, optional
            Size of the output, instead of the one that `output_padding` gives: (L_out) or all sizes.

        Returns
        -------
        Tensor

        Raises
        ------
        ValueError
            If this size cannot be reached.
        """
        return self._spread(F.conv_transpose1d, input, output_size)


@_own_init
class ConvTranspose2d(_ConvTransposeNd):
    """Apply 2-D transposed convolution over images with several channels.

    It spreads each element of the input over a window of the output: the gradient of `Conv2d` with respect to
    its input, hence also known as fractionally strided convolution or (wrongly) deconvolution. With the same
    parameters it turns the output size of `Conv2d` back into the input size.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output.
    kernel_size : int or tuple of 2 ints
        Height and width of the kernel; one number stands for both, here and below.
    stride : int or tuple of 2 ints, default 1
        Step of the kernel over the output: by how much the image grows.
    padding : int or tuple of 2 ints, default 0
        Rows and columns taken away from each side of the output.
    output_padding : int or tuple of 2 ints, default 0
        Rows and columns added at the bottom and right of the output, since `Conv2d` gives one size for
        several input sizes; smaller than the stride or the dilation.
    groups : int, default 1
        Number of groups of channels that do not see each other.
    bias : bool, default True
        Add a learned bias.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of the kernel.
    padding_mode : {'zeros'}, default 'zeros'
        No other is admitted.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (in_channels, out_channels / groups, kernel_size[0], kernel_size[1]), drawn from U(-k, k) with
        ``k = sqrt(groups / (out_channels * kernel_size[0] * kernel_size[1]))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, H_in, W_in) or (C_in, H_in, W_in)
    Output : (N, C_out, H_out, W_out) or (C_out, H_out, W_out), where
        ``H_out = (H_in - 1) * stride[0] - 2 * padding[0] + dilation[0] * (kernel_size[0] - 1)``
        ``+ output_padding[0] + 1`` and likewise ``W_out`` with index 1. A call may name the size instead:
        ``layer(input, output_size=(H_out, W_out))``.

    Raises
    ------
    ValueError
        If `groups` is not positive or does not divide both numbers of channels, if `padding_mode` is not
        'zeros', or, when called, if `output_size` cannot be reached.
    RuntimeError
        When called, if the size or dtype of the input or `output_padding` does not fit.

    Notes
    -----
    Same as torch.nn.ConvTranspose2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConvTranspose2d.html

    Examples
    --------
    >>> down = nn.Conv2d(16, 16, 3, stride=2, padding=1)
    >>> up = nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)
    >>> x = torch.randn(1, 16, 12, 12)
    >>> down(x).shape
    torch.Size([1, 16, 6, 6])
    >>> up(down(x)).shape
    torch.Size([1, 16, 11, 11])
    >>> up(down(x), output_size=x.size()).shape
    torch.Size([1, 16, 12, 12])
    """

    _numbers = staticmethod(_pair)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] | None = None) -> Tensor:
        """Return the transposed convolution of the input.

        Parameters
        ----------
        input : Tensor
            (N, C_in, H_in, W_in) or (C_in, H_in, W_in).
        output_size : sequence of ints, optional
            Size of the output, instead of the one that `output_padding` gives: (H_out, W_out) or all sizes.

        Returns
        -------
        Tensor

        Raises
        ------
        ValueError
            If this size cannot be reached.
        """
        return self._spread(F.conv_transpose2d, input, output_size)


@_own_init
class ConvTranspose3d(_ConvTransposeNd):
    """Apply 3-D transposed convolution over volumes with several channels.

    It spreads each element of the input over a window of the output: the gradient of `Conv3d` with respect to
    its input. `ConvTranspose2d` says more of each parameter.

    Parameters
    ----------
    in_channels : int
        Channels of the input.
    out_channels : int
        Channels of the output.
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the kernel; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, default 1
        Step of the kernel over the output: by how much the volume grows.
    padding : int or tuple of 3 ints, default 0
        Elements taken away from each side of the output.
    output_padding : int or tuple of 3 ints, default 0
        Elements added at one side of the output.
    groups : int, default 1
        Number of groups of channels that do not see each other.
    bias : bool, default True
        Add a learned bias.
    dilation : int or tuple of 3 ints, default 1
        Distance between the elements of the kernel.
    padding_mode : {'zeros'}, default 'zeros'
        No other is admitted.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (in_channels, out_channels / groups, *kernel_size), drawn from U(-k, k) with
        ``k = sqrt(groups / (out_channels * prod(kernel_size)))``.
    bias : Parameter or None
        (out_channels), drawn likewise.

    Shape
    -----
    Input : (N, C_in, D_in, H_in, W_in) or (C_in, D_in, H_in, W_in)
    Output : (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out), where for each side
        ``out = (in - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1``

    Raises
    ------
    ValueError
        If `groups` does not divide both numbers of channels, `padding_mode` is not 'zeros', or, when called,
        `output_size` cannot be reached.
    RuntimeError
        When called, if the size or dtype of the input does not fit.

    Notes
    -----
    Same as torch.nn.ConvTranspose3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConvTranspose3d.html

    Examples
    --------
    >>> layer = nn.ConvTranspose3d(4, 6, (3, 5, 2), stride=(2, 1, 1), padding=(0, 4, 2))
    >>> layer(torch.randn(2, 4, 10, 20, 20)).shape
    torch.Size([2, 6, 21, 16, 17])
    """

    _numbers = staticmethod(_triple)

    def forward(self, input: Tensor, output_size: int | tuple[int | None, ...] | None = None) -> Tensor:
        """Return the transposed convolution of the input.

        Parameters
        ----------
        input : Tensor
            (N, C_in, D_in, H_in, W_in) or (C_in, D_in, H_in, W_in).
        output_size : sequence of ints, optional
            Size of the output, instead of the one that `output_padding` gives: (D_out, H_out, W_out) or all
            sizes.

        Returns
        -------
        Tensor

        Raises
        ------
        ValueError
            If this size cannot be reached.
        """
        return self._spread(F.conv_transpose3d, input, output_size)
