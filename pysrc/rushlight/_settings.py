"""Switches of the package, and what is accepted and changes nothing: compile."""

from __future__ import annotations

from . import _C, _precision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_switches = {"interop": None, "warn_always": False}


def set_num_interop_threads(n: int) -> None:
    """Set the number of threads that run operators beside each other: accepted, operators run one by one.

    Parameters
    ----------
    n : int
        Number of threads.

    Raises
    ------
    RuntimeError
        If it is not positive.
    TypeError
        If it is no int.

    Notes
    -----
    Same as torch.set_num_interop_threads:
    https://docs.pytorch.org/docs/2.13/generated/torch.set_num_interop_threads.html

    Examples
    --------
    >>> torch.set_num_interop_threads(torch.get_num_interop_threads())
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _switches["interop"] = n


def get_num_interop_threads() -> Any:
    """Return the number of threads that set_num_interop_threads() has set.

    Returns
    -------
    int
        The number.

    Notes
    -----
    Same as torch.get_num_interop_threads:
    https://docs.pytorch.org/docs/2.13/generated/torch.get_num_interop_threads.html

    Examples
    --------
    >>> torch.get_num_interop_threads() > 0
    True
    """
    return _switches["interop"] or _C.get_num_threads()


def set_warn_always(b: bool, /) -> None:
    """Choose whether warnings that come once come every time.

    Parameters
    ----------
    b : bool
        Whether they do.

    Notes
    -----
    Same as torch.set_warn_always: https://docs.pytorch.org/docs/2.13/generated/torch.set_warn_always.html

    Examples
    --------
    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _switches["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Return what set_warn_always() has set.

    Returns
    -------
    bool
        Whether warnings come every time.

    Notes
    -----
    Same as torch.is_warn_always_enabled:
    https://docs.pytorch.org/docs/2.13/generated/torch.is_warn_always_enabled.html

    Examples
    --------
    >>> torch.is_warn_always_enabled()
    False
    """
    return _switches["warn_always"]


def set_float32_matmul_precision(precision: str) -> None:
    """Set how products of float32 matrices may round on a GPU: with "high" or "medium" to TF32.

    On the CPU they are always computed in float32.

    Parameters
    ----------
    precision : {'highest', 'high', 'medium'}
        The precision.

    Raises
    ------
    RuntimeError
        If it is no str. One that is unknown changes nothing, with a warning.

    Notes
    -----
    Same as torch.set_float32_matmul_precision:
    https://docs.pytorch.org/docs/2.13/generated/torch.set_float32_matmul_precision.html

    Examples
    --------
    >>> torch.set_float32_matmul_precision("high")
    >>> torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in ("highest", "high", "medium"):
        return _precision.set_matmul(precision)
    import warnings

    warnings.warn(
        f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
        "setFloat32MatmulPrecision call has no effect.",
        stacklevel=2,
    )


def get_float32_matmul_precision() -> str:
    """Return what set_float32_matmul_precision() has set.

    Returns
    -------
    str
        The precision.

    Notes
    -----
    Same as torch.get_float32_matmul_precision:
    https://docs.pytorch.org/docs/2.13/generated/torch.get_float32_matmul_precision.html

    Examples
    --------
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _precision.matmul()


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return what runs a model or function as it is: there is no compiler, scripts that ask for one run.

    Parameters
    ----------
    model : Module or callable, optional
        What to compile; a decorator is returned if not given.
    fullgraph : bool, default False
        Accepted.
    dynamic : bool, optional
        Accepted.
    backend : str or callable, optional
        One of ``torch._dynamo.list_backends(None)``; a callable is accepted and not called.
    mode : str, optional
        "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs" or "lite".
    options : dict, optional
        Instead of a mode; accepted.
    name : str, optional
        Accepted.
    disable : bool, default False
        Return `model` itself.
    recompile_limit : int, optional
        Accepted.
    isolate_recompiles : bool, default False
        Accepted.
    shapes_spec : object, optional
        Accepted.

    Returns
    -------
    OptimizedModule or callable
        For a module: one whose only child, ``_orig_mod``, is that module, with which keys of its state dict
        start, as in PyTorch. For a function: one that calls it.

    Raises
    ------
    AssertionError
        If `model` cannot be called.
    RuntimeError
        If there is no such mode or backend.

    Notes
    -----
    torch.compile of PyTorch: https://docs.pytorch.org/docs/2.13/generated/torch.compile.html

    Examples
    --------
    >>> model = torch.compile(nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """
    if model is None:

        def fn(model):
            if model is None:
                raise RuntimeError("Model can't be None")
            return compile(
                model, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
            )

        return fn
    from ._dynamo import eval_frame

    return eval_frame.compiled(model, backend, mode, options, dynamic, disable)
