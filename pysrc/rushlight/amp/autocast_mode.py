"""Contexts in which operators choose their dtype, and what a Function of one's own needs to be called there.

A context sets four things of its thread and gives them back: on or off, the dtype, whether casts of weights
are kept, and how many contexts are open; the outermost one lets go of what was kept. What an operator casts
to is said by the AUTOCAST part of its declaration (csrc/call/autocast.c).
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections import abc
from threading import get_ident

from rushlight import _C, _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    from rushlight._C import dtype

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]
__getattr__ = _missing.module_getattr(__name__)

_DTYPES = (_C.bfloat16, _C.float16)
_PRIVATE = "privateuseone"  # the device that others may bring to PyTorch


def is_autocast_available(device_type: str) -> bool:
    """Return whether autocast exists for a type of device.

    Parameters
    ----------
    device_type : str
        Type of device, such as 'cpu'.

    Returns
    -------
    bool
        Whether it exists.

    Notes
    -----
    Same as torch.amp.is_autocast_available:
    https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.autocast_mode.is_autocast_available

    Examples
    --------
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _C._is_autocast_available(device_type)


def autocast_decorator(autocast_instance: autocast, func: F) -> F:
    """Make a function that runs in the context."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    setattr(
        decorate_autocast,
        "__script_unsupported",
        "@autocast() decorator is not supported in script mode",
    )
    return decorate_autocast


def _refuse_private():
    raise AssertionError(
        f"Tried to use AMP with the `{_PRIVATE}` backend, but the backend has not registered a module or  "
        "the module miss some necessary funcs. The backend should register a module by "
        "`torch._register_device_module`, and the module must have these funcs: \n"
        "`get_amp_supported_dtype() -> List[torch.dtype]`. \n"
    )


def _can_run(device_type, dtype):
    """Whether a context that should be on can be; warns where not."""
    if device_type == "cuda":
        from rushlight.cuda.amp.common import amp_definitely_not_available

        if not amp_definitely_not_available():
            return True
        text = "CUDA is not available or torch_xla is imported. Disabling autocast."
    elif dtype in _DTYPES:
        return True
    else:
        name = device_type.upper()
        text = (
            f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{name} Autocast only supports dtypes of {', '.join(map(str, _DTYPES))} currently."
        )
    warnings.warn(text, stacklevel=3)
    return False


class autocast:
    """Compute with mixed precision within a context or function: operators choose their dtypes.

    Products and convolutions compute in `dtype`; losses, factorizations and others that need it in float32;
    ``cat`` and ``stack`` in the widest dtype they get. Others, calls in place and calls with ``out=`` do not
    cast, and float64 stays. Backward runs in the same dtypes and belongs outside. Each thread has contexts of
    its own.

    Parameters
    ----------
    device_type : str
        Type of device. 'cpu' casts; 'cuda' is switched off with a warning where there is no GPU.
    dtype : dtype, optional
        bfloat16 or float16, others switch it off with a warning; bfloat16 on the CPU if not given.
    enabled : bool, default True
        False switches it off.
    cache_enabled : bool, optional
        Keep the casts of parameters until the outermost context ends; True if not given.

    Raises
    ------
    RuntimeError
        If there is no autocast for the device.
    ValueError
        If `device_type` is no str.

    Notes
    -----
    Same as torch.autocast: https://docs.pytorch.org/docs/2.13/amp.html#torch.autocast

    Examples
    --------
    >>> model = nn.Linear(4, 2)
    >>> with torch.autocast("cpu"):
    ...     y = model(torch.ones(1, 4))
    >>> y.dtype, model.weight.dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = _C.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.custom_backend_name = _PRIVATE
        if device_type == _PRIVATE:
            _refuse_private()
        self._cache_enabled = _C.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and not _can_run(device_type, self.fast_dtype):
            enabled = False
        self._enabled = enabled
        self._before = {}  # of each thread inside: what was, as often as it entered

    def _switch(self, enabled, dtype, cache_enabled):
        _C.set_autocast_enabled(self.device, enabled)
        _C.set_autocast_dtype(self.device, dtype)
        _C.set_autocast_cache_enabled(cache_enabled)

    def __enter__(self) -> Self:
        of_device = _C.is_autocast_enabled(self.device), _C.get_autocast_dtype(self.device)
        before = *of_device, _C.is_autocast_cache_enabled()
        try:
            _C.autocast_increment_nesting()
            self._switch(self._enabled, self.fast_dtype, self._cache_enabled)
            self._before.setdefault(get_ident(), []).append(before)
        except BaseException:  # an interrupt, after which nobody calls __exit__
            self._switch(*before)
            _C.autocast_decrement_nesting()
            raise
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> Any:
        if _C.autocast_decrement_nesting() == 0:
            _C.clear_autocast_cache()
        entered = self._before[get_ident()]
        self._switch(*entered.pop())
        if not entered:
            del self._before[get_ident()]
        return False

    def __call__(self, func: F) -> F:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


class _UnmanagedAutocast(autocast):
    """One that no with statement ends."""


def _enter_autocast(*vals):
    """Enter a context, which ``_exit_autocast`` leaves."""
    if _C._has_torch_function(()):
        return _C._handle_torch_function(_enter_autocast, (), vals, {})
    mode = _UnmanagedAutocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode):
    if _C._has_torch_function(()):
        return _C._handle_torch_function(_exit_autocast, (), (mode,), {})
    mode.__exit__(None, None, None)


# ---- Functions of one's own ----
def _is_array(value):
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _cast(value, device_type, dtype):
    """Cast floating tensors of a device, but float64 ones, also in mappings, lists and iterators."""
    if isinstance(value, _C.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if fits and value.dtype is not _C.float64 else value
    if isinstance(value, (str, bytes)) or _is_array(value) or not isinstance(value, abc.Iterable):
        return value
    if isinstance(value, abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    items = (_cast(item, device_type, dtype) for item in value)
    return type(value)(items) if isinstance(value, (list, tuple)) else items


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: dtype | None = None) -> Any:
    """Decorate the forward of an autograd Function, so that backward knows the state of autocast.

    Parameters
    ----------
    fwd : callable, optional
        The forward; the decorator is returned if not given.
    device_type : str
        Type of device.
    cast_inputs : dtype, optional
        Under autocast, cast floating arguments to it and switch autocast off within.

    Returns
    -------
    callable
        The decorated forward.

    Raises
    ------
    ValueError
        If `device_type` is no str.

    Notes
    -----
    Same as torch.amp.custom_fwd: https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.custom_fwd

    Examples
    --------
    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, a, b):
    ...         return a @ b
    >>> with torch.autocast("cpu"):
    ...     Product.apply(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.float32
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx, on = args[0], _C.is_autocast_enabled(device_type)
        ctx._dtype = _C.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            args, kwargs = _cast(args, device_type, cast_inputs), _cast(kwargs, device_type, cast_inputs)
            return fwd(*args, **kwargs)

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the backward of an autograd Function, so that it runs under autocast as the forward did.

    The forward has custom_fwd().

    Parameters
    ----------
    bwd : callable, optional
        The backward; the decorator is returned if not given.
    device_type : str
        Type of device.

    Returns
    -------
    callable
        The decorated backward.

    Raises
    ------
    ValueError
        If `device_type` is no str.

    Notes
    -----
    Same as torch.amp.custom_bwd: https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.custom_bwd

    Examples
    --------
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
