"""Module, the base of all layers and models.

Its core (attributes, calls, hooks, walks, state dicts) is C; what is not hot is attached here.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable

from rushlight import _homes
from rushlight._C import (
    Module,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_hooks_always_called,
    _global_forward_hooks_with_kwargs,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    _use_global_hooks,
)
from rushlight.nn.modules._module_hooks import Hooks as _Hooks
from rushlight.nn.modules._module_hooks import _register, _WrappedHook
from rushlight.nn.modules._module_members import Members as _Members
from rushlight.nn.modules._module_members import _addindent
from rushlight.nn.modules._moving import Moving as _Moving
from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_global_is_full_backward_hook: bool | None = None
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()
    missing_keys: list[str]
    unexpected_keys: list[str]
    mismatched_keys: Sequence[str] = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _ReportedKeys(_IncompatibleKeys):
    """What load_state_dict(mismatched="report") returns; still the same pair of lists."""

    def __new__(cls, missing_keys, unexpected_keys, mismatched_keys):
        self = super().__new__(cls, missing_keys, unexpected_keys)
        self.mismatched_keys = mismatched_keys
        return self

    def __getnewargs__(self):
        return (*self, self.mismatched_keys)

    def __repr__(self) -> str:
        if not self.mismatched_keys:
            return super().__repr__()
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys}, "
            f"mismatched_keys={self.mismatched_keys})"
        )

    __str__ = __repr__


# ---- hooks common to all modules ----
_HOOK_DICTS = frozenset(
    name for name in globals() if name.startswith("_global_") and name != "_global_is_full_backward_hook"
)


class _HookHome(types.ModuleType):
    """The type of this module: a hook dict that is assigned to it is the one that calls look into."""

    def __setattr__(self, name, value):
        if name in _HOOK_DICTS:
            _use_global_hooks(name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        super().__delattr__(name)
        if name in _HOOK_DICTS:
            _use_global_hooks(name, OrderedDict())


for _name in _HOOK_DICTS:  # also when this file is run again
    _use_global_hooks(_name, globals()[_name])
del _name
sys.modules[__name__].__class__ = _HookHome


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Register a hook that is called whenever a module registers a buffer.

    Parameters
    ----------
    hook : callable
        ``hook(module, name, buffer)``. What it returns, unless None, is registered instead.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.
    """
    return _register(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Register a hook that is called whenever a module registers a child.

    Parameters
    ----------
    hook : callable
        ``hook(module, name, child)``. What it returns, unless None, is registered instead.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.
    """
    return _register(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Register a hook that is called whenever a module registers a parameter.

    Parameters
    ----------
    hook : callable
        ``hook(module, name, param)``. What it returns, unless None, is registered instead.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.
    """
    return _register(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Register a hook that is called before every `forward` of every module.

    Parameters
    ----------
    hook : callable
        ``hook(module, args)``, before the hooks of the module. What it returns, unless None, replaces the
        arguments.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.
    """
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register a hook that is called after every `forward` of every module.

    Parameters
    ----------
    hook : callable
        ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)`` with `with_kwargs`, before
        the hooks of the module. What it returns, unless None, replaces the output.
    with_kwargs : bool, default False
        Pass the keyword arguments to the hook.
    always_call : bool, default False
        Call it, too, where `forward` raises.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.

    Examples
    --------
    >>> names = []
    >>> handle = nn.modules.module.register_module_forward_hook(
    ...     lambda module, args, output: names.append(type(module).__name__)
    ... )
    >>> _ = nn.Sequential(nn.Linear(2, 2), nn.ReLU())(torch.ones(1, 2))
    >>> handle.remove()
    >>> names
    ['Linear', 'ReLU', 'Sequential']
    """
    extra = [_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called]
    handle = _register(_global_forward_hooks, hook, extra)
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def _claim_global_backward_hooks(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    _global_is_full_backward_hook = full


def register_module_backward_hook(
    hook: Callable[
        [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor],
        tuple[Tensor, ...] | Tensor | None,
    ],
) -> RemovableHandle:
    """Register a hook on the gradients of the last operator of every module.

    Deprecated: `register_module_full_backward_hook` sees those of whole modules.

    Parameters
    ----------
    hook : callable
        ``hook(module, grad_input, grad_output)``.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.

    Raises
    ------
    RuntimeError
        If there are full backward hooks of all modules.
    """
    _claim_global_backward_hooks(full=False)
    return _register(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(
    hook: Callable[[Module, tuple[Tensor, ...] | Tensor], tuple[Tensor, ...] | Tensor | None],
) -> RemovableHandle:
    """Register a hook that is called before the gradients of every module are computed.

    Parameters
    ----------
    hook : callable
        ``hook(module, grad_output)``. What it returns, unless None, replaces the gradients of the outputs.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.
    """
    return _register(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(
    hook: Callable[
        [Module, tuple[Tensor, ...] | Tensor, tuple[Tensor, ...] | Tensor],
        tuple[Tensor, ...] | Tensor | None,
    ],
) -> RemovableHandle:
    """Register a hook that is called when the gradients of the inputs of every module are computed.

    Parameters
    ----------
    hook : callable
        ``hook(module, grad_input, grad_output)``. What it returns, unless None, replaces `grad_input`.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` takes the hook away.

    Raises
    ------
    RuntimeError
        If there are hooks of `register_module_backward_hook`.
    """
    _claim_global_backward_hooks(full=True)
    return _register(_global_backward_hooks, hook)


def _has_any_global_hook():
    return (
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


# What an overridden _named_members is given in place of Module's own C walk.
def _parameter_items(module):
    return module._parameters.items()


def _buffer_items(module):
    return module._buffers.items()


class _Called:
    """Methods of Module that calls and copies use."""

    def _get_backward_hooks(self):
        """Return the list of full and the list of regular backward hooks, the global ones first."""
        full: list[Callable] = []
        regular: list[Callable] = []
        for flag, hooks in (
            (_global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            if flag is not None:
                (full if flag else regular).extend(hooks.values())
        return full, regular

    def _get_backward_pre_hooks(self):
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn):
        from ._backward_hooks import what_regular_hooks_miss

        text = what_regular_hooks_miss(inputs, result, grad_fn)
        if text:
            warnings.warn(text, FutureWarning, stacklevel=2)

    def _slow_forward(self, *input, **kwargs):
        return self.forward(*input, **kwargs)

    def _replicate_for_data_parallel(self):
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        # a replica has no parameters of its own: it refers to those of the module it copies
        replica._parameters = {}
        replica._buffers = replica._buffers.copy()
        replica._modules = replica._modules.copy()
        replica._is_replica = True
        return replica


def _attach(methods: type) -> None:
    _homes.adopt(__name__, methods)
    for name, function in vars(methods).items():
        if callable(function):
            function.__qualname__ = f"Module.{name}"
            setattr(Module, name, function)


_attach(_Moving)
_attach(_Hooks)
_attach(_Members)
_attach(_Called)
_homes.adopt(__name__, _register, _WrappedHook, _addindent)
