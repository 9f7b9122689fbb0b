"""Ranks, pseudoinverses and least squares."""

from __future__ import annotations

from . import _C
from ._C import _nn
from ._linalg_norms import _deliver
from ._linalg_products import _of_batch
from ._tensor import _need_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


_EPS = {_C.float32: 2**-23, _C.float64: 2**-52}


def _limit(value, A):
    if value is None or isinstance(value, _C.Tensor):
        return value if value is None or value.dtype in (_C.float32, _C.float64) else value.to(A.dtype)
    return _C.full((), float(value), dtype=A.dtype)


def pinv(
    input: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute the pseudoinverse (Moore-Penrose inverse) of matrices.

    Parameters
    ----------
    input : Tensor
        (..., m, n).
    rcond : float or Tensor, optional
        Older name of `rtol`.
    hermitian : bool, default False
        The matrices are symmetric.
    atol : float or Tensor, optional
        Singular values up to ``max(atol, rtol * largest)`` count as 0; 0 if not given.
    rtol : float or Tensor, optional
        See `atol`; the eps of the dtype times ``max(m, n)``, or 0 with `atol`, if not given.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (..., n, m).

    Notes
    -----
    Same as torch.linalg.pinv: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.pinv.html

    Examples
    --------
    >>> A = torch.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    >>> torch.linalg.pinv(A).abs()
    tensor([[0.5000, 0.0000, 0.0000],
            [0.0000, 0.2500, 0.0000]])
    """
    _need_tensor(input, "linalg_pinv", "input", 1)
    rtol = rcond if rcond is not None else rtol
    return _deliver(_nn._linalg_pinv(input, _limit(atol, input), _limit(rtol, input), hermitian), out)


def matrix_rank(
    input: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Compute the rank of matrices: the number of singular values that are not nearly 0.

    Parameters
    ----------
    input : Tensor
        (..., m, n), float32 or float64.
    tol : float or Tensor, optional
        Older name of `atol`, with ``rtol=0``.
    hermitian : bool, default False
        The matrices are symmetric.
    atol : float or Tensor, optional
        Singular values up to ``max(atol, rtol * largest)`` do not count; 0 if not given.
    rtol : float or Tensor, optional
        See `atol`; the eps of the dtype times ``max(m, n)``, or 0 with `atol`, if not given.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        (...), int64.

    Raises
    ------
    RuntimeError
        If there are less than 2 dimensions or the dtype is another.

    Notes
    -----
    Same as torch.linalg.matrix_rank:
    https://docs.pytorch.org/docs/2.13/generated/torch.linalg.matrix_rank.html

    Examples
    --------
    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    _need_tensor(input, "linalg_matrix_rank", "input", 1)
    if input.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    input = _C._autocast(input, "float32")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0
    with_grad = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        if input.numel() == 0:
            return _deliver(_C.zeros(input.shape[:-2], dtype=_C.int64), out)
        values = _nn.linalg_eigvalsh(input).abs() if hermitian else _nn.linalg_svdvals(input)
        absolute = _C.full((), 0.0, dtype=input.dtype) if atol is None else _limit(atol, input)
        if rtol is None:
            usual = _EPS[input.dtype] * max(input.shape[-2:])
            rtol = _C.where(absolute > 0, 0.0, usual)
        limit = _C.maximum(absolute, _limit(rtol, input) * values.amax(-1))
        return _deliver((values > limit.unsqueeze(-1)).sum(-1), out)
    finally:
        _C._set_grad_enabled(with_grad)


def lstsq(
    input: Tensor,
    b: Tensor,
    rcond: Tensor | float | None = None,
    *,
    driver: str | None = None,
    out: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solve linear least squares problems: the X for which the norm of A @ X - B is smallest.

    Parameters
    ----------
    input : Tensor
        A, (..., m, n).
    b : Tensor
        B, (..., m, k) or (..., m).
    rcond : float, optional
        Singular values up to it, relative to the largest, count as 0; the eps of the dtype times ``max(m,
        n)`` if not given.
    driver : {'gels', 'gelsy', 'gelsd', 'gelss'}, optional
        Method of LAPACK; 'gelsy' if not given.
    out : tuple of Tensors, optional
        Where the results go.

    Returns
    -------
    named tuple of 4 Tensors
        ``solution``, ``residuals`` (squared, if m > n and the rank is full), ``rank`` and
        ``singular_values``, each empty where the driver does not compute it.

    Raises
    ------
    RuntimeError
        If the shapes do not fit or the driver is unknown.

    Notes
    -----
    Same as torch.linalg.lstsq: https://docs.pytorch.org/docs/2.13/generated/torch.linalg.lstsq.html

    Examples
    --------
    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> X = torch.linalg.lstsq(A, torch.tensor([[1.0], [3.0], [5.0]])).solution
    >>> torch.allclose(X, torch.tensor([[1.0], [2.0]]), atol=1e-5)
    True
    """
    if out is not None:
        return _nn.linalg_lstsq(input, b, rcond, driver=driver, out=out)
    found = _nn.linalg_lstsq(input, b, rcond, driver=driver)
    solution, residuals, rank, values = found
    rank, values = (_of_batch(each, input.shape[:-2]) for each in (rank, values))
    if residuals.numel() and rank.numel() and not (rank == input.shape[-1]).all().item():
        residuals = residuals.flatten()[:0]
    return type(found)((solution, residuals, rank, values))
