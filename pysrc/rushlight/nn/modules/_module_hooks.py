"""Methods of Module that register hooks of one module: around calls, gradients and state dicts."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable

from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Module


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


class Hooks:
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
