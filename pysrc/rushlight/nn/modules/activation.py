"""Activations, and the attention of several heads."""

from __future__ import annotations

import warnings

import rushlight
from rushlight import _C
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn import init as init_
from rushlight.nn.parameter import Parameter

from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .utils import _own_init, wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


# ---- activations that cut off: ReLU and its relatives ----
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


# ---- activations that saturate, and gates: sigmoid, tanh, SiLU and their relatives ----
class Sigmoid(Module):
    """Apply the sigmoid activation: ``1 / (1 + exp(-x))``.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Sigmoid: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Sigmoid.html

    Examples
    --------
    >>> nn.Sigmoid()(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1192, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return rushlight.sigmoid(input)


class Tanh(Module):
    """Apply the hyperbolic tangent activation.

    The output is ``(exp(x) - exp(-x)) / (exp(x) + exp(-x))``.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Tanh: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Tanh.html

    Examples
    --------
    >>> nn.Tanh()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return rushlight.tanh(input)


@_own_init
class SiLU(_Inplace):
    """Apply the sigmoid linear unit (SiLU, swish) activation: ``x * sigmoid(x)``.

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
    Same as torch.nn.SiLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.SiLU.html

    References
    ----------
    D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units (GELUs)", 2016, https://arxiv.org/abs/1606.08415; P.
    Ramachandran, B. Zoph, Q. Le, "Searching for Activation Functions", 2017, https://arxiv.org/abs/1710.05941

    Examples
    --------
    >>> nn.SiLU()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


@_own_init
class Mish(_Inplace):
    """Apply the Mish activation: ``x * tanh(softplus(x))``.

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
    Same as torch.nn.Mish: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Mish.html

    References
    ----------
    D. Misra, "Mish: A Self Regularized Non-Monotonic Neural Activation Function", 2019,
    https://arxiv.org/abs/1908.08681

    Examples
    --------
    >>> nn.Mish()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


@_own_init
class Hardswish(_Inplace):
    """Apply the hard swish activation: ``x * relu6(x + 3) / 6``.

    It comes near to `SiLU`.

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
    Same as torch.nn.Hardswish: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Hardswish.html

    References
    ----------
    A. Howard et al., "Searching for MobileNetV3", 2019, https://arxiv.org/abs/1905.02244

    Examples
    --------
    >>> nn.Hardswish()(torch.tensor([-1.5, 0.0, 1.0, 3.0]))
    tensor([-0.3750,  0.0000,  0.6667,  3.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    extra_repr = Module.extra_repr


@_own_init
class Hardsigmoid(_Inplace):
    """Apply the hard sigmoid activation: ``relu6(x + 3) / 6``.

    Its straight lines come near to `Sigmoid`.

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
    Same as torch.nn.Hardsigmoid: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Hardsigmoid.html

    Examples
    --------
    >>> nn.Hardsigmoid()(torch.tensor([-3.0, 0.0, 1.5, 3.0]))
    tensor([0.0000, 0.5000, 0.7500, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    extra_repr = Module.extra_repr


class GLU(Module):
    """Apply the gated linear unit (GLU) activation.

    The first half of the input is multiplied by the sigmoid of the second.

    Parameters
    ----------
    dim : int, default -1
        Dimension that is cut into halves.

    Shape
    -----
    Input : (*1, N, *2), where N, at `dim`, is even
    Output : (*1, N / 2, *2)

    Raises
    ------
    RuntimeError
        When called, if the size of `dim` is odd, or the input has no dimension.

    Notes
    -----
    Same as torch.nn.GLU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GLU.html

    References
    ----------
    Y. Dauphin, A. Fan, M. Auli, D. Grangier, "Language Modeling with Gated Convolutional Networks", 2016,
    https://arxiv.org/abs/1612.08083

    Examples
    --------
    >>> nn.GLU()(torch.tensor([[1.0, 2.0, 0.0, 0.0]]))
    tensor([[0.5000, 1.0000]])
    """

    __constants__ = ["dim"]
    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softsign(Module):
    """Apply the softsign activation: ``x / (1 + |x|)``.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Softsign: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softsign.html

    Examples
    --------
    >>> nn.Softsign()(torch.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class LogSigmoid(Module):
    """Apply the logarithm of the sigmoid.

    The output, ``log(1 / (1 + exp(-x)))``, stays exact for very negative x.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.LogSigmoid: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LogSigmoid.html

    Examples
    --------
    >>> nn.LogSigmoid()(torch.tensor([-100.0, 0.0, 2.0]))
    tensor([-100.0000,   -0.6931,   -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


# ---- exponential and Gaussian linear units, and softplus ----
@_own_init
class SELU(_Inplace):
    """Apply the scaled exponential linear unit (SELU) activation.

    The output is ``scale * elu(x, alpha)``. The constants, ``scale = 1.0507...`` and ``alpha = 1.6732...``,
    let a network of such layers keep mean 0 and variance 1. Its weights start from
    ``init.kaiming_normal_(nonlinearity='linear')``, its dropout is `AlphaDropout`.

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
    Same as torch.nn.SELU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.SELU.html

    References
    ----------
    G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-Normalizing Neural Networks", 2017,
    https://arxiv.org/abs/1706.02515

    Examples
    --------
    >>> nn.SELU()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class ELU(Module):
    """Apply the exponential linear unit (ELU) activation.

    The output is x where it is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    alpha : float, default 1.0
        Size of the limit, ``-alpha``, for very negative x.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.ELU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ELU.html

    References
    ----------
    D. Clevert, T. Unterthiner, S. Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear
    Units (ELUs)", 2015, https://arxiv.org/abs/1511.07289

    Examples
    --------
    >>> nn.ELU()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.6321,  0.0000,  1.0000])
    """

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace_text(self)}"


class CELU(Module):
    """Apply the continuously differentiable ELU (CELU) activation.

    The output is ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``, an `ELU` whose slope at 0 is 1 for
    every alpha.

    Parameters
    ----------
    alpha : float, default 1.0
        Size of the limit, ``-alpha``, for very negative x; not 0.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if `alpha` is 0.

    Notes
    -----
    Same as torch.nn.CELU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CELU.html

    References
    ----------
    J. Barron, "Continuously Differentiable Exponential Linear Units", 2017, https://arxiv.org/abs/1704.07483

    Examples
    --------
    >>> nn.CELU(alpha=2.0)(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7869,  0.0000,  1.0000])
    """

    __constants__ = ["alpha", "inplace"]
    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace_text(self)}"


class GELU(Module):
    """Apply the Gaussian error linear unit (GELU) activation: ``x * Phi(x)``.

    ``Phi`` is the cumulative distribution function of the standard normal distribution,
    ``(1 + erf(x / sqrt(2))) / 2``. With ``approximate='tanh'`` the layer computes
    ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``, as some published models do.

    Parameters
    ----------
    approximate : {'none', 'tanh'}, default 'none'
        Which of the two formulas.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if `approximate` is no such word.

    Notes
    -----
    Same as torch.nn.GELU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GELU.html

    References
    ----------
    D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units (GELUs)", 2016, https://arxiv.org/abs/1606.08415

    Examples
    --------
    >>> nn.GELU()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    >>> nn.GELU(approximate="tanh")(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1588,  0.0000,  0.8412])
    """

    __constants__ = ["approximate"]
    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """Apply the softplus activation, a smooth ReLU.

    The output is ``log(1 + exp(beta * x)) / beta``, and x itself where ``beta * x > threshold``.

    Parameters
    ----------
    beta : float, default 1.0
        How sharp the bend at 0 is.
    threshold : float, default 20.0
        From where on the function is linear.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Softplus: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softplus.html

    Examples
    --------
    >>> nn.Softplus()(torch.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """

    __constants__ = ["beta", "threshold"]
    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


# ---- softmax along a dimension, and shrinkage ----
class _Shrink(Module):
    __constants__ = ["lambd"]
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


@_own_init
class Hardshrink(_Shrink):
    """Apply the hard shrinkage activation: x where ``|x| > lambd``, else 0.

    Parameters
    ----------
    lambd : float, default 0.5
        Size up to which elements become 0.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Hardshrink: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Hardshrink.html

    Examples
    --------
    >>> nn.Hardshrink()(torch.tensor([-1.0, 0.25, 1.0]))
    tensor([-1.,  0.,  1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


@_own_init
class Softshrink(_Shrink):
    """Apply the soft shrinkage activation.

    x is brought nearer to 0 by `lambd`, and 0 where ``|x| <= lambd``.

    Parameters
    ----------
    lambd : float, default 0.5
        By how much; not negative.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if `lambd` is negative.

    Notes
    -----
    Same as torch.nn.Softshrink: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softshrink.html

    Examples
    --------
    >>> nn.Softshrink()(torch.tensor([-1.0, 0.25, 1.0]))
    tensor([-0.5000,  0.0000,  0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """Apply the tanh shrinkage activation: ``x - tanh(x)``.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Notes
    -----
    Same as torch.nn.Tanhshrink: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Tanhshrink.html

    Examples
    --------
    >>> nn.Tanhshrink()(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2384,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _Softmax(Module):
    __constants__ = ["dim"]
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


@_own_init
class Softmax(_Softmax):
    """Apply softmax along a dimension: ``exp(x) / sum(exp(x))``.

    The results are probabilities that add up to 1. The largest element is subtracted first, so that ``exp``
    does not overflow. `CrossEntropyLoss` takes logits, `NLLLoss` the output of `LogSoftmax`: neither wants a
    softmax before it.

    Parameters
    ----------
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    IndexError
        When called, if the input has no such dimension.

    Notes
    -----
    Same as torch.nn.Softmax: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softmax.html

    Examples
    --------
    >>> nn.Softmax(dim=1)(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]))
    tensor([[0.0900, 0.2447, 0.6652],
            [0.3333, 0.3333, 0.3333]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


@_own_init
class LogSoftmax(_Softmax):
    """Apply the logarithm of softmax along a dimension: ``x - log(sum(exp(x)))``.

    It is more exact than `Softmax` followed by a logarithm; `NLLLoss` takes its output.

    Parameters
    ----------
    dim : int, optional
        Dimension along which the exponentials of the results add up to 1. Without it one is chosen, with a
        UserWarning: 0 for inputs of 0, 1 or 3 dimensions, else 1.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    IndexError
        When called, if the input has no such dimension.

    Notes
    -----
    Same as torch.nn.LogSoftmax: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LogSoftmax.html

    Examples
    --------
    >>> nn.LogSoftmax(dim=1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[-2.4076, -1.4076, -0.4076]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


@_own_init
class Softmin(_Softmax):
    """Apply softmin along a dimension: the softmax of ``-x``.

    The smallest elements weigh most.

    Parameters
    ----------
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    IndexError
        When called, if the input has no such dimension.

    Notes
    -----
    Same as torch.nn.Softmin: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softmin.html

    Examples
    --------
    >>> nn.Softmin(dim=1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0.6652, 0.2447, 0.0900]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Apply softmax over the channels at each place of an image.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of other dimensions.

    Notes
    -----
    Same as torch.nn.Softmax2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Softmax2d.html

    Examples
    --------
    >>> out = nn.Softmax2d()(torch.randn(2, 3, 4, 5))
    >>> torch.allclose(out.sum(dim=1), torch.ones(2, 4, 5))
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


# ---- multiheadAttention, which stands in torch.nn.modules.activation ----
_DEVICES = ("cpu", "cuda")


def _may_skip_history(tensors):
    """Whether inference's private operators may take these: no class is asked, no gradient wanted."""
    present = [t for t in tensors if t is not None]
    if _C._has_torch_function(present) or any(t.device.type not in _DEVICES for t in present):
        return False
    return not (_C.is_grad_enabled() and any(t.requires_grad for t in present))


class MultiheadAttention(Module):
    """Apply multi-head attention.

    Each query takes the mean of the values, weighted by the likeness of their keys. Queries, keys and values
    are projected into `num_heads` subspaces of ``head_dim = embed_dim / num_heads`` features; in each,
    ``softmax(q @ k.T / sqrt(head_dim)) @ v``; the results are concatenated and projected.

    Parameters
    ----------
    embed_dim : int
        Features of query and output, E.
    num_heads : int
        Number of heads; divides `embed_dim`.
    dropout : float, default 0.0
        Probability of dropout on the weights of attention, in training.
    bias : bool, default True
        Give the projections biases.
    add_bias_kv : bool, default False
        Learn one more key and value for all sequences.
    add_zero_attn : bool, default False
        Add a key and a value of zeros.
    kdim : int, optional
        Features of the key; `embed_dim` if not given.
    vdim : int, optional
        Features of the value; `embed_dim` if not given.
    batch_first : bool, default False
        Batches come first: (N, L, E) instead of (L, N, E).
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    in_proj_weight : Parameter or None
        (3 * E, E), the projections of query, key and value, where all have E features, else None.
    q_proj_weight, k_proj_weight, v_proj_weight : Parameter or None
        (E, E), (E, kdim) and (E, vdim), where they have not.
    in_proj_bias : Parameter or None
        (3 * E).
    out_proj : Linear
        From E to E features.

    Shape
    -----
    query : (L, N, E), (N, L, E) with `batch_first`, or (L, E)
    key : (S, N, kdim), (N, S, kdim) or (S, kdim)
    value : (S, N, vdim), (N, S, vdim) or (S, vdim)
    key_padding_mask : (N, S) or (S), bool, True where a key is not seen, or float, added to the scores
    attn_mask : (L, S) or (N * num_heads, L, S), likewise
    Output : shape of `query`, and the weights of attention: (N, L, S), the mean over the heads,
        (N, num_heads, L, S) with ``average_attn_weights=False``, or None with ``need_weights=False``

    Raises
    ------
    ValueError
        If `embed_dim` or `num_heads` is not positive.
    AssertionError
        If `num_heads` does not divide `embed_dim`, or, when called, if shapes do not fit.
    RuntimeError
        When called, if the shape of `attn_mask` does not fit.

    Notes
    -----
    ``need_weights=False`` is faster. In evaluation, where no gradient is wanted, self-attention over a batch
    that comes first takes one fused operator; a row that sees no key is NaN there.
    Same as torch.nn.MultiheadAttention:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiheadAttention.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> attention = nn.MultiheadAttention(embed_dim=16, num_heads=4, batch_first=True)
    >>> query, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    >>> output, weights = attention(query, memory, memory)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 16]), torch.Size([2, 5, 7]))
    """

    __constants__ = ["batch_first"]
    bias_k: rushlight.Tensor | None
    bias_v: rushlight.Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: Any = None,
        vdim: Any = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        try:
            empty = embed_dim <= 0 or num_heads <= 0
        except TypeError as error:
            raise wrong_size(error, embed_dim=embed_dim, num_heads=num_heads) from None
        if empty:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        made = {"device": device, "dtype": dtype}
        self._register_projections(bias, made)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            one = Parameter(rushlight.empty((1, 1, embed_dim), **made)) if add_bias_kv else None
            setattr(self, name, one)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias, made) -> None:
        size, packed = self.embed_dim, self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": None if packed else (size, size),
            "k_proj_weight": None if packed else (size, self.kdim),
            "v_proj_weight": None if packed else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if packed else None,
            "in_proj_bias": (3 * size,) if bias else None,
        }
        # those that are there come first, which state_dict and parameters() show
        for name in sorted(shapes, key=lambda name: (name == "in_proj_bias", shapes[name] is None)):
            shape = shapes[name]
            self.register_parameter(name, shape and Parameter(rushlight.empty(shape, **made)))

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)  # which pickles of the first versions lack
        super().__setstate__(state)

    def _fast_path(self, query, key, value, masks) -> bool:
        """Whether the private operator of inference takes this call; masks are as they were given."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if (
            self.training
            or not self.batch_first
            or query is not key
            or key is not value
            or query.dim() != 3
            or weight is None
            or bias is None
            or not self._qkv_same_embed_dim
            or self.num_heads % 2 != 0
            or self.bias_k is not None
            or self.bias_v is not None
            or self.add_zero_attn
            or not query.dtype == weight.dtype == bias.dtype
        ):
            return False
        if any(mask is not None and mask.is_floating_point() for mask in masks):
            return False
        if not rushlight.backends.mha.get_fastpath_enabled() or rushlight.is_autocast_enabled():
            return False
        return _may_skip_history((query, weight, bias, self.out_proj.weight, self.out_proj.bias))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output and the weights of attention.

        Parameters
        ----------
        query, key, value : Tensor
            Shaped as the class says.
        key_padding_mask : Tensor, optional
            (N, S) or (S): True, or a number that is added to the scores such as -inf, where a key is not
            seen.
        need_weights : bool, default True
            Return the weights; False is faster.
        attn_mask : Tensor, optional
            (L, S) or (N * num_heads, L, S), likewise for each query.
        average_attn_weights : bool, default True
            Return the mean of the weights over the heads instead of all.
        is_causal : bool, default False
            Hint that `attn_mask`, which must be given, is the causal mask.

        Returns
        -------
        (Tensor, Tensor or None)
            Output and weights, shaped as the class says.
        """
        fast = self._fast_path(query, key, value, (key_padding_mask, attn_mask))
        is_batched = query.dim() == 3
        key_padding_mask = F._canonical_mask(
            key_padding_mask, "key_padding_mask", F._none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if fast:
            mask, mask_type = self.merge_masks(attn_mask, key_padding_mask, query)
            return rushlight._native_multi_head_attention(
                query,
                key,
                value,
                self.embed_dim,
                self.num_heads,
                self.in_proj_weight,
                self.in_proj_bias,
                self.out_proj.weight,
                self.out_proj.bias,
                mask,
                need_weights,
                average_attn_weights,
                mask_type,
            )
        turn = self.batch_first and is_batched
        if turn:
            same_key, same_value = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(1, 0) if turn else output, weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks as one for query (N, L, E), and its type.

        None and None; a padding mask as it is and 1; else a mask (N, num_heads, L, L) and 2.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
