"""Hooks of all optimizers, and steps that call them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import chain

import rushlight
from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, TypeVar

    _Loss = TypeVar("_Loss")

    from .optimizer import Optimizer


_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()


class _RequiredParameter:
    """Stands for a default that every group has to give itself."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def _register(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(
    hook: Callable[
        [Optimizer, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None
    ],
) -> Any:
    """Register a hook that runs before each step of every optimizer.

    Parameters
    ----------
    hook : callable
        Takes ``(optimizer, args, kwargs)``; it may return new ``(args, kwargs)``.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` removes the hook.
    """
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], None],
) -> Any:
    """Register a hook that runs after each step of every optimizer.

    Parameters
    ----------
    hook : callable
        Takes ``(optimizer, args, kwargs)``.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` removes the hook.
    """
    return _register(_global_optimizer_post_hooks, hook)


def _changed_arguments(step, self, args, kwargs):
    """What the pre-hooks make of the arguments of a step: (self, *args, kwargs)."""
    args = (self, *args)
    for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
        result = hook(self, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}."
            )
        args, kwargs = result
    return *args, kwargs


def _hooked_step(step):
    """Wrap a class's step so that it calls the hooks."""

    def wrapper(self, *args, **kwargs):
        if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
            self, *args, kwargs = _changed_arguments(step, self, args, kwargs)
        out = step(self, *args, **kwargs)
        if self._optimizer_step_post_hooks or _global_optimizer_post_hooks:
            for hook in chain(
                self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()
            ):
                hook(self, (self, *args), kwargs)
        return out

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(step, name, None))
    wrapper.__wrapped__ = step
    wrapper.hooked = True
    return wrapper


def _fit(param, value, counts_beside=False, key=None):
    """Cast loaded state to the dtype and device of its parameter; the count of steps stays as it is, or goes
    beside the parameter as float32."""
    if isinstance(value, rushlight.Tensor):
        if key == "step":
            return value.to(dtype=rushlight.float32, device=param.device) if counts_beside else value
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _fit(param, v, counts_beside, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_fit(param, v) for v in value)
    return value


def _split_names(params):
    """Return tensors and names of what may be (name, tensor) pairs."""
    pairs = [p for p in params if isinstance(p, tuple)]
    if pairs and len(pairs) != len(params):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [p[1] for p in pairs] if pairs else params, [p[0] for p in pairs]


class _Hooked:
    """Registration of hooks of one optimizer."""

    def register_step_pre_hook(
        self,
        hook: Callable[
            [Self, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None
        ],
    ) -> Any:
        """Register a hook that runs before each step.

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, args, kwargs)``; it may return new ``(args, kwargs)``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], None]) -> Any:
        """Register a hook that runs after each step.

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, args, kwargs)``.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> Any:
        """Register a hook that runs before state_dict().

        Parameters
        ----------
        hook : callable
            Takes the optimizer.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs after state_dict().

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, state_dict)``; it may return another dict.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs before load_state_dict().

        Parameters
        ----------
        hook : callable
            Takes ``(optimizer, state_dict)``; it may return another dict.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> Any:
        """Register a hook that runs after load_state_dict().

        Parameters
        ----------
        hook : callable
            Takes the optimizer.
        prepend : bool, default False
            Run it before the other hooks instead of after them.

        Returns
        -------
        RemovableHandle
            Its ``remove()`` removes the hook.
        """
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)
