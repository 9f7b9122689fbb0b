"""Arguments and results of the functions of autograd.functional."""

from __future__ import annotations

from rushlight import _C

from ._engine import grad

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
