"""Whether tensors are equal, or nearly so."""

from __future__ import annotations

from . import _C
from ._tensor import _TYPE_NAMES, _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

_TITLE = {dtype: name[len("torch.") : -len("Tensor")] for dtype, name in _TYPE_NAMES.items()}


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: Tensor | float | None = 1e-05,
    atol: Tensor | float | None = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Test which elements of two tensors are close: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor, of the same dtype; shapes broadcast.
    rtol : float, default 1e-05
        Relative tolerance.
    atol : float, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        NaN is close to NaN.

    Returns
    -------
    Tensor
        Of bool.

    Raises
    ------
    RuntimeError
        If the dtypes differ or a tolerance is negative.

    Notes
    -----
    Same as torch.isclose: https://docs.pytorch.org/docs/2.13/generated/torch.isclose.html

    Examples
    --------
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    _need_tensor(input, "isclose", "input", 1)
    _need_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{_TITLE[input.dtype]} did not match {_TITLE[other.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    with_grad = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        close = input == other
        if equal_nan and input.is_floating_point():
            close = close | (_C.isnan(input) & _C.isnan(other))
        if rtol == 0 and atol == 0:
            return close
        right = other if other.is_floating_point() else other.to(_C.get_default_dtype())
        left = input.to(right.dtype) if input.dtype is _C.bool else input
        error = (left - right).abs()
        return close | (_C.isfinite(error) & (error <= (right * rtol).abs() + atol))
    finally:
        _C._set_grad_enabled(with_grad)


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: Tensor | float | None = 1e-05,
    atol: Tensor | float | None = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Test whether all elements of two tensors are close: ``abs(input - other) <= atol + rtol * abs(other)``.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor, of the same dtype; shapes broadcast.
    rtol : float, default 1e-05
        Relative tolerance.
    atol : float, default 1e-08
        Absolute tolerance.
    equal_nan : bool, default False
        NaN is close to NaN.

    Returns
    -------
    bool
        Whether all are.

    Raises
    ------
    RuntimeError
        If the dtypes differ or a tolerance is negative.

    Notes
    -----
    Same as torch.allclose: https://docs.pytorch.org/docs/2.13/generated/torch.allclose.html

    Examples
    --------
    >>> torch.allclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.0]))
    True
    """
    _need_tensor(input, "allclose", "input", 1)
    _need_tensor(other, "allclose", "other", 2)
    return isclose(input, other, rtol, atol, equal_nan).all().item()


def equal(input: Tensor, other: Tensor) -> bool:
    """Test whether two tensors have the same shape and the same elements.

    Parameters
    ----------
    input : Tensor
        First tensor.
    other : Tensor
        Second tensor.

    Returns
    -------
    bool
        Whether they have.

    Notes
    -----
    Same as torch.equal: https://docs.pytorch.org/docs/2.13/generated/torch.equal.html

    Examples
    --------
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    _need_tensor(input, "equal", "input", 1)
    _need_tensor(other, "equal", "other", 2)
    if input.is_meta:
        raise NotImplementedError("aten::equal: attempted to run this operator with Meta tensors")
    return _C._nn._equal(input, other).item()
