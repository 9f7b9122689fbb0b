"""Jacobians, Hessians and their products with vectors, of functions of tensors.

Every function takes ``func`` and its inputs, a tensor or a tuple of them. With ``create_graph`` the results
can be differentiated again; ``strict`` raises RuntimeError where a result does not depend on an input,
instead of giving zeros.

See https://docs.pytorch.org/docs/2.13/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

from rushlight import _C, _missing

from ._engine import grad
from .grad_mode import enable_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---- arguments and results of the functions of autograd.functional ----
_RESULTS = "outputs of the user-provided function"


_STRICT = " This is not allowed in strict mode"


def _as_tuple(given, what, caller):
    """(was it a tuple, a tuple of tensors)."""
    several = isinstance(given, tuple)
    tensors = given if several else (given,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, _C.Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the {which} "
                f"has type {type(tensor)}."
            )
    return several, tensors


def _unpacked(tensors, several):
    return tensors if several else tensors[0]


def _fresh(tensors, create_graph, wanted=True):
    """New objects, so that a tensor that func catches by its name is not the one that it gets."""
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(wanted)
        for t in tensors
    )


def _finished(tensors, create_graph):
    return tuple(tensors) if create_graph else tuple(t.detach() for t in tensors)


def _vector(v, like, several, create_graph, caller):
    """`v`, checked against the tensors that it goes with; None where one number needs none."""
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return None
        holder = (
            "user-provided function returns" if caller == "vjp" else "input to the user-provided function is"
        )
        raise RuntimeError(
            f"The vector v can only be None if the {holder} a single Tensor with a single element."
        )
    v = _fresh(_as_tuple(v, "v", caller)[1], create_graph, False)
    if len(v) != len(like):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, like, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.shape} but got {a.shape}.")
    return v


def _gradients(outputs, inputs, weights, create_graph, keep=None):
    """As autograd.grad, with None for unused inputs; outputs without history count for nothing."""
    weights = weights or (None,) * len(outputs)
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outputs, weights = zip(*pairs, strict=True)
    return grad(outputs, inputs, weights, retain_graph=keep, create_graph=create_graph, allow_unused=True)


_WITHOUT_HISTORY = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided "
    "function." + _STRICT + ".",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {i} is independent of the input."
    + _STRICT
    + ". You should ensure that your function is "
    "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
    "function for example).",
}


_UNUSED = {
    "vjp": "The output of the user-provided function is independent of input {i}." + _STRICT + ".",
    "jvp": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when "
    "using the double backward trick to compute forward mode gradients." + _STRICT + ".",
    "vhp": "The jacobian of the user-provided function is independent of input {i}." + _STRICT + ".",
    "hvp": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian."
    + _STRICT
    + " as it prevents from using the double backward trick to replace forward mode AD.",
}


def _demand_history(tensors, what, strict):
    for i, tensor in enumerate(tensors if strict else ()):
        if tensor is None:
            raise RuntimeError(_UNUSED["vjp"].format(i=i))
        if not tensor.requires_grad:
            raise RuntimeError(_WITHOUT_HISTORY[what].format(i=i))


def _filled(found, like, strict, create_graph, caller):
    """Zeros for what is missing, unless strict."""
    for i, gradient in enumerate(found if strict else ()):
        if gradient is None:
            raise RuntimeError(_UNUSED[caller].format(i=i))
        if create_graph and not gradient.requires_grad:
            order = "hessian" if caller in ("vhp", "hvp") else "jacobian"
            raise RuntimeError(
                f"The {order} of the user-provided function is independent of input {i}.{_STRICT} when "
                "create_graph=True."
            )
    return tuple(_C.zeros_like(t) if g is None else g for g, t in zip(found, like, strict=True))


def _call(func, inputs, caller, strict):
    several, outputs = _as_tuple(func(*inputs), _RESULTS, caller)
    _demand_history(outputs, "outputs", strict)
    return several, outputs


def _call_single(func, inputs, caller, strict):
    """For Hessians: func has one result with one element."""
    several, outputs = _call(func, inputs, caller, strict)
    if several:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {caller} should contain a single element"
        )
    return outputs


def _weights(tensors):
    """Zeros that want gradients: what is linear in them is recorded, whatever their values."""
    return tuple(_C.zeros_like(t).requires_grad_() for t in tensors)


__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


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


# ---- products of vectors with Jacobians and Hessians ----
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
