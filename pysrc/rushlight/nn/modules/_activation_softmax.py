"""Softmax along a dimension, and shrinkage."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _own_init

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
