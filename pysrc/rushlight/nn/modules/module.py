"""Module, the base of all layers and models.

Its core (attributes, calls, hooks, walks, state dicts) is C; what is not hot is attached here.
"""

from __future__ import annotations

import sys
import types
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable

import rushlight
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
from rushlight._exports import _set_module
from rushlight.nn.modules._to import Moving as _Moving
from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Module, Tensor

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
        from ._functions import what_regular_hooks_miss

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


# ---- methods of Module that register hooks of one module: around calls, gradients and state dicts ----
def _register(hooks: OrderedDict, hook: Callable, extra: object = None) -> RemovableHandle:
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    return handle


class _WrappedHook:
    """A hook that is given its module, held weakly, as the first argument."""

    def __init__(self, hook: Callable, module: Module | None = None) -> None:
        from functools import update_wrapper

        self.hook = hook
        update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: object, **kwargs: object) -> object:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class _Hooks:
    """Methods of Module; module.py moves them there."""

    # ---- hooks of one module ----
    def register_forward_pre_hook(self, hook, *, prepend: bool = False, with_kwargs: bool = False):
        """Register a hook that is called before every `forward`.

        Parameters
        ----------
        hook : callable
            ``hook(module, args)``, or ``hook(module, args, kwargs)`` with `with_kwargs`. What it returns,
            unless None, replaces the arguments: a value or a tuple, with `with_kwargs` a pair of args and
            kwargs.
        prepend : bool, default False
            Call it before the module's other hooks of this kind.
        with_kwargs : bool, default False
            Pass the keyword arguments to the hook.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away; ``with`` does so at the end of the block.

        Examples
        --------
        >>> layer = nn.ReLU()
        >>> with layer.register_forward_pre_hook(lambda module, args: args[0] + 1):
        ...     layer(torch.tensor([-2.0, 0.0]))
        tensor([0., 1.])
        """
        handle = _register(self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self, hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ):
        """Register a hook that is called after every `forward`.

        Parameters
        ----------
        hook : callable
            ``hook(module, args, output)``, or ``hook(module, args, kwargs, output)`` with `with_kwargs`. What
            it returns, unless None, replaces the output.
        prepend : bool, default False
            Call it before the module's other hooks of this kind.
        with_kwargs : bool, default False
            Pass the keyword arguments to the hook.
        always_call : bool, default False
            Call it, too, where `forward` raises.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away; ``with`` does so at the end of the block.

        Examples
        --------
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        >>> shapes = []
        >>> handle = model[0].register_forward_hook(lambda module, args, output: shapes.append(output.shape))
        >>> _ = model(torch.randn(2, 4))
        >>> handle.remove()
        >>> shapes
        [torch.Size([2, 3])]
        """
        hooks = self._forward_hooks
        handle = _register(hooks, hook, [self._forward_hooks_with_kwargs, self._forward_hooks_always_called])
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_pre_hook(self, hook, prepend: bool = False):
        """Register a hook that is called before the gradients of the module are computed.

        Parameters
        ----------
        hook : callable
            ``hook(module, grad_output)``, with a tuple of the gradients of the outputs. What it returns,
            unless None, replaces it.
        prepend : bool, default False
            Call it before the module's other hooks of this kind.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.
        """
        handle = _register(self._backward_pre_hooks, hook)
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def _claim_backward_hooks(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def register_backward_hook(self, hook):
        """Register a hook on the gradients of the last operator of the module.

        Deprecated: `register_full_backward_hook` sees those of the whole module.

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
            If the module has full backward hooks.
        """
        self._claim_backward_hooks(full=False)
        return _register(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend: bool = False):
        """Register a hook that is called when the gradients of the module's inputs are computed.

        Parameters
        ----------
        hook : callable
            ``hook(module, grad_input, grad_output)``, with tuples of the gradients of inputs and outputs,
            None where an argument is no tensor. What it returns, unless None, replaces `grad_input`.
        prepend : bool, default False
            Call it before the module's other hooks of this kind.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.

        Raises
        ------
        RuntimeError
            If the module has a hook of `register_backward_hook`; in the backward pass, if inputs or outputs
            are changed in place.

        Examples
        --------
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> norms = []
        >>> handle = layer.register_full_backward_hook(lambda m, gi, go: norms.append(go[0].norm().item()))
        >>> layer(torch.ones(1, 2, requires_grad=True)).sum().backward()
        >>> norms
        [1.0]
        """
        self._claim_backward_hooks(full=True)
        handle = _register(self._backward_hooks, hook)
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    # ---- hooks of state dicts ----
    def _register_state_dict_hook(self, hook):
        """Call ``hook(module, state_dict, prefix, local_metadata)``; the root's may return another dict."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return _register(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Register a hook that is called after the module's state is collected.

        Parameters
        ----------
        hook : callable
            ``hook(module, state_dict, prefix, local_metadata)``; it changes the dict in place.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.
        """
        hook._from_public_api = True
        return _register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Register a hook that is called before the module's state is collected.

        Parameters
        ----------
        hook : callable
            ``hook(module, prefix, keep_vars)``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.
        """
        return _register(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module: bool = False):
        wrapped = _WrappedHook(hook, self if with_module else None)
        return _register(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_pre_hook(self, hook):
        """Register a hook that is called before the module's state is loaded.

        Parameters
        ----------
        hook : callable
            Called with module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys and
            error_msgs; it may change the dict and the lists in place.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Register a hook that is called after the module's state is loaded.

        Parameters
        ----------
        hook : callable
            ``hook(module, incompatible_keys)``; it may change the lists of missing and unexpected keys in
            place: empty ones pass with ``strict=True``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` takes the hook away.
        """
        return _register(self._load_state_dict_post_hooks, hook)


# ---- methods of Module that look up what is below a module, and show it ----
def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


class _Members:
    """Methods of Module; module.py moves them there."""

    # ---- looking names up ----
    def get_submodule(self, target: str):
        """Return the module at a dotted path below this one; the empty path is this module.

        Parameters
        ----------
        target : str
            Such as ``'encoder.layers.0'``.

        Returns
        -------
        Module

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no module.

        Examples
        --------
        >>> model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Tanh()))
        >>> model.get_submodule("0.1")
        Tanh()
        """
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(module._get_name() + " has no attribute `" + name + "`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError("`" + name + "` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module, strict: bool = False) -> None:
        """Put a module at a dotted path below this one.

        Parameters
        ----------
        target : str
            Such as ``'encoder.layers.0'``.
        module : Module
            What is put there.
        strict : bool, default False
            Only in place of another module.

        Raises
        ------
        ValueError
            If the path is empty or `module` is no module.
        AttributeError
            If the path leads to nothing, or to something that is no module.

        Examples
        --------
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> model.set_submodule("1", nn.GELU())
        >>> model[1]
        GELU(approximate='none')
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError("`" + "module" + f"` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(parent._get_name() + " has no attribute `" + name + "`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError("`" + name + "` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(module._get_name() + " has no attribute `" + name + "`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str):
        """Return the parameter at a dotted path below this module.

        Parameters
        ----------
        target : str
            Such as ``'encoder.weight'``.

        Returns
        -------
        Parameter

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no parameter.

        Examples
        --------
        >>> nn.Sequential(nn.Linear(2, 3)).get_parameter("0.bias").shape
        torch.Size([3])
        """
        _, name, parameter = self._get_member(target)
        if not isinstance(parameter, rushlight.nn.Parameter):
            raise AttributeError("`" + name + "` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str):
        """Return the buffer at a dotted path below this module.

        Parameters
        ----------
        target : str
            Such as ``'norm.running_mean'``.

        Returns
        -------
        Tensor

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no buffer.

        Examples
        --------
        >>> nn.Sequential(nn.BatchNorm1d(3)).get_buffer("0.running_mean")
        tensor([0., 0., 0.])
        """
        module, name, buffer = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError("`" + name + "` is not a buffer")
        return buffer

    def requires_grad_(self, requires_grad: bool = True):
        """Switch gradients on or off for all parameters, as for freezing a part of a model.

        Parameters
        ----------
        requires_grad : bool, default True
            Whether the parameters take gradients.

        Returns
        -------
        Module
            This module.

        Examples
        --------
        >>> layer = nn.Linear(2, 3).requires_grad_(False)
        >>> [p.requires_grad for p in layer.parameters()]
        [False, False]
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def compile(self, *args, **kwargs) -> None:
        """Check the arguments of torch.compile(), and go on: calls run as they are.

        Parameters
        ----------
        *args, **kwargs
            As those of torch.compile() after the model.

        Raises
        ------
        RuntimeError
            If there is no such mode or backend.

        Examples
        --------
        >>> nn.Linear(2, 1).compile(mode="reduce-overhead")
        """
        from rushlight._settings import compile

        compile(self.forward, *args, **kwargs)

    # ---- how it looks ----
    def _get_name(self):
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """Return what `repr` shows of this module besides its children; several lines are fine.

        Returns
        -------
        str

        Examples
        --------
        >>> class Scale(nn.Module):
        ...     def extra_repr(self):
        ...         return "factor=2"
        >>> Scale()
        Scale(factor=2)
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({lines[0]})"
        for key, module in self._modules.items():
            lines.append("(" + key + "): " + _addindent(repr(module), 2))
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"

    def __dir__(self):
        keys = [
            *dir(self.__class__),
            *self.__dict__.keys(),
            *self._parameters.keys(),
            *self._modules.keys(),
            *self._buffers.keys(),
        ]
        return sorted(key for key in keys if not key[0].isdigit())


def _attach(methods: type) -> None:
    _set_module(__name__, methods)
    for name, function in vars(methods).items():
        if callable(function):
            function.__qualname__ = f"Module.{name}"
            setattr(Module, name, function)


_attach(_Moving)
_attach(_Hooks)
_attach(_Members)
_attach(_Called)
