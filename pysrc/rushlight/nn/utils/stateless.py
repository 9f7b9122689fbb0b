"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings

from rushlight import nn

from ._named_member_accessor import NamedMemberAccessor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Module, Tensor

__all__ = ["functional_call"]


def _add_tied_names(module, given):
    """The given tensors, each under all names that its place in the module has."""
    names_of: dict = {}
    for walk in (module.named_parameters, module.named_buffers):
        for name, tensor in walk(remove_duplicate=False):
            names_of.setdefault(id(tensor), set()).add(name)
    tied = {name: names for names in names_of.values() if len(names) > 1 for name in names}
    result = dict(given)
    for name in given:
        names = tied.get(name)
        if names is None:
            continue
        if len(names & given.keys()) > 1 and len({id(given[each]) for each in names & given.keys()}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, "
                "which are tied. Consider using tie_weights=False"
            )
        for each in names:
            result[each] = given[name]
    return result


def _check_names(module, accessor, given) -> None:
    missing, unexpected = accessor.check_keys(given)
    lines = []
    if unexpected:
        lines.append(f"Unexpected key(s): {', '.join(map(repr, unexpected))}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if lines:
        text = "\n\t".join(lines)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{text}")


@contextlib.contextmanager
def _reparametrize_module(
    module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False
):
    """Put the tensors into the module for a while; what the module makes of them is put into the dict."""
    given = parameters_and_buffers
    if tie_weights:
        given = _add_tied_names(module, parameters_and_buffers)
    accessor = NamedMemberAccessor(module)
    if strict:
        _check_names(module, accessor, given)
    own: dict = {}
    try:
        try:
            accessor.swap_into(own, given)
            yield
        finally:
            now: dict = {}
            accessor.swap_into(now, _in_turn(own, stack_weights))
            # a forward may have replaced buffers
            parameters_and_buffers.update({k: now[k] for k in parameters_and_buffers if k in now})
    except BaseException:  # if it interrupted the putting back: once more
        accessor.swap_into({}, _in_turn(own, stack_weights))
        raise


def _in_turn(own, stack_weights):
    return dict(reversed(own.items())) if stack_weights else own


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters. Deprecated, with a warning: use func.functional_call().

    Parameters
    ----------
    module : Module
        Module.
    parameters_and_buffers : dict of Tensors
        Tensors by name; others are the module's own.
    args : tuple, optional
        Arguments of the module.
    kwargs : dict, optional
        Keyword arguments of the module.
    tie_weights : bool, default True
        Give tied parameters the same tensor.
    strict : bool, default False
        Names must be all those of the module.

    Returns
    -------
    object
        What the module returns.
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 "
        "and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    if isinstance(module, nn.parallel.DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
