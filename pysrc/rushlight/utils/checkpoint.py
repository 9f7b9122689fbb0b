"""Checkpoints: parts of a model that are computed again for backward, instead of keeping their tensors.

``use_reentrant=False`` packs each tensor that the part would save into an empty slot. The first slot that a
run of backward asks for computes the part again, which fills all slots in the same order:

    forward     save x ─► slot 0     save y ─► slot 1          the frame knows its slots weakly
    backward    slot 1? ─► compute again: x ─► slot 0, y ─► slot 1, stop ─► y leaves slot 1

``use_reentrant=True`` is a Function whose backward computes the part again and runs backward inside.

See https://docs.pytorch.org/docs/2.13/checkpoint.html
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import threading
import warnings
import weakref

import rushlight
from rushlight import _C, _missing
from rushlight.autograd import Function, backward, enable_grad, no_grad
from rushlight.autograd.graph import saved_tensors_hooks
from rushlight.random import fork_rng, get_rng_state, set_rng_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rushlight._C import Tensor
    from rushlight.types import Device

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


# ---- checkpoints that run again within a backward pass of their own ----
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


def _infer_device_type(*args):
    """The type of the devices that tensors among the arguments lie on, less the CPU; that of GPUs first."""
    types = [t.device.type for t in _tensors(args) if t.device.type != "cpu"]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device "
            "state will only be saved for devices of a single device type, and the remaining devices will be "
            "ignored. Consequently, if any checkpointed functions involve randomness, this may result in "
            "incorrect gradients. (Note that if CUDA devices are among the devices detected, it will be "
            "prioritized; otherwise, the first device encountered will be selected.)\n"
            f"Device types: {sorted(set(types))} first device type: {types[0]}",
            stacklevel=3,
        )
    if not types:
        return DefaultDeviceType.get_device_type()
    return "cuda" if "cuda" in types else types[0]


def _get_device_module(device: str = "cuda") -> Any:
    return _C.device("meta") if device == "meta" else getattr(rushlight, device)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the numbers of the devices that tensors lie on, and the states of their generators.

    Parameters
    ----------
    *args
        Tensors, and lists, tuples and dicts of them; others, and those on the CPU, are passed over.

    Returns
    -------
    tuple
        A list of numbers of devices, one for each tensor, and a list of states.

    Notes
    -----
    Same as torch.utils.checkpoint.get_device_states: https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> torch.utils.checkpoint.get_device_states(torch.ones(2), [torch.zeros(1)])
    ([], [])
    """
    devices = [t.device.index for t in _tensors(args) if t.device.type not in ("cpu", "meta")]
    if not devices:
        return [], []
    module = _get_device_module(_infer_device_type(*args))
    return devices, [module.get_rng_state(i) for i in devices]


def set_device_states(
    devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None
) -> None:
    """Set the states of devices' generators: what get_device_states() returned.

    Parameters
    ----------
    devices : iterable of int
        Numbers of devices.
    states : iterable of Tensor
        A state for each.
    device_type : str, optional
        Their type; by default that of DefaultDeviceType.

    Notes
    -----
    Same as torch.utils.checkpoint.set_device_states: https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> torch.utils.checkpoint.set_device_states(*torch.utils.checkpoint.get_device_states(torch.ones(2)))
    """
    device_type = device_type or DefaultDeviceType.get_device_type()
    if device_type == "meta":
        return
    module = _get_device_module(device_type)
    for device, state in zip(devices, states, strict=False):
        module.set_rng_state(state, device)


def _get_autocast_kwargs(device_type: str = "cuda") -> Any:
    """The arguments of torch.autocast that make its state of now: of a type of devices, and of the CPU."""

    def now(kind):
        return {
            "enabled": _C.is_autocast_enabled(kind),
            "dtype": _C.get_autocast_dtype(kind),
            "cache_enabled": _C.is_autocast_cache_enabled(),
        }

    return now(device_type) if rushlight.amp.is_autocast_available(device_type) else None, now("cpu")


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


# ---- what a checkpoint keeps of its first run, and fills by running again ----
class CheckpointError(RuntimeError):
    """Signal that the second run of a checkpoint did not save the same tensors as the first."""


_run_without_backward = itertools.count(-2, -1)  # ids for tensors that are unpacked outside of backward


class _Stop(Exception):
    """All slots are filled."""


class _Slot:
    """The place of one saved tensor: run of backward -> the tensor; None once it was taken."""

    def __init__(self):
        self.values = {}


class _Inputs(Function):
    """Saves a checkpoint's inputs: an outer checkpoint packs them as it packs all else."""

    @staticmethod
    def forward(ctx, marker, *tensors):
        ctx.save_for_backward(*tensors)
        return marker.clone()

    @staticmethod
    def backward(ctx, grad):
        raise AssertionError("nobody differentiates by the marker")


def _describe(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS = {"default": _describe, "none": lambda tensor: None}


class _Frame:
    """One call of checkpoint()."""

    def __init__(self, again, args, early_stop, describe):
        self.again, self.early_stop, self.describe = again, early_stop, describe
        self.slots, self.descriptions = [], []
        self.counts = {}  # run of backward -> tensors saved in it
        self.finished = False  # the first time
        self.ignore_count = False
        self.places, self.args = _tensor_places(args), _without_tensors(args)
        marker = _C.zeros(0, requires_grad=True)
        self.inputs = _Inputs.apply(marker, *(args[i] for i in self.places)).grad_fn

    def pack(self, tensor):
        slot = _Slot()
        self.slots.append(weakref.ref(slot))
        with no_grad():
            self.descriptions.append(self.describe(tensor))
        return slot

    def unpack(self, slot):
        run = GraphExecGroup._get_current_group() or _C._current_graph_task_id()
        if run == -1:
            run = next(_run_without_backward)
        if run not in self.counts:
            self.compute(run)
        if slot.values[run] is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
                "once. If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
                "Otherwise please open an issue with details on your use case."
            )
        tensor, slot.values[run] = slot.values[run], None
        return tensor

    def compute(self, run):
        args = _with_tensors(self.args, self.places, self.inputs.saved_tensors)
        self.counts[run] = 0
        try:
            with saved_tensors_hooks(lambda t: self.fill(run, t), lambda t: t), enable_grad():
                self.again(*args)
        except _Stop:
            pass
        self.check(run)

    def fill(self, run, tensor):
        """The next tensor that is saved the second time."""
        nth = self.counts[run]
        self.counts[run] += 1
        tensor = tensor.detach()
        if nth >= len(self.slots):
            if self.finished:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during "
                    "the original forward pass.\n" + _TIP
                )
            self.ignore_count = True  # backward inside of the part itself: the rest is still to come
            return tensor
        slot = self.slots[nth]()
        if slot is not None:  # its node may be gone
            slot.values[run] = tensor
        if self.early_stop and self.counts[run] == len(self.slots):
            raise _Stop
        return tensor

    def check(self, run):
        if self.ignore_count:
            return
        if self.counts[run] != len(self.slots):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
                f"and recomputation.\nNumber of tensors saved during forward: {len(self.slots)}\n"
                f"Number of tensors saved during recomputation: {self.counts[run]}.\n{_TIP}"
            )
        wrong = ""
        for nth, (reference, before) in enumerate(zip(self.slots, self.descriptions, strict=True)):
            slot = reference()
            after = before if slot is None else self.describe(slot.values[run])
            if before != after:
                wrong += (
                    f"tensor at position {nth}:\nsaved metadata: {before}\nrecomputed metadata: {after}\n"
                )
        if wrong:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                f"than during the forward pass.\n{wrong}.\n{_TIP}"
            )


_TIP = """
Tip: The function must do the same each time that it is called with the same tensors: look for branches on
random numbers, on global state, or on whether gradients are recorded.
"""


__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


# ---- what both kinds need ----
def noop_context_fn() -> Any:
    """Return two contexts that do nothing: the default `context_fn` of checkpoint().

    Examples
    --------
    >>> first, second = torch.utils.checkpoint.noop_context_fn()
    >>> with first:
    ...     print("as without it")
    as without it
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


# ---- without reentrance ----
_early_stop = None
_debug = None


def _checkpoint(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop):
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        raise _missing.refuse("checkpoint with debug=True")
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    surroundings = _surroundings(preserve, args, kwargs)
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)

    def again(*args):
        with _as_in(surroundings), second:
            function(*args, **kwargs)

    stop = early_stop if _early_stop is None else _early_stop
    frame = _Frame(again, args, stop, _CHECKS[determinism_check])
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
        frame.finished = True
    if not frame.finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
            "raised during the checkpointed forward. This is not supported because checkpoint cannot return "
            "a value for a failed forward."
        )
    return result


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Choose within a context whether the second run of checkpoints ends as soon as all tensors are there.

    Parameters
    ----------
    enable : bool
        In place of `early_stop` of checkpoint().

    Notes
    -----
    Same as torch.utils.checkpoint.set_checkpoint_early_stop:
    https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> from rushlight.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = torch.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(torch.exp, x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Choose within a context whether checkpoints run in debug mode, which rushlight lacks.

    Parameters
    ----------
    enabled : bool or None
        In place of `debug` of checkpoint(); None leaves it to that.

    Notes
    -----
    Same as torch.utils.checkpoint.set_checkpoint_debug_enabled:
    https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> from rushlight.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(False):
    ...     checkpoint(torch.exp, torch.zeros(1), use_reentrant=False, debug=True)
    tensor([1.])
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


# ---- several runs of backward over one run of the part ----
class GraphExecGroup:
    """Let several runs of backward within the context share what a checkpoint computes again.

    Each may take every saved tensor once: they go through different parts of the graph. Only for checkpoints
    with ``use_reentrant=False``.

    Notes
    -----
    Same as torch.utils.checkpoint.GraphExecGroup: https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> from rushlight.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> y, z = checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     y.sum().backward()
    ...     z.sum().backward()
    >>> x.grad
    tensor([3.2586, 3.2586])
    """

    def __enter__(self) -> GraphExecGroup:
        group = self._get_current_group()
        if group is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {group}")
        _of_thread.group = self
        return self

    def __exit__(self, *args: object) -> None:
        _of_thread.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(_of_thread, "group", None)


_of_thread = threading.local()


# ---- operators whose results are kept: they need __torch_dispatch__ ----
class CheckpointPolicy(enum.Enum):
    """Say what a checkpoint does with an operator's result: keep it, or compute it again.

    Notes
    -----
    Same as torch.utils.checkpoint.CheckpointPolicy: https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE.value
    0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """Tell a policy about the call of an operator: whether it is the second, and its result.

    Parameters
    ----------
    is_recompute : bool
        Whether the part runs again.
    op_output : optional
        What the operator returned.

    Notes
    -----
    Same as torch.utils.checkpoint.SelectiveCheckpointContext:
    https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> torch.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).op_output is None
    True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> Any:
    """Raise NotImplementedError: a checkpoint keeps no results of single operators here.

    Parameters
    ----------
    policy_fn_or_list : callable or list
        In PyTorch: what says of each operator whether its result is kept.
    allow_cache_entry_mutation : bool, default False
        In PyTorch: whether what is kept may be written.

    Raises
    ------
    TypeError
        If it is neither a function nor a list.
    NotImplementedError
        Otherwise: checkpoint() without `context_fn` computes the same, and more of it again.

    Examples
    --------
    >>> torch.utils.checkpoint.create_selective_checkpoint_contexts(3)
    Traceback (most recent call last):
    TypeError: policy_fn_or_list must be either a function or a list of ops.
    """
    if not isinstance(policy_fn_or_list, list) and not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    raise _missing.refuse(
        "create_selective_checkpoint_contexts: checkpoint() without context_fn computes the same"
    )


# ---- entry points ----
def _reentrant_by_default(prefix, version, stacklevel):
    warnings.warn(
        f"torch.utils.{prefix}: the use_reentrant parameter should be passed explicitly. {version} "
        "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you "
        "can pass use_reentrant=True. Refer to docs for more details on the differences between the two "
        "variants.",
        stacklevel=stacklevel,
    )
    return True


def _no_more(kwargs):
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))


def checkpoint(
    function: Any,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Any = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Checkpoint a part of a model: backward computes it again instead of keeping its tensors in memory.

    It trades time for memory: the part runs twice. It must do the same both times.

    Parameters
    ----------
    function : callable
        Part of the model, such as a module.
    *args
        Arguments of `function`.
    use_reentrant : bool
        False, the recommended way, works with all of autograd; True is the older way: it needs an argument
        that requires a gradient, and backward() without `inputs`. Without it True is taken, with a warning.
    context_fn : callable, optional
        Returns two contexts, for the first and for the second run. Only with ``use_reentrant=False``.
    determinism_check : {'default', 'none'}, default 'default'
        Whether shapes, dtypes and devices of both runs are compared.
    debug : bool, default False
        Not supported.
    early_stop : bool, default True
        End the second run as soon as all tensors are there.
    **kwargs
        Keyword arguments of `function`; and ``preserve_rng_state`` (True): the second run draws the same
        random numbers as the first.

    Returns
    -------
    object
        What `function` returns.

    Raises
    ------
    CheckpointError
        In backward, if the second run does not save the same tensors.
    ValueError
        If an option does not go with ``use_reentrant=True``.

    Notes
    -----
    Same as torch.utils.checkpoint.checkpoint: https://docs.pytorch.org/docs/2.13/checkpoint.html

    References
    ----------
    T. Chen et al., "Training deep nets with sublinear memory cost", 2016, https://arxiv.org/abs/1604.06174

    Examples
    --------
    >>> from rushlight.utils.checkpoint import checkpoint
    >>> block = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> x = torch.ones(2, 4, requires_grad=True)
    >>> checkpoint(block, x, use_reentrant=False).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 4])
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default(
            "checkpoint",
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception.",
            3,
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _checkpoint(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
    _no_more(kwargs)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(
    functions: Any, segments: Any, input: Tensor, use_reentrant: Any = None, **kwargs: Any
) -> Any:
    """Checkpoint a sequence of layers in segments, each but the last.

    Parameters
    ----------
    functions : Sequential or list of callables
        Layers, in their order.
    segments : int
        Number of segments.
    input : Tensor
        Input of the first layer.
    use_reentrant : bool
        As for checkpoint().
    **kwargs
        ``preserve_rng_state`` (True): the second run draws the same random numbers as the first.

    Returns
    -------
    Tensor
        Output of the last layer.

    Raises
    ------
    ValueError
        If another keyword is given.

    Notes
    -----
    Same as torch.utils.checkpoint.checkpoint_sequential: https://docs.pytorch.org/docs/2.13/checkpoint.html

    Examples
    --------
    >>> from rushlight.utils.checkpoint import checkpoint_sequential
    >>> model = nn.Sequential(*(nn.Linear(3, 3) for _ in range(4)))
    >>> x = torch.ones(2, 3, requires_grad=True)
    >>> checkpoint_sequential(model, 2, x, use_reentrant=False).sum().backward()
    >>> x.grad.shape
    torch.Size([2, 3])
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default(
            "checkpoint.checkpoint_sequential",
            "In version 2.9 we will raise an exception if use_reentrant is not passed.",
            3,
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    _no_more(kwargs)
    if isinstance(functions, rushlight.nn.Sequential):
        functions = list(functions.children())

    def run(part):
        def forward(input):
            for function in part:
                input = function(input)
            return input

        return forward

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        part = run(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(functions[last:])(input)
