"""Products of vectors with Jacobians and Hessians."""

from __future__ import annotations

from ._functional_checks import (
    _as_tuple,
    _call,
    _call_single,
    _demand_history,
    _filled,
    _finished,
    _fresh,
    _gradients,
    _unpacked,
    _vector,
    _weights,
)
from .grad_mode import enable_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


@enable_grad()
def vjp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Tensor:
    """Compute a vector-Jacobian product: `v` times the Jacobian of a function, by one backward.

    Parameters
    ----------
    func : callable
        Takes tensors and returns a tensor or several.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    v : Tensor or tuple of Tensors, optional
        Of the shapes of the outputs; not needed for one number.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where an output does not depend on an input, instead of returning zeros.

    Returns
    -------
    tuple
        What the function returns, and the product, of the shapes of the inputs.

    Raises
    ------
    RuntimeError
        If `v` has another shape, or with `strict`.
    TypeError
        If inputs or outputs are no tensors.

    Notes
    -----
    Same as torch.autograd.functional.vjp:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vjp.html

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x**2, x, torch.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    several, inputs = _as_tuple(inputs, "inputs", "vjp")
    inputs = _fresh(inputs, create_graph)
    several_out, outputs = _call(func, inputs, "vjp", strict)
    v = _vector(v, outputs, several_out, create_graph, "vjp")
    found = _filled(_gradients(outputs, inputs, v, create_graph), inputs, strict, create_graph, "vjp")
    outputs, found = _finished(outputs, create_graph), _finished(found, create_graph)
    return _unpacked(outputs, several_out), _unpacked(found, several)


@enable_grad()
def jvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Tensor:
    """Compute a Jacobian-vector product: the Jacobian of a function times `v`, by two runs of backward.

    Parameters
    ----------
    func : callable
        Takes tensors and returns a tensor or several.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    v : Tensor or tuple of Tensors, optional
        Of the shapes of the inputs; not needed for one number.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where an output does not depend on an input, instead of returning zeros.

    Returns
    -------
    tuple
        What the function returns, and the product, of the shapes of the outputs.

    Raises
    ------
    RuntimeError
        If `v` has another shape, or with `strict`.
    TypeError
        If inputs or outputs are no tensors.

    Notes
    -----
    Same as torch.autograd.functional.jvp:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.jvp.html

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: x.prod(), x, torch.tensor([1.0, 0.0]))
    (tensor(2.), tensor(2.))
    """
    several, inputs = _as_tuple(inputs, "inputs", "jvp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "jvp")
    several_out, outputs = _call(func, inputs, "jvp", strict)
    weights = _weights(outputs)
    gradients = _gradients(outputs, inputs, weights, True)
    _demand_history(gradients, "grad_inputs", strict)
    found = _gradients(gradients, weights, v, create_graph)
    found = _filled(found, outputs, strict, create_graph, "jvp")
    outputs, found = _finished(outputs, create_graph), _finished(found, create_graph)
    return _unpacked(outputs, several_out), _unpacked(found, several_out)


@enable_grad()
def vhp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Tensor:
    """Compute a vector-Hessian product: `v` times the matrix of second derivatives of a function.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one number.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    v : Tensor or tuple of Tensors, optional
        Of the shapes of the inputs; not needed for one number.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where the gradient does not depend on an input, instead of returning zeros.

    Returns
    -------
    tuple
        What the function returns, and the product, of the shapes of the inputs.

    Raises
    ------
    RuntimeError
        If `v` has another shape, the function returns more than one number, or with `strict`.
    TypeError
        If inputs or outputs are no tensors.

    Notes
    -----
    Same as torch.autograd.functional.vhp:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.vhp.html

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), x, torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    several, inputs = _as_tuple(inputs, "inputs", "vhp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "vhp")
    outputs = _call_single(func, inputs, "vhp", strict)
    slopes = _gradients(outputs, inputs, None, True)
    _demand_history(slopes, "jacobian", strict)
    found = _gradients(slopes, inputs, v, create_graph)
    found = _filled(found, inputs, strict, create_graph, "vhp")
    return _finished(outputs, create_graph)[0], _unpacked(_finished(found, create_graph), several)


@enable_grad()
def hvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Tensor:
    """Compute a Hessian-vector product: the matrix of second derivatives of a function times `v`.

    vhp() gives the same numbers in less time.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one number.
    inputs : Tensor or tuple of Tensors
        Its arguments.
    v : Tensor or tuple of Tensors, optional
        Of the shapes of the inputs; not needed for one number.
    create_graph : bool, default False
        Record the computation, so that the results can be differentiated again.
    strict : bool, default False
        Raise an error where the gradient does not depend on an input, instead of returning zeros.

    Returns
    -------
    tuple
        What the function returns, and the product, of the shapes of the inputs.

    Raises
    ------
    RuntimeError
        If `v` has another shape, the function returns more than one number, or with `strict`.
    TypeError
        If inputs or outputs are no tensors.

    Notes
    -----
    Same as torch.autograd.functional.hvp:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.functional.hvp.html

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), x, torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    several, inputs = _as_tuple(inputs, "inputs", "hvp")
    inputs = _fresh(inputs, create_graph)
    v = _vector(v, inputs, several, create_graph, "hvp")
    outputs = _call_single(func, inputs, "hvp", strict)
    slopes = _gradients(outputs, inputs, None, True)
    _demand_history(slopes, "jacobian", strict)
    weights = _weights(inputs)
    products = _gradients(slopes, inputs, weights, True)
    found = _gradients(products, weights, v, create_graph)
    found = _filled(found, inputs, strict, create_graph, "hvp")
    return _finished(outputs, create_graph)[0], _unpacked(_finished(found, create_graph), several)
