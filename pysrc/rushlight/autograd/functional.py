"""Jacobians, Hessians and their products with vectors, of functions of tensors.

Every function takes ``func`` and its inputs, a tensor or a tuple of them. With ``create_graph`` the results
can be differentiated again; ``strict`` raises RuntimeError where a result does not depend on an input,
instead of giving zeros.

See https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

from rushlight import _C, _homes, _missing

from ._functional_checks import (
    _STRICT,
    _as_tuple,
    _call,
    _call_single,
    _demand_history,
    _finished,
    _fresh,
    _gradients,
    _unpacked,
)
from ._functional_products import hvp, jvp, vhp, vjp
from .grad_mode import enable_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


# ---- matrices ----
_STRATEGIES = ("forward-mode", "reverse-mode")


def _check_strategy(strategy, create_graph, strict, vectorize):
    forward = strategy == "forward-mode"
    clash = ("create_graph" if create_graph and forward else None) or (
        "strict" if strict and (forward or vectorize) else None
    )
    if clash:
        other, instead = (
            ('`strategy="forward-mode"` are not supported together (yet)', '`strategy="reverse-mode"`')
            if forward
            else ("`vectorized=True` are not supported together", "`vectorize=False`")
        )
        raise (NotImplementedError if clash == "create_graph" else RuntimeError)(
            f"torch.autograd.functional.jacobian: `{clash}=True` and {other}. "
            f"Please either set `{clash}=False` or {instead}."
        )
    if forward and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is"
            "only implemented for `vectorize=True`."
        )


def _jacobian_of(output, nth, inputs, create_graph, strict):
    """For each input a tensor of shape (output's, input's), row by row."""
    rows = []
    for j in range(output.numel()):
        unit = _C.zeros(output.numel(), dtype=output.dtype, device=output.device)
        unit[j] = 1
        found = _gradients((output,), inputs, (unit.view(output.shape),), create_graph, True)
        for i, gradient in enumerate(found if strict else ()):
            if gradient is None:
                raise RuntimeError(
                    f"Output {nth} of the user-provided function is independent of input {i}.{_STRICT}."
                )
            if create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {nth}.{_STRICT} "
                    "when create_graph=True."
                )
        rows.append([_C.zeros_like(t) if g is None else g for g, t in zip(found, inputs, strict=True)])
    if not rows:
        return tuple(t.new_zeros((*output.shape, *t.shape)) for t in inputs)
    columns = zip(*rows, strict=True)
    return tuple(
        _C.stack(column).view((*output.shape, *t.shape)) for column, t in zip(columns, inputs, strict=True)
    )


@enable_grad()
def jacobian(
    func: Any,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Tensor:
    """Compute the Jacobian: the derivatives of all outputs of a function with respect to all its inputs.

    Parameters
    ----------
    func : callable
        Takes tensors and returns a tensor or several.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where an output does not depend on an input, instead of returning zeros.
    vectorize : bool, default False
        Accepted; it is computed row by row backward.
    strategy : {'reverse-mode', 'forward-mode'}, default 'reverse-mode'
        Accepted; 'forward-mode' needs `vectorize`.

    Returns
    -------
    Tensor or tuples of Tensors
        Of the shape (output's, input's); a tuple for each tuple of outputs, holding one for each tuple of
        inputs.

    Raises
    ------
    RuntimeError
        With `strict`.
    TypeError
        If inputs or outputs are no tensors.
    NotImplementedError
        If 'forward-mode' meets `create_graph` or lacks `vectorize`.

    Notes
    -----
    Same as torch.autograd.functional.jacobian:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jacobian.html

    Examples
    --------
    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
            'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    _check_strategy(strategy, create_graph, strict, vectorize)
    several, inputs = _as_tuple(inputs, "inputs", "jacobian")
    inputs = _fresh(inputs, create_graph)
    several_out, outputs = _call(func, inputs, "jacobian", strict)
    found = [
        _finished(_jacobian_of(output, nth, inputs, create_graph, strict), create_graph)
        for nth, output in enumerate(outputs)
    ]
    return _unpacked(tuple(_unpacked(row, several) for row in found), several_out)


def hessian(
    func: Any,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Tensor:
    """Compute the Hessian: the second derivatives of a function with respect to its inputs.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one number.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where the gradient does not depend on an input, instead of returning zeros.
    vectorize : bool, default False
        Accepted; it is computed row by row backward.
    outer_jacobian_strategy : {'reverse-mode', 'forward-mode'}, default 'reverse-mode'
        Accepted; 'forward-mode' needs `vectorize`.

    Returns
    -------
    Tensor or tuples of Tensors
        Of the shape (input's, input's); tuples of tuples for a tuple of inputs.

    Raises
    ------
    RuntimeError
        If the function returns more than one number, or with `strict`.
    TypeError
        If inputs or outputs are no tensors.

    Notes
    -----
    Same as torch.autograd.functional.hessian:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hessian.html

    Examples
    --------
    >>> torch.autograd.functional.hessian(lambda x: x[0] ** 2 * x[1], torch.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    several, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*inputs):
        return _call_single(func, inputs, "hessian", strict)[0].squeeze()

    def slopes(*inputs):
        found = jacobian(number, inputs, create_graph=True)
        _demand_history(found, "jacobian", strict)
        return found

    found = jacobian(slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return _unpacked(tuple(_unpacked(row, several) for row in found), several)


_homes.adopt(__name__, vjp, jvp, vhp, hvp)
