"""Handles that remove a hook again, and helpers around hooks."""

import warnings
import weakref
from collections import OrderedDict

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


class RemovableHandle:
    """Removes a hook from the dict that it was registered in; also a context manager.

    The dict is held weakly. ``extra_dict`` names further dicts, one or a list, that lose the same key.
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict, *, extra_dict=None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
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

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, type, value, tb) -> None:
        self.remove()


def unserializable_hook(f):
    """Mark a tensor hook that is knowingly lost when its tensor is saved."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor) -> None:
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be "
                "serialized.  If this is expected, you can "
                "decorate the function with @torch.utils.hooks.unserializable_hook "
                "to suppress this warning",
                stacklevel=2,
            )
