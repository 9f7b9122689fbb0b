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
import warnings

import rushlight
from rushlight import _C, _homes, _missing
from rushlight.autograd.graph import saved_tensors_hooks

from ._checkpoint_frames import (
    _CHECKS,
    CheckpointError,
    _Frame,
)
from ._checkpoint_reentrant import (
    CheckpointFunction,
    DefaultDeviceType,
    _as_in,
    _surroundings,
    check_backward_validity,
    detach_variable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "DefaultDeviceType",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


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


_homes.adopt(
    __name__, detach_variable, check_backward_validity, DefaultDeviceType, CheckpointFunction, CheckpointError
)
