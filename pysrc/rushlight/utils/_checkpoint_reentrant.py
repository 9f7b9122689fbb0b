"""Checkpoints that run again within a backward pass of their own."""

from __future__ import annotations

import contextlib
import warnings

import rushlight
from rushlight import _C
from rushlight.autograd import Function, backward, enable_grad, no_grad
from rushlight.random import fork_rng, get_rng_state, set_rng_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.types import Device


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Detach the tensors of a tuple; each requires a gradient if it did before.

    Parameters
    ----------
    inputs : tuple
        Tensors and other values.

    Returns
    -------
    tuple
        The same with detached tensors.

    Raises
    ------
    RuntimeError
        If it is no tuple.

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.detach_variable((x * 2, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, _C.Tensor) else x for x in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor of the inputs requires a gradient: then there is nothing to compute backward.

    Parameters
    ----------
    inputs : iterable
        Tensors and other values.

    Examples
    --------
    >>> torch.utils.checkpoint.check_backward_validity([torch.ones(2, requires_grad=True)])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, _C.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """Keep the type of devices whose random numbers checkpoints preserve besides the CPU's.

    Examples
    --------
    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cpu'
    """

    _default_device_type = None

    @staticmethod
    def set_device_type(device: Device = "cuda") -> None:
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._default_device_type or "cpu"


def _tensors(values):
    for value in values:
        if isinstance(value, _C.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())


def _surroundings(preserve, *values):
    """What the second time must find as the first did: autocast and, if preserved, the random numbers of the
    CPU and of the GPUs that tensors among the values lie on."""
    gpus = sorted({t.device.index for t in _tensors(values) if t.device.type == "cuda"})
    kinds = ("cpu", "cuda") if gpus else ("cpu",)
    casts = [(kind, _C.get_autocast_dtype(kind), _C.is_autocast_enabled(kind)) for kind in kinds]
    states = {i: rushlight.cuda.get_rng_state(i) for i in gpus} if preserve else {}
    return get_rng_state() if preserve else None, states, casts, _C.is_autocast_cache_enabled()


@contextlib.contextmanager
def _as_in(surroundings):
    state, states, casts, caches = surroundings
    with contextlib.ExitStack() as stack:
        stack.enter_context(fork_rng(states, enabled=state is not None))
        for kind, dtype, enabled in casts:
            if enabled or _C.is_autocast_enabled(kind):
                stack.enter_context(rushlight.autocast(kind, dtype, enabled, caches))
        if state is not None:
            set_rng_state(state)
        for i, own in states.items():
            rushlight.cuda.set_rng_state(own, i)
        yield


def _tensor_places(values):
    return [i for i, v in enumerate(values) if isinstance(v, _C.Tensor)]


def _with_tensors(values, places, tensors):
    values = list(values)
    for i, tensor in zip(places, tensors, strict=True):
        values[i] = tensor
    return values


def _without_tensors(values):
    return [None if isinstance(v, _C.Tensor) else v for v in values]


class CheckpointFunction(Function):
    """Run a part of a model without recording it; backward runs it again.

    What checkpoint() with ``use_reentrant=True`` applies.

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.CheckpointFunction.apply(torch.exp, True, x).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: Any, *args: Any) -> Tensor:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _surroundings(preserve_rng_state, args)
        ctx.places = _tensor_places(args)
        ctx.inputs = _without_tensors(args)
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not _C._is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or call .backward() without passing the `inputs` argument."
            )
        inputs = detach_variable(tuple(_with_tensors(ctx.inputs, ctx.places, ctx.saved_tensors)))
        with _as_in(ctx.surroundings), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, _C.Tensor) else outputs
        pairs = [
            (o, g)
            for o, g in zip(outputs, args, strict=False)
            if isinstance(o, _C.Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward(*zip(*pairs, strict=True))
        return (None, None, *(x.grad if isinstance(x, _C.Tensor) else None for x in inputs))
