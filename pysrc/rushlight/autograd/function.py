"""Operators of one's own: subclass Function and give it forward and backward.

See https://docs.pytorch.org/docs/2.13/notes/extending.html
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections import OrderedDict

from rushlight import _C
from rushlight.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]

_counter = itertools.count()


class FunctionCtx:
    """What forward, setup_context and backward get as ``ctx``."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for backward, where they are ``ctx.saved_tensors``.

        Parameters
        ----------
        *tensors : Tensor or None
            Arguments or results of forward. Other tensors, and what is no tensor, may be attributes of `ctx`.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Accepted for compatibility: there is no forward-mode differentiation."""
        for tensor in tensors:
            if not (isinstance(tensor, _C.Tensor) or tensor is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should "
                    "save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Mark arguments that forward has changed in place; each must be returned, too.

        Parameters
        ----------
        *args : Tensor
            The arguments.
        """
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing: deprecated in PyTorch."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
            "Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Mark results that have no gradient, such as indices.

        Parameters
        ----------
        *args : Tensor
            The results.
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose what backward gets for results that were not used: zeros, as at the start, or None.

        Parameters
        ----------
        value : bool
            True for zeros.
        """
        self.materialize_grads = value


class _HookMixin:
    @staticmethod
    def _register_hook(backward_hooks, hook):
        if backward_hooks is None:
            backward_hooks = OrderedDict()
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle


class BackwardCFunction(_C._FunctionBase, FunctionCtx, _HookMixin):
    """The base of the nodes that Functions leave in the history."""

    def _get_user_fn(self):
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if vjp is Function.vjp:
            return backward
        if backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
                "only implement one of them."
            )
        return vjp

    def apply(self, *args: Any) -> Any:
        """Run the user's backward: what the engine calls."""
        function = self._get_user_fn()
        if getattr(self._forward_cls, "boxed_grads_call", False):
            return function(self, list(args))
        return function(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """Run the user's backward on gradients that are boxed already."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Run the user's jvp."""
        return self._forward_cls.jvp(self, *args)


class FunctionMeta(type):
    """Gives each Function the class of its nodes, ``<name>Backward``."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        node = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        node._autograd_function_id = next(_counter)
        cls._backward_cls = node
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(_C._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results: ``forward(ctx, *args)``, or ``forward(*args)`` beside a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what backward needs, when forward itself gets no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradient of each argument of forward, None where there is none."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use "
            "it with backward mode AD."
        )

    vjp = backward
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the directional derivatives of the results; there is no forward mode that would ask."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )


class Function(_SingleLevelFunction):
    """Define an operator with a backward of your own.

    The base class. A subclass has static methods ``forward(ctx, *args)``, which computes the results and
    keeps tensors by ``ctx.save_for_backward(...)``, and ``backward(ctx, *grad_outputs)``, which returns a
    gradient, or None, for each argument of forward. ``apply(*args)`` runs it. Beside ``setup_context(ctx,
    inputs, output)`` forward takes no ctx.

    Notes
    -----
    Same as torch.autograd.Function: https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.Function

    Examples
    --------
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3 * x**2
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions "
            "are all static, so you should invoke them on the class itself. "
            "Instantiating an autograd function will raise an "
            "error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. "
            "Please use new-style autograd function with static forward method. "
            "(Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Compute the results over a batch; there is no vmap that would ask."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )


# what apply() of the C extension looks for here
_setup_context = _SingleLevelFunction.setup_context


def _apply_with_defaults(cls, *args, **kwargs):
    import inspect

    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return cls._apply_bound(*bound.args, **bound.kwargs)


def _leaf_alias(value):
    if not isinstance(value, _C.Tensor) or not value.is_floating_point():
        return value
    return value.detach().requires_grad_()


def once_differentiable(fn: Any) -> Any:
    """Decorate a backward whose gradients cannot be differentiated again: doing so raises RuntimeError."""

    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        recording = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args, **kwargs)
        finally:
            _C._set_grad_enabled(recording)
        if not recording or not any(isinstance(a, _C.Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        marked = _C._delayed_error(message, tuple(_leaf_alias(value) for value in several))
        return marked if isinstance(outputs, tuple) else marked[0]

    return wrapper


class InplaceFunction(Function):
    """Function with an ``inplace`` flag, for old code."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
