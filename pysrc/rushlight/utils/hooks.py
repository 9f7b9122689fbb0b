"""Handles that remove a hook again, and helpers around hooks."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """Removes a hook from the dict that it was registered in; also a context manager.

    The dict is held weakly. ``extra_dict`` names further dicts, one or a list, that lose the same key.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        number = RemovableHandle.next_id
        RemovableHandle.next_id = number + 1  # before anything else may run and take the same one
        self.id = number
        extras = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref: tuple = tuple(weakref.ref(extra) for extra in extras if isinstance(extra, dict))

    def remove(self) -> None:
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None and self.id in hooks:
                del hooks[self.id]

    def __getstate__(self):
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state) -> None:
        # a dict that did not outlive the module becomes a reference that is dead at once
        hooks = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extras = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if e is None else e) for e in extras)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, type: object, value: object, tb: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Mark a tensor hook that is knowingly lost when its tensor is saved."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be "
                "serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook "
                "to suppress this warning",
                stacklevel=2,
            )


_NO_INPUT_TEXT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
    "require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook "
    "for more details."
)


def _replaced(answer, now, what):
    """Return what a hook answered in place of ``now``; the same when it answered None."""
    if answer is None:
        return now
    if len(answer) != len(now):
        raise RuntimeError(f"{what}, got {len(answer)}, but expected {len(now)}")
    return answer


class BackwardHook:
    """Runs the full backward hooks of one call of a module.

    Arguments and results each pass through an identity node. The results' node is run first and leaves its
    gradients in ``grad_outputs``; the arguments' node then has both, and the hooks are called.
    """

    def __init__(self, module: Module, user_hooks: Any, user_pre_hooks: Any) -> None:
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.module = module
        self.grad_outputs = None
        self.n_outputs = -1
        self.output_tensors_index = None
        self.n_inputs = -1
        self.input_tensors_index = None

    def _pack_with_none(self, indices, values, size):
        packed = [None] * size
        for index, value in zip(indices, values, strict=True):
            packed[index] = value
        return tuple(packed)

    def _unpack_none(self, indices, values):
        return tuple(values[index] for index in indices)

    def _apply_on_tensors(self, hang, args):
        """Pass the tensors in args through an identity, whose node ``hang`` gets; their places, or None."""
        from rushlight import _C
        from rushlight.nn.modules._functions import BackwardHookFunction

        places = [i for i, arg in enumerate(args) if isinstance(arg, _C.Tensor)]
        if not (_C.is_grad_enabled() and any(args[i].requires_grad for i in places)):
            return args, None
        passed = BackwardHookFunction.apply(*[args[i] for i in places])
        nodes = [t.grad_fn for t in passed if t.grad_fn is not None]
        if not nodes:
            raise RuntimeError(
                "Error while setting up backward hooks. Please open "
                "an issue with a code sample to reproduce this."
            )
        hang(nodes[0])
        every = list(args)
        for place, tensor in zip(places, passed, strict=True):
            every[place] = tensor
        return (tuple(every) if type(args) is tuple else type(args)(*every)), places

    # ---- the arguments ----
    def setup_input_hook(self, args: Any) -> Any:
        """Return the arguments to call forward with."""
        passed, self.input_tensors_index = self._apply_on_tensors(self._set_user_hook, args)
        self.n_inputs = len(args)
        return passed

    def _set_user_hook(self, node) -> None:
        def hook(grad_input, _):
            if self.grad_outputs is None:
                # a gradient that came around the module's results, as in double backward
                return None
            grads = self._pack_with_none(self.input_tensors_index, grad_input, self.n_inputs)
            for user_hook in self.user_hooks:
                answer = user_hook(self.module, grads, self.grad_outputs)
                grads = _replaced(answer, grads, "Backward hook returned an invalid number of grad_input")
            self.grad_outputs = None
            return self._unpack_none(self.input_tensors_index, grads)

        node.register_hook(hook)

    # ---- the results ----
    def setup_output_hook(self, args: Any) -> Any:
        """Return the result for the caller."""
        results = args if isinstance(args, tuple) else (args,)
        passed, self.output_tensors_index = self._apply_on_tensors(self._set_output_hook, results)
        self.n_outputs = len(results)
        return passed if isinstance(args, tuple) else passed[0]

    def _set_output_hook(self, node) -> None:
        def hook(_, grad_output):
            grads = self._pack_with_none(self.output_tensors_index, grad_output, self.n_outputs)
            for pre_hook in self.user_pre_hooks:
                answer = pre_hook(self.module, grads)
                grads = _replaced(
                    answer, grads, "Backward pre hook returned an invalid number of grad_output"
                )
            self.grad_outputs = grads
            if self.input_tensors_index is None:
                self._run_without_inputs()
            return tuple(grads[index] for index in self.output_tensors_index)

        node.register_hook(hook)

    def _run_without_inputs(self) -> None:
        """No argument requires a gradient, so that no node waits there: the hooks run at once."""
        warnings.warn(_NO_INPUT_TEXT, stacklevel=6)
        none = (None,) * self.n_inputs
        for user_hook in self.user_hooks:
            answer = user_hook(self.module, none, self.grad_outputs)
            if answer is not None and not (isinstance(answer, tuple) and all(a is None for a in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires "
                    "gradient should always return None or None for all gradients."
                )
        self.grad_outputs = None
