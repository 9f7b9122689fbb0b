"""Sigmoids, gates and softmax."""

from __future__ import annotations

from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply SiLU, the sigmoid linear unit, also called swish: ``x * sigmoid(x)``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.silu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.silu.html

    References ---------- S. Elfwing, E. Uchibe, K. Doya, "Sigmoid-weighted linear units for neural network
    function approximation in reinforcement learning", 2017, https://arxiv.org/abs/1702.03118

    Examples
    --------
    >>> F.silu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply Mish: ``x * tanh(softplus(x))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.mish:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.mish.html

    References
    ----------
    D. Misra, "Mish: A self regularized non-monotonic activation function", 2019,
    https://arxiv.org/abs/1908.08681

    Examples
    --------
    >>> F.mish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply hardswish: ``x * relu6(x + 3) / 6``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.hardswish:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hardswish.html

    References
    ----------
    A. Howard et al., "Searching for MobileNetV3", 2019, https://arxiv.org/abs/1905.02244

    Examples
    --------
    >>> F.hardswish(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3333,  0.0000,  0.6667])
    """
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply hardsigmoid: ``relu6(x + 3) / 6``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.hardsigmoid:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hardsigmoid.html

    Examples
    --------
    >>> F.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Apply the gated linear unit (GLU): ``a * sigmoid(b)``, where `a` and `b` are the halves of the input.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, default -1
        Dimension that is halved; its size is even.

    Returns
    -------
    Tensor
        Shape of the input, with half the size along `dim`.

    Raises
    ------
    RuntimeError
        If the size along `dim` is odd or the input has no dimensions.

    Notes
    -----
    Same as torch.nn.functional.glu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.glu.html

    References
    ----------
    Y. Dauphin et al., "Language modeling with gated convolutional networks", 2017,
    https://arxiv.org/abs/1612.08083

    Examples
    --------
    >>> F.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def tanhshrink(input: Tensor) -> Tensor:
    """Apply tanhshrink: ``x - tanh(x)``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.tanhshrink:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.tanhshrink.html

    Examples
    --------
    >>> F.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """Apply softsign: ``x / (1 + abs(x))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softsign:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softsign.html

    Examples
    --------
    >>> F.softsign(torch.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (input.abs() + 1)


def sigmoid(input: Tensor) -> Tensor:
    """Apply the sigmoid, the logistic function: ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.sigmoid:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.sigmoid.html

    Examples
    --------
    >>> F.sigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Apply the hyperbolic tangent.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.tanh:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.tanh.html

    Examples
    --------
    >>> F.tanh(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """
    return input.tanh()


def _get_softmax_dim(name, ndim, stacklevel):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """Apply softmax along a dimension: ``exp(x) / sum(exp(x))``, which are probabilities that add up to 1.

    Losses of classes, such as cross_entropy(), take logits and need no softmax before them.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softmax:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softmax.html

    Examples
    --------
    >>> F.softmax(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), dim=1)
    tensor([[0.0900, 0.2447, 0.6652],
            [0.3333, 0.3333, 0.3333]])
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """Apply softmin along a dimension: softmax of ``-x``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softmin:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softmin.html

    Examples
    --------
    >>> F.softmin(torch.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([0.6652, 0.2447, 0.0900])
    """
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    """Apply the logarithm of softmax along a dimension, without overflow or loss of digits in between.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the probabilities add up to 1. Without it one is chosen, with a UserWarning: 0
        for inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.log_softmax:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.log_softmax.html

    Examples
    --------
    >>> F.log_softmax(torch.tensor([0.0, 1000.0]), dim=0)
    tensor([-1000.,     0.])
    """
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)
