"""Exponential and Gaussian linear units, and softplus."""

from __future__ import annotations

from rushlight.nn import functional as F

from ._activation_rectified import _Inplace, _inplace_text
from .module import Module
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
