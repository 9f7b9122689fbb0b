"""Random starting values."""

from __future__ import annotations

import math

import rushlight
from rushlight._C import _set_grad_enabled, is_grad_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Generator, Tensor


def _unrecorded(fill, *args, **kwargs):
    """Call it as within no_grad(), which costs more than the filling of a small tensor."""
    before = is_grad_enabled()
    _set_grad_enabled(False)
    try:
        return fill(*args, **kwargs)
    finally:
        _set_grad_enabled(before)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with random numbers of the uniform distribution U(a, b).

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    a : float, default 0.0
        Lower bound.
    b : float, default 1.0
        Upper bound.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.uniform_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.uniform_

    Examples
    --------
    >>> x = nn.init.uniform_(torch.empty(1000), -1.0, 1.0)
    >>> ((x >= -1) & (x < 1)).all()
    tensor(True)
    """
    return _unrecorded(tensor.uniform_, a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill a tensor with random numbers of the normal distribution N(mean, std**2).

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    mean : float, default 0.0
        Mean.
    std : float, default 1.0
        Standard deviation.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.normal_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.normal_

    Examples
    --------
    >>> x = nn.init.normal_(torch.empty(10000), mean=3.0, std=0.1)
    >>> abs(x.mean().item() - 3.0) < 0.01
    True
    """
    return _unrecorded(tensor.normal_, mean, std, generator=generator)


def _normal_share(x):
    """Return the share of normal numbers below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _reject_normal(tensor, mean, std, a, b, generator):
    """Draw normal numbers, again where they fall outside: good where most fall inside."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        again = rushlight.empty_like(result).normal_(mean, std, generator=generator)
        result = rushlight.where(outside, again, result)
    tensor.copy_(result)


def _reject_uniform(tensor, mean, std, a, b, generator):
    """Draw uniform numbers, again where a second draw exceeds their density: for the tails."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chance = rushlight.empty_like(tensor)

    def refused(numbers):
        log_density = numbers.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chance.uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = refused(result)
    while pending.any():
        numbers = rushlight.empty_like(tensor).uniform_(a, b, generator=generator)
        result = rushlight.where(pending, numbers, result)
        pending = pending & refused(numbers)
    tensor.copy_(result)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor with random numbers of the normal distribution, truncated to [a, b].

    It warns if the mean is more than two standard deviations outside of the bounds.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    mean : float, default 0.0
        Mean, before the truncation.
    std : float, default 1.0
        Standard deviation, before the truncation.
    a : float, default -2.0
        Lower bound.
    b : float, default 2.0
        Upper bound.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.trunc_normal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.trunc_normal_

    Examples
    --------
    >>> x = nn.init.trunc_normal_(torch.empty(1000), std=5.0)
    >>> (x.abs() <= 2).all()
    tensor(True)
    """
    if (mean < a - 2 * std) or (mean > b + 2 * std):
        import warnings

        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    inside = _normal_share((b - mean) / std) - _normal_share((a - mean) / std)
    with rushlight.no_grad():
        draw = _reject_normal if inside > 0.3 else _reject_uniform
        draw(tensor, mean, std, a, b, generator)
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with a random orthogonal matrix.

    Its rows, or its columns if there are more rows, are orthonormal. Dimensions after the first count as one.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    gain : float, default 1
        Factor of the matrix.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.orthogonal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.orthogonal_

    References
    ----------
    A. Saxe, J. McClelland, S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014, https://arxiv.org/abs/1312.6120

    Examples
    --------
    >>> q = nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(q @ q.T, torch.eye(3), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < drawn.size(1)
    q, r = rushlight.linalg.qr(drawn.t() if wide else drawn)
    q = q * rushlight.diag(r).sign()  # else Q would not be uniformly distributed
    with rushlight.no_grad():
        tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with random numbers of N(0, std**2), and a part of each column with zeros.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions.
    sparsity : float
        Part of each column to become 0.
    std : float, default 0.01
        Standard deviation of the others.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

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
    Same as torch.nn.init.sparse_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.sparse_

    References ---------- J. Martens, "Deep learning via Hessian-free optimization", 2010,
    https://icml.cc/Conferences/2010/papers/458.pdf

    Examples
    --------
    >>> w = nn.init.sparse_(torch.empty(10, 4), sparsity=0.3)
    >>> (w == 0).sum(0)
    tensor([3, 3, 3, 3])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with rushlight.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            for row in rushlight.randperm(rows)[:zeros].tolist():
                tensor[row, column] = 0
    return tensor
