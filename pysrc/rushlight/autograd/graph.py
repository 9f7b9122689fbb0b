"""The recorded history: its nodes, hooks on several tensors, and what becomes of saved tensors.

See https://docs.pytorch.org/docs/2.13/autograd.html#autograd-graph
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import defaultdict

from rushlight import _C, _missing
from rushlight._C import Node
from rushlight.utils.hooks import RemovableHandle

from ._engine import GradientEdge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from rushlight._C import Generator, Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


# ---- nodes and edges ----
def _node_of(t):
    """Return the node that a tensor's gradient goes to."""
    if isinstance(t, GradientEdge):
        return t.node
    if t.requires_grad and t.grad_fn is None:
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            return t.view_as(t).grad_fn.next_functions[0][0]
        finally:
            _C._set_grad_enabled(before)
    if t.grad_fn is None:
        raise AssertionError("Expected gradient function to be set")
    return t.grad_fn


def get_gradient_edge(tensor: Tensor) -> Any:
    """Return where the gradient of a tensor is computed: its edge of the autograd graph.

    Parameters
    ----------
    tensor : Tensor
        Tensor that requires a gradient.

    Returns
    -------
    GradientEdge
        What backward() and grad() take in place of the tensor.

    Raises
    ------
    RuntimeError
        If it requires none.

    Notes
    -----
    Same as torch.autograd.graph.get_gradient_edge:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.get_gradient_edge

    Examples
    --------
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(_node_of(tensor), tensor.output_nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of tensors that were written where autograd could not see it.

    Backward then fails where it needs the old values.

    Parameters
    ----------
    tensor : Tensor or iterable of Tensors
        Tensors that were written.

    Notes
    -----
    Same as torch.autograd.graph.increment_version:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.increment_version

    Examples
    --------
    >>> x = torch.zeros(2)
    >>> x.numpy()[0] = 1
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    _C._increment_version((tensor,) if isinstance(tensor, _C.Tensor) else tensor)


# ---- saved tensors ----
class _Refusal(threading.local):
    text = None


_refusal = _Refusal()


class saved_tensors_hooks:
    """Set hooks within a context that say how tensors are saved for backward, e.g. compressed or on disk.

    Parameters
    ----------
    pack_hook : callable
        Takes a tensor and returns what is kept in its place.
    unpack_hook : callable
        Takes that and returns the tensor, when backward needs it.

    Raises
    ------
    RuntimeError
        When entered within disable_saved_tensors_hooks().

    Notes
    -----
    Same as torch.autograd.graph.saved_tensors_hooks:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.saved_tensors_hooks

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
    ...     y = (x**2).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before = []

    def __enter__(self) -> None:
        if _refusal.text is not None:
            raise RuntimeError(_refusal.text)
        self._before.append(_C._set_saved_tensors_hooks((self.pack_hook, self.unpack_hook)))

    def __exit__(self, *args: Any) -> None:
        _C._set_saved_tensors_hooks(self._before.pop())


class save_on_cpu(saved_tensors_hooks):
    """Save tensors for backward on the CPU within a context, and move them back when they are needed.

    It makes room on a GPU at the cost of time.

    Parameters
    ----------
    pin_memory : bool, default False
        Whether the copies lie in pinned memory, where there is a device.
    device_type : str, default 'cuda'
        Accepted.

    Notes
    -----
    Same as torch.autograd.graph.save_on_cpu:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.save_on_cpu

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = (x**2).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor):
            if not (pin_memory and tensor.is_cuda):
                return tensor.device, tensor.cpu()
            copy = _C.empty(tensor.size(), dtype=tensor.dtype, pin_memory=True)
            return tensor.device, copy.copy_(tensor)

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Disable hooks for saved tensors within a context: setting some raises an error.

    Parameters
    ----------
    error_message : str
        Text of that RuntimeError.

    Raises
    ------
    RuntimeError
        If such hooks are set already.

    Notes
    -----
    Same as torch.autograd.graph.disable_saved_tensors_hooks:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.disable_saved_tensors_hooks

    Examples
    --------
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     (x**2).backward()
    >>> x.grad
    tensor(4.)
    """
    active = _C._set_saved_tensors_hooks(None)
    _C._set_saved_tensors_hooks(active)
    if active is not None:
        raise RuntimeError(error_message)
    before, _refusal.text = _refusal.text, error_message
    try:
        yield
    finally:
        _refusal.text = before


# ---- one hook for several tensors ----
class _MultiHandle(RemovableHandle):
    def __init__(self, handles) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state) -> None:
        self.handles = state


class _Gathering:
    """The gradients that came in one run, until all that will come are there."""

    def __init__(self, nodes) -> None:
        self.missing = sum(map(_C._will_engine_execute_node, nodes))
        self.grads = [None] * len(nodes)


def _run_id():
    number = _C._current_graph_task_id()
    if number == -1:
        raise AssertionError("expected this hook to be called inside a backward call")
    return number


def _hooks_for_all(tensors, fn):
    nodes = [_node_of(t) for t in tensors]
    runs = {}

    def hook_of(index):
        def hook(grad):
            number = _run_id()
            if number not in runs:
                runs[number] = _Gathering(nodes)
            gathering = runs[number]
            gathering.grads[index] = grad
            gathering.missing -= 1
            if gathering.missing == 0:
                del runs[number]
                fn(gathering.grads)

        return hook

    return tuple(t.register_hook(hook_of(i)) for i, t in enumerate(tensors))


def _hooks_for_any(tensors, fn):
    seen = defaultdict(bool)

    @functools.wraps(fn)
    def hook(grad):
        number = _run_id()
        before, seen[number] = seen[number], True
        if not before:
            fn(grad)

    return tuple(t.register_hook(hook) for t in tensors if t.requires_grad)


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> Any:
    """Register a hook that runs in each backward when the gradients of several tensors are known.

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors that require gradients.
    fn : callable
        Takes the list of gradients (None where there is none); with 'any' the gradient that came.
    mode : {'all', 'any'}, default 'all'
        Whether to wait for all or for the first.

    Returns
    -------
    RemovableHandle
        Its ``remove()`` removes the hook.

    Raises
    ------
    ValueError
        If `mode` is unknown.

    Notes
    -----
    Same as torch.autograd.graph.register_multi_grad_hook:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.register_multi_grad_hook

    Examples
    --------
    >>> a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b], print)
    >>> (a * b).backward()
    [tensor(3.), tensor(2.)]
    >>> handle.remove()
    """
    modes = {"all": _hooks_for_all, "any": _hooks_for_any}
    if mode not in modes:
        raise ValueError(f"Expects mode to be one of {tuple(modes)} but got {mode}")
    return _MultiHandle(modes[mode](tensors, fn))
