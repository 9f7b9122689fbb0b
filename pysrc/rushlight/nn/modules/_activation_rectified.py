"""Activations that cut off: ReLU and its relatives."""

from __future__ import annotations

import warnings

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init as init_
from rushlight.nn.parameter import Parameter

from ._sizes import wrong_size
from .module import Module
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


def _inplace_text(module, comma=", ") -> str:
    return f"{comma}inplace=True" if module.inplace else ""


class _Inplace(Module):
    """An activation that can only choose to write into its input."""

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return _inplace_text(self, "")


@_own_init
class ReLU(_Inplace):
    """Apply the rectified linear unit (ReLU) activation: ``max(x, 0)``.

    Parameters
    ----------
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.ReLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReLU.html

    Examples
    --------
    >>> nn.ReLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class Hardtanh(Module):
    """Apply the hard tanh activation: limit x to [min_val, max_val].

    Parameters
    ----------
    min_val : float, default -1.0
        Smallest value of the output.
    max_val : float, default 1.0
        Largest value of the output.
    inplace : bool, default False
        Write the result into the input.
    min_value, max_value : float, optional
        Deprecated names of `min_val` and `max_val`, with a FutureWarning.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    AssertionError
        If `max_val` is not greater than `min_val`.

    Notes
    -----
    Same as torch.nn.Hardtanh: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Hardtanh.html

    Examples
    --------
    >>> nn.Hardtanh(-2.0, 2.0)(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-2.0000,  0.5000,  2.0000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]
    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`",
                    FutureWarning,
                    stacklevel=2,
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{_inplace_text(self)}"


class ReLU6(Hardtanh):
    """Apply the ReLU6 activation: limit x to [0, 6].

    Parameters
    ----------
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.ReLU6: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReLU6.html

    References
    ----------
    A. Krizhevsky, "Convolutional Deep Belief Networks on CIFAR-10", 2010.

    Examples
    --------
    >>> nn.ReLU6()(torch.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self, "")


class LeakyReLU(Module):
    """Apply the leaky ReLU activation.

    The output is x where it is positive, else ``negative_slope * x``.

    Parameters
    ----------
    negative_slope : float, default 0.01
        Slope for negative x.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.LeakyReLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LeakyReLU.html

    Examples
    --------
    >>> nn.LeakyReLU(0.1)(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1000,  0.0000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]
    inplace: bool
    negative_slope: float

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{_inplace_text(self)}"


class RReLU(Module):
    """Apply the randomized leaky ReLU activation.

    In training each negative element has a slope of its own, drawn from U(lower, upper); in evaluation all
    have ``(lower + upper) / 2``.

    Parameters
    ----------
    lower : float, default 1/8
        Least slope.
    upper : float, default 1/3
        Greatest slope.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if `lower` is greater than `upper`.

    Notes
    -----
    Same as torch.nn.RReLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RReLU.html

    References
    ----------
    B. Xu, N. Wang, T. Chen, M. Li, "Empirical Evaluation of Rectified Activations in Convolutional Network",
    2015, https://arxiv.org/abs/1505.00853

    Examples
    --------
    >>> nn.RReLU(0.1, 0.3).eval()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2000,  0.0000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]
    lower: float
    upper: float
    inplace: bool

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{_inplace_text(self)}"


class PReLU(Module):
    """Apply the parametric ReLU activation: a leaky ReLU whose slope is learned.

    The output is x where it is positive, else ``weight * x``, with one slope or one for each channel. Leave
    weight decay off for the slopes.

    Parameters
    ----------
    num_parameters : int, default 1
        1, or the number of channels of the input.
    init : float, default 0.25
        Starting value of the slopes.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (num_parameters), the slopes.

    Shape
    -----
    Input : (N, C, *) or any shape with one slope; the channels are dimension 1
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if there are several slopes, and not as many as channels.

    Notes
    -----
    Same as torch.nn.PReLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.PReLU.html

    References
    ----------
    K. He, X. Zhang, S. Ren, J. Sun, "Delving Deep into Rectifiers", 2015, https://arxiv.org/abs/1502.01852

    Examples
    --------
    >>> layer = nn.PReLU()
    >>> layer(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [-0.25, 0.0, 2.0]
    >>> nn.PReLU(3).weight
    Parameter containing:
    tensor([0.2500, 0.2500, 0.2500], requires_grad=True)
    """

    __constants__ = ["num_parameters"]
    num_parameters: int

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Device = None, dtype: dtype | None = None
    ) -> None:
        self.num_parameters = num_parameters
        super().__init__()
        self.init = init
        try:
            self.weight = Parameter(rushlight.empty(num_parameters, device=device, dtype=dtype))
        except TypeError as error:
            raise wrong_size(error, num_parameters=num_parameters) from None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every slope to init."""
        init_.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Threshold(Module):
    """Apply a threshold: x where it is greater than `threshold`, else `value`.

    Parameters
    ----------
    threshold : float
        What x must exceed to be kept.
    value : float
        What stands in the place of all other elements.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Threshold: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Threshold.html

    Examples
    --------
    >>> nn.Threshold(0.5, 20.0)(torch.tensor([0.0, 0.5, 1.0]))
    tensor([20., 20.,  1.])
    """

    __constants__ = ["threshold", "value", "inplace"]
    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{_inplace_text(self)}"
