"""Linear layers."""

from __future__ import annotations

import math

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module
from .utils import wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["Bilinear", "Identity", "Linear"]


class Identity(Module):
    """Return the input unchanged: a placeholder for a layer.

    It takes any arguments and ignores them, so that it can stand in for another layer.

    Parameters
    ----------
    *args, **kwargs
        Ignored.

    Shape
    -----
    Input : any shape
    Output : the input itself

    Notes
    -----
    Same as torch.nn.Identity: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Identity.html

    Examples
    --------
    >>> layer = nn.Identity(54, unused=True)
    >>> x = torch.ones(2, 3)
    >>> layer(x) is x
    True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Apply a linear (fully connected, dense) transformation.

    The output is ``x @ weight.T + bias``.

    Parameters
    ----------
    in_features : int
        Size of the last dimension of the input.
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
    weight : Parameter
        (out_features, in_features), drawn from U(-k, k) with ``k = 1 / sqrt(in_features)``.
    bias : Parameter or None
        (out_features), drawn likewise.

    Shape
    -----
    Input : (*, in_features), any number of leading dimensions
    Output : (*, out_features)

    Raises
    ------
    RuntimeError
        When called, if the last dimension of the input is not `in_features`, or its dtype not the weight's.

    Notes
    -----
    Same as torch.nn.Linear: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Linear.html

    Examples
    --------
    >>> layer = nn.Linear(20, 30)
    >>> layer(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    >>> layer
    Linear(in_features=20, out_features=30, bias=True)
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        try:
            weight = rushlight.empty((out_features, in_features), device=device, dtype=dtype)
        except TypeError as error:
            raise wrong_size(error, in_features=in_features, out_features=out_features) from None
        self.weight = Parameter(weight)
        if bias:
            self.bias = Parameter(rushlight.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values, uniform within 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear with a class of its own, as attention has it behind its heads."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias=bias, device=device, dtype=dtype)


class Bilinear(Module):
    """Apply a bilinear transformation of two inputs.

    The output o is ``x1 @ weight[o] @ x2 + bias[o]``.

    Parameters
    ----------
    in1_features : int
        Size of the last dimension of the first input; greater than 0.
    in2_features : int
        Size of the last dimension of the second input.
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
    weight : Parameter
        (out_features, in1_features, in2_features), drawn from U(-k, k) with ``k = 1 / sqrt(in1_features)``.
    bias : Parameter or None
        (out_features), drawn likewise.

    Shape
    -----
    Input1 : (*, in1_features)
    Input2 : (*, in2_features), with the same leading dimensions
    Output : (*, out_features)

    Raises
    ------
    ValueError
        If `in1_features` is not positive.
    RuntimeError
        When called, if the sizes of the inputs do not fit.

    Notes
    -----
    Same as torch.nn.Bilinear: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Bilinear.html

    Examples
    --------
    >>> layer = nn.Bilinear(20, 30, 40)
    >>> layer(torch.randn(128, 20), torch.randn(128, 30)).shape
    torch.Size([128, 40])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]
    in1_features: int
    in2_features: int
    out_features: int

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        try:
            self.weight = Parameter(rushlight.empty(shape, device=device, dtype=dtype))
        except TypeError as error:
            sizes = {"in1_features": in1_features, "in2_features": in2_features, "out_features": out_features}
            raise wrong_size(error, **sizes) from None
        if bias:
            self.bias = Parameter(rushlight.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values, uniform within 1 / sqrt(in1_features)."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
