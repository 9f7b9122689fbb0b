"""autograd.backward and autograd.grad: checks before the engine runs."""

from __future__ import annotations

import math
import warnings
from collections import namedtuple

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import Tensor


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])):
    """Represent an edge of the autograd graph: a node, and which of its results a tensor is.

    backward() and grad() take it in place of the tensor, which need not live any more.

    Notes
    -----
    Same as torch.autograd.graph.GradientEdge:
    https://docs.pytorch.org/docs/2.13/autograd.html#torch.autograd.graph.GradientEdge

    Examples
    --------
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x**2)
    >>> torch.autograd.grad(edge, x)
    (tensor(6.),)
    """

    __slots__ = ()


GradientEdge.__module__ = "rushlight.autograd.graph"


def _as_tuple(tensors):
    return (tensors,) if isinstance(tensors, (_C.Tensor, GradientEdge)) else tuple(tensors)


def _looks(root):
    """Return the shape, dtype and device of a root."""
    if isinstance(root, GradientEdge):
        root = root.node._input_metadata[root.output_nr]
    return root.shape, root.dtype, root.device


def _one_for(root):
    shape, dtype, device = _looks(root)
    if (isinstance(root, GradientEdge) or root.requires_grad) and math.prod(shape) != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    with _no_grad():
        return _C.ones(shape, dtype=dtype, device=device) if dtype.is_floating_point else None


def _root_gradients(tensors, gradients, batched=False):
    """One gradient per root: given ones are checked, missing ones of scalars are 1."""
    made = []
    for i, (tensor, gradient) in enumerate(zip(tensors, gradients, strict=True)):
        if isinstance(gradient, _C.Tensor):
            shape = _looks(tensor)[0]
            if gradient.shape != shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] "
                    f"has a shape of {shape}."
                )
            made.append(gradient)
        elif gradient is None:
            made.append(_one_for(tensor))
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    return tuple(made)


def _no_grad():
    from .grad_mode import no_grad

    return no_grad()


def backward(
    tensors: Any,
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Any = None,
) -> None:
    """Compute gradients backward and accumulate them in the ``.grad`` of the leaves.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensors
        What to differentiate; also GradientEdges.
    grad_tensors : Tensor or sequence of Tensors or Nones, optional
        Gradients with respect to them, of their shapes; 1 for scalars if not given.
    retain_graph : bool, optional
        Keep the graph for another run; `create_graph` if not given.
    create_graph : bool, default False
        Record the computation of the gradients, so that they can be differentiated.
    grad_variables : Tensor or sequence of Tensors, optional
        Deprecated: use `grad_tensors`.
    inputs : Tensor or sequence of Tensors, optional
        Accumulate in these only, which may be no leaves.

    Raises
    ------
    RuntimeError
        If a tensor has no history, one that is no scalar has no gradient, shapes differ, or the graph was
        freed.

    Notes
    -----
    Same as torch.autograd.backward: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.backward.html

    Examples
    --------
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x**2).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    inputs = _as_tuple(inputs) if inputs is not None else None
    if inputs is not None and len(inputs) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    gradients = [None] * len(tensors) if grad_tensors is None else _as_tuple(grad_tensors)
    gradients = _root_gradients(tensors, gradients)
    keep = create_graph if retain_graph is None else retain_graph
    for tensor in inputs or ():
        if isinstance(tensor, _C.Tensor) and not tensor.is_leaf:
            tensor.retain_grad()
    _C._run_backward(tensors, gradients, bool(keep), bool(create_graph), inputs, True, True)


def tensor_backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Run Tensor.backward with arguments; without any it never leaves C."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...] | dict[str, Tensor]:
    """Compute the gradients of outputs with respect to inputs and return them; no ``.grad`` changes.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensors
        What to differentiate; also GradientEdges.
    inputs : Tensor or sequence of Tensors
        By what.
    grad_outputs : Tensor or sequence of Tensors or Nones, optional
        Gradients with respect to the outputs, of their shapes; 1 for scalars if not given.
    retain_graph : bool, optional
        Keep the graph for another run; `create_graph` if not given.
    create_graph : bool, default False
        Record the computation of the gradients, so that they can be differentiated.
    only_inputs : bool, default True
        Deprecated; without effect.
    allow_unused : bool, optional
        Return None for inputs that were not used instead of raising an error; `materialize_grads` if not
        given.
    is_grads_batched : bool, default False
        The first dimension of `grad_outputs` counts runs; the results have it, too.
    materialize_grads : bool, default False
        Return zeros for inputs that were not used.

    Returns
    -------
    tuple of Tensors
        One gradient for each input.

    Raises
    ------
    RuntimeError
        If an input was not used and `allow_unused` is not set, an output has no history, shapes differ, or
        the graph was freed.
    ValueError
        If `materialize_grads` meets ``allow_unused=False``.

    Notes
    -----
    Same as torch.autograd.grad: https://docs.pytorch.org/docs/2.13/generated/torch.autograd.grad.html

    Examples
    --------
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> slope.item()
    27.0
    >>> torch.autograd.grad(slope, x)
    (tensor(18.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    gradients = [None] * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched_grad(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads)
    gradients = _root_gradients(outputs, gradients)
    found = _C._run_backward(
        outputs, gradients, bool(keep), bool(create_graph), inputs, bool(allow_unused), False
    )
    return _materialized(found, inputs) if materialize_grads else found


def _materialized(found, inputs):
    return tuple(_C.zeros_like(i) if g is None else g for g, i in zip(found, inputs, strict=True))


def _batched_grad(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads):
    """One run for each slice of the gradients; the results are stacked."""
    runs = []
    count = len(gradients[0])
    for i in range(count):
        rows = tuple(None if g is None else g[i] for g in gradients)
        last = i == count - 1
        found = grad(
            outputs,
            inputs,
            rows,
            bool(keep) or not last,
            create_graph,
            True,
            allow_unused,
            False,
            materialize_grads,
        )
        runs.append(found)
    return tuple(None if column[0] is None else _C.stack(column) for column in zip(*runs, strict=True))
