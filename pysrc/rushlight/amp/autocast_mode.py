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
    from typing import Any, Self

    from rushlight._C import dtype

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]
__getattr__ = _missing.lacks(__name__)

_DTYPES = (_C.bfloat16, _C.float16)
_PRIVATE = "privateuseone"  # the device that others may bring to PyTorch


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch has autocast for a type of device, such as ``"cpu"``.

    See https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.autocast_mode.is_autocast_available
    """
    return _C._is_autocast_available(device_type)


def autocast_decorator(autocast_instance: Any, func: Any) -> Any:
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
    """Context manager and decorator: operators cast their floating tensors to what suits them.

    Products and convolutions compute in ``dtype`` (the default is bfloat16 on the CPU), losses,
    factorisations and others that need it in float32, ``cat``, ``stack`` and ``index_copy`` in the widest
    dtype they get; all others, calls in place and calls with ``out=`` as ever. float64 stays. Casts of
    float32 leaves that require grad are kept until the outermost context ends, unless ``cache_enabled`` is
    False. A thread has contexts of its own.

    Only ``"cpu"`` casts; ``"cuda"`` is switched off with a warning where there is no GPU. Another dtype than
    bfloat16 and float16 switches the context off with a warning; an unknown device raises RuntimeError.
    See https://docs.pytorch.org/docs/2.13/amp.html#torch.autocast
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
        self._switch(self._enabled, self.fast_dtype, self._cache_enabled)
        _C.autocast_increment_nesting()
        self._before.setdefault(get_ident(), []).append(before)
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> Any:
        if _C.autocast_decrement_nesting() == 0:
            _C.clear_autocast_cache()
        entered = self._before[get_ident()]
        self._switch(*entered.pop())
        if not entered:
            del self._before[get_ident()]
        return False

    def __call__(self, func: Any) -> Any:
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
    """Decorate ``forward`` of an autograd Function: ``backward`` will know the state of autocast.

    With ``cast_inputs``, a dtype, and under autocast, floating tensors among the arguments are cast to it,
    and autocast is off inside. Without ``fwd`` the decorator is returned.
    See https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.custom_fwd
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
    """Decorate ``backward`` of an autograd Function: it runs as ``forward``, with ``custom_fwd``, did.

    Without ``bwd`` the decorator is returned.
    See https://docs.pytorch.org/docs/2.13/amp.html#torch.amp.custom_bwd
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
