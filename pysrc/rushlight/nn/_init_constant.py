"""Starting values that are the same each time."""

from __future__ import annotations

import rushlight

from ._init_random import _unrecorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with a constant.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    val : float
        The constant.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.constant_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.constant_

    Examples
    --------
    >>> nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    return _unrecorded(tensor.fill_, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with ones.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.ones_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.ones_

    Examples
    --------
    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with zeros.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.zeros_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.zeros_

    Examples
    --------
    >>> layer = nn.Linear(3, 2)
    >>> nn.init.zeros_(layer.bias)
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """
    return _unrecorded(tensor.zero_)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: 1 on the diagonal, 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has not 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.eye_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.eye_

    Examples
    --------
    >>> nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with rushlight.no_grad():
        tensor.copy_(rushlight.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that the layer returns its input.

    It is 1 in the middle of a kernel for each channel, 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 3, 4 or 5 dimensions.
    groups : int, default 1
        Number of groups of the convolution.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has other dimensions or the first size cannot be divided by `groups`.

    Notes
    -----
    Same as torch.nn.init.dirac_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.dirac_

    Examples
    --------
    >>> layer = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    >>> _ = nn.init.dirac_(layer.weight)
    >>> layer(torch.tensor([[1.0, 2.0, 3.0]])).detach()
    tensor([[1., 2., 3.]])
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with rushlight.no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(group * per_group + d, d, *middle)] = 1
    return tensor
