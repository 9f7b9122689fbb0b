"""Windows of signal processing. https://docs.pytorch.org/docs/2.13/torch.html#spectral-ops"""

from __future__ import annotations

from math import pi

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import dtype


def _window(name, compute, window_length, periodic, dtype, options):
    """Return compute(0, 1, ..., the last index), whose period is one more when ``periodic``."""
    requires_grad, out = options.pop("requires_grad", False), options.pop("out", None)
    options.pop("layout", None)
    pin_memory = options.pop("pin_memory", False)
    _C.empty(0, pin_memory=pin_memory)  # can it be?
    dtype = dtype or (out.dtype if out is not None else _C.get_default_dtype())
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if window_length < 2:
        window = _C.ones(window_length, dtype=dtype, **options)
    else:
        n = window_length + 1 if periodic else window_length
        window = compute(_C.arange(n, dtype=dtype, **options), n)
        window = window.narrow(0, 0, window_length).clone() if periodic else window
    if out is not None:
        return _C.add(window, 0, out=out)
    window = window.pin_memory() if pin_memory else window
    return window.requires_grad_() if requires_grad else window


def hamming_window(
    window_length: Any,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: dtype | None = None,
    **options: Any,
) -> Any:
    """Make a Hamming window: ``alpha - beta * cos(2 * pi * n / (N - 1))``.

    Parameters
    ----------
    window_length : int
        Number of elements.
    periodic : bool, default True
        One period of a periodic function, for a Fourier transform, with N one more than the length; else
        symmetric.
    alpha : float, default 0.54
        See the formula.
    beta : float, default 0.46
        See the formula.
    dtype : dtype, optional
        Floating dtype; the default one if not given.
    **options
        ``device``, ``requires_grad`` and others of factory functions.

    Returns
    -------
    Tensor
        (window_length).

    Raises
    ------
    RuntimeError
        If the dtype is not floating or the length negative.

    Notes
    -----
    Same as torch.hamming_window: https://docs.pytorch.org/docs/2.13/generated/torch.hamming_window.html

    Examples
    --------
    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    def compute(n, size):
        return n.mul_(pi * 2.0 / (size - 1)).cos_().mul_(-beta).add_(alpha)

    return _window("hamming_window", compute, window_length, periodic, dtype, options)


def hann_window(
    window_length: Any, periodic: bool = True, *, dtype: dtype | None = None, **options: Any
) -> Any:
    """Make a Hann window: ``0.5 - 0.5 * cos(2 * pi * n / (N - 1))``.

    Parameters
    ----------
    window_length : int
        Number of elements.
    periodic : bool, default True
        One period of a periodic function, for a Fourier transform, with N one more than the length; else
        symmetric.
    dtype : dtype, optional
        Floating dtype; the default one if not given.
    **options
        ``device``, ``requires_grad`` and others of factory functions.

    Returns
    -------
    Tensor
        (window_length).

    Raises
    ------
    RuntimeError
        If the dtype is not floating or the length negative.

    Notes
    -----
    Same as torch.hann_window: https://docs.pytorch.org/docs/2.13/generated/torch.hann_window.html

    Examples
    --------
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def compute(n, size):
        return n.mul_(pi * 2.0 / (size - 1)).cos_().mul_(-0.5).add_(0.5)

    return _window("hann_window", compute, window_length, periodic, dtype, options)


def blackman_window(
    window_length: Any, periodic: bool = True, *, dtype: dtype | None = None, **options: Any
) -> Any:
    """Make a Blackman window: ``0.42 - 0.5 * cos(2 * pi * n / (N - 1)) + 0.08 * cos(4 * pi * n / (N - 1))``.

    Parameters
    ----------
    window_length : int
        Number of elements.
    periodic : bool, default True
        One period of a periodic function, for a Fourier transform, with N one more than the length; else
        symmetric.
    dtype : dtype, optional
        Floating dtype; the default one if not given.
    **options
        ``device``, ``requires_grad`` and others of factory functions.

    Returns
    -------
    Tensor
        (window_length).

    Raises
    ------
    RuntimeError
        If the dtype is not floating or the length negative.

    Notes
    -----
    Same as torch.blackman_window: https://docs.pytorch.org/docs/2.13/generated/torch.blackman_window.html

    Examples
    --------
    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """

    def compute(n, size):
        n = n.mul_(pi / (size - 1))
        return n.mul(4).cos_().mul_(0.08) - n.mul(2).cos_().mul_(0.5) + 0.42

    return _window("blackman_window", compute, window_length, periodic, dtype, options)


def bartlett_window(
    window_length: Any, periodic: bool = True, *, dtype: dtype | None = None, **options: Any
) -> Any:
    """Make a Bartlett (triangular) window: ``1 - abs(2 * n / (N - 1) - 1)``.

    Parameters
    ----------
    window_length : int
        Number of elements.
    periodic : bool, default True
        One period of a periodic function, for a Fourier transform, with N one more than the length; else
        symmetric.
    dtype : dtype, optional
        Floating dtype; the default one if not given.
    **options
        ``device``, ``requires_grad`` and others of factory functions.

    Returns
    -------
    Tensor
        (window_length).

    Raises
    ------
    RuntimeError
        If the dtype is not floating or the length negative.

    Notes
    -----
    Same as torch.bartlett_window: https://docs.pytorch.org/docs/2.13/generated/torch.bartlett_window.html

    Examples
    --------
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def compute(n, size):
        half = ((size - 1) >> 1) + 1
        n.mul_(2.0 / (size - 1)).narrow(0, half, size - half).mul_(-1).add_(2)
        return n

    return _window("bartlett_window", compute, window_length, periodic, dtype, options)


def kaiser_window(
    window_length: Any,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: dtype | None = None,
    **options: Any,
) -> Any:
    """Make a Kaiser window: ``i0(beta * sqrt(1 - (2 * n / (N - 1) - 1)**2)) / i0(beta)``.

    Parameters
    ----------
    window_length : int
        Number of elements.
    periodic : bool, default True
        One period of a periodic function, for a Fourier transform, with N one more than the length; else
        symmetric.
    beta : float, default 12.0
        Shape of the window.
    dtype : dtype, optional
        Floating dtype; the default one if not given.
    **options
        ``device``, ``requires_grad`` and others of factory functions.

    Returns
    -------
    Tensor
        (window_length).

    Raises
    ------
    RuntimeError
        If the dtype is not floating or the length negative.

    Notes
    -----
    Same as torch.kaiser_window: https://docs.pytorch.org/docs/2.13/generated/torch.kaiser_window.html

    Examples
    --------
    >>> torch.kaiser_window(4, True, 2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """

    def compute(n, size):
        alpha = (size - 1) / 2.0
        return _C.i0((1 - n.sub_(alpha).div_(alpha).square_()).clamp_(min=0).sqrt_().mul_(beta)) / _C.i0(
            _C.tensor(beta, dtype=n.dtype, device=n.device)
        )

    return _window("kaiser_window", compute, window_length, periodic, dtype, options)
