"""Activations that saturate, and gates: sigmoid, tanh, SiLU and their relatives."""

from __future__ import annotations

import rushlight
from rushlight.nn import functional as F

from ._activation_rectified import _Inplace
from .module import Module
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
