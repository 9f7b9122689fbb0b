"""What gradcheck does: derivatives beside finite differences.

A Jacobian here is a matrix of shape (elements of the input, elements of the output). The slow mode compares
it element by element; the fast mode compares one number, u · J · v with random vectors, which needs two calls
of the function for each input instead of two for each element.
"""

from __future__ import annotations

import itertools
import math
import warnings

import rushlight
from rushlight import _C

from ._engine import grad
from .function import Function
from .gradcheck import GradcheckError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(results):
    return tuple(o for o in as_tuple(results) if o.requires_grad)


def wants_grad(value):
    return isinstance(value, _C.Tensor) and value.requires_grad


class _Point:
    """A function at its inputs."""

    def __init__(self, function, inputs, eps):
        self.function, self.inputs, self.eps = function, inputs, eps
        self.wanted = [i for i in inputs if wants_grad(i)]
        self.results = self.call()
        self.outputs = differentiable(self.results)

    def call(self):
        return as_tuple(self.function(*self.inputs))

    def difference(self, entry, step, where=""):
        """(f(x + step) - f(x - step)) / 2 eps of each floating result, flat; entry is a part of an input."""
        kept = entry.clone()
        try:
            entry.copy_(kept - step)
            below = [o.clone() for o in self.call()]
            entry.copy_(kept + step)
            above = [o.clone() for o in self.call()]
        finally:
            entry.copy_(kept)
        moved = []
        for a, b in zip(below, above, strict=True):
            _check_alike(a, b, self.eps, where)
            if a.is_floating_point():
                moved.append((b - a).detach().reshape(-1) / (2 * self.eps))
        return moved


def _check_alike(a, b, eps, where):
    for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}"
                f"by {eps}, but got: {what}s {one} and {other}."
            )


# ---- finite differences ----
def _numerical_jacobians(point, tensor, outputs):
    """One matrix for each floating output."""
    data = tensor.data  # writing here counts as no change for saved tensors
    places = itertools.product(*map(range, tensor.shape))
    rows = [point.difference(data[at], point.eps, f"on index {at} ") for at in places]
    if not rows:
        return [o.new_zeros((0, o.numel())) for o in outputs if o.is_floating_point()]
    return [_C.stack(column) for column in zip(*rows, strict=True)]


def _of_differentiable(values, outputs):
    """Of one value for each floating output, those of outputs with history."""
    floating = [o for o in outputs if o.is_floating_point()]
    return [v for o, v in zip(floating, values, strict=True) if o.requires_grad]


def _check_constant(point, outputs, vectors, tolerance):
    """Without any result that has a history nothing may change."""
    for n, tensor in enumerate(point.wanted):
        if vectors is None:
            moved = _numerical_jacobians(point, tensor, outputs)
        else:
            moved = point.difference(tensor.data, vectors[n].reshape(tensor.shape) * point.eps)
        if any(m.numel() and m.abs().max() > tolerance for m in moved):
            raise GradcheckError("Numerical gradient for function expected to be zero")


# ---- what backward says ----
_NONDETERMINISTIC = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

Pass `nondet_tol=<tol>` to gradcheck/gradgradcheck to accept small differences.
"""


def _basis(output):
    """Each gradient of `output` that has a single 1."""
    base = _C.zeros(output.shape, dtype=output.dtype, device=output.device)
    flat = base.view(-1)
    for j in range(flat.numel()):
        flat.zero_()
        flat[j] = 1.0
        yield base


def _columns(output, inputs, gradients):
    """For each input the gradients that each gradient of the output leads to."""
    rows = []
    for g in gradients:
        found = grad(output, inputs, g, retain_graph=True, allow_unused=True)
        rows.append([f if f is None else f.clone() for f in found])  # it may be the tensor that we write next
    return [[row[i] for row in rows] for i in range(len(inputs))]


def _matrix(tensor, found):
    """The found gradients as columns, and whether their sizes and their dtypes suit."""
    matrix = tensor.new_zeros((tensor.numel(), len(found)))
    sizes = all(g is None or g.shape == tensor.shape for g in found)
    dtypes = all(g is None or g.dtype == tensor.dtype for g in found)
    if sizes:
        for j, g in enumerate(found):
            if g is not None:
                matrix[:, j] = g.reshape(-1)
    return matrix, sizes, dtypes


def _analytical_jacobians(inputs, output, nondet_tol, check_grad_dtypes, vector=None):
    """One matrix for each input, computed twice; with a vector one column."""
    runs = []
    for _ in range(2):
        gradients = _basis(output) if vector is None else [vector.reshape(output.shape)]
        found = _columns(output, inputs, gradients)
        runs.append([_matrix(t, f) for t, f in zip(inputs, found, strict=True)])
    first, second = runs
    if check_grad_dtypes and not all(dtypes for _, _, dtypes in first):
        raise GradcheckError("Gradient has dtype mismatch")
    if not all(sizes for _, sizes, _ in first):
        raise GradcheckError("Analytical gradient has incorrect size")
    for (a, *_), (b, *_) in zip(first, second, strict=True):
        if a.numel() and (a - b).abs().max() > nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
                "times gives different values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {nondet_tol}." + _NONDETERMINISTIC
            )
    return [matrix for matrix, _, _ in first]


# ---- the two modes ----
def _close(a, b, rtol, atol):
    wide = a if a.element_size() >= b.element_size() else b
    return rushlight.allclose(a.to(wide.dtype), b.to(wide), rtol, atol)


def _mismatch(numerical, analytical, output, tensor):
    return (
        f"Jacobian mismatch for output {output} with respect to input {tensor},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )


def _slow(point, rtol, atol, nondet_tol, check_grad_dtypes):
    results, outputs = point.results, point.outputs
    if not outputs:
        return _check_constant(point, results, None, 0)
    numerical = [
        _of_differentiable(_numerical_jacobians(point, tensor, results), results) for tensor in point.wanted
    ]
    for o, output in enumerate(outputs):
        analytical = _analytical_jacobians(point.wanted, output, nondet_tol, check_grad_dtypes)
        for i, a in enumerate(analytical):
            if not _close(a, numerical[i][o], rtol, atol):
                raise GradcheckError(_mismatch(numerical[i][o], a, o, i))
    return None


def _vector(tensor, generator):
    """Of length 1; its elements are not negative, so that small errors cannot cancel."""
    v = _C.rand(tensor.numel(), generator=generator, device="cpu").to(tensor)
    return v / v.norm() if v.numel() else v


_SLOW_WOULD_PASS = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

Pass `fast_mode=False` to gradcheck/gradgradcheck to compare element by element.
""".strip()


def _explain(point, output, tensor, rtol, atol):
    """The whole Jacobians of one output and one input, for the message."""
    numerical = _numerical_jacobians(point, point.wanted[tensor], point.results)
    numerical = _of_differentiable(numerical, point.results)[output]
    analytical = _analytical_jacobians(point.wanted, point.outputs[output], math.inf, False)[tensor]
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {(numerical - analytical).abs().max()}.\n"
    )
    return text + _SLOW_WOULD_PASS if _close(analytical, numerical, rtol, atol) else text


def _fast(point, rtol, atol, nondet_tol, check_grad_dtypes):
    generator = rushlight.Generator()  # the caller's stream stays as it is
    results, outputs = point.results, point.outputs
    of_inputs = [_vector(t, generator) for t in point.wanted]
    of_outputs = [_vector(o, generator) for o in outputs]
    if not outputs:
        return _check_constant(point, results, of_inputs, nondet_tol)
    analytical = [
        _analytical_jacobians(point.wanted, o, nondet_tol, check_grad_dtypes, v)
        for o, v in zip(outputs, of_outputs, strict=True)
    ]
    for i, (tensor, u) in enumerate(zip(point.wanted, of_inputs, strict=True)):
        moved = point.difference(tensor.data, u.reshape(tensor.shape) * point.eps)
        moved = _of_differentiable(moved, results)
        for o, v in enumerate(of_outputs):
            n, a = (moved[o] * v).sum(), (analytical[o][i].reshape(-1) * u).sum()
            # as if each element of the Jacobian were atol away
            if not _close(a, n, rtol, atol * float(u.sum()) * float(v.sum())):
                raise GradcheckError(_mismatch(n, a, o, i) + _explain(point, o, i, rtol, atol))
    return None


# ---- rules that every backward obeys ----
def _zeros(tensors):
    return [_C.zeros(t.shape, dtype=t.dtype, device=t.device) for t in tensors]


def _check_multiplies(outputs, inputs):
    """Zero in, zero out."""
    for g, tensor in zip(grad(outputs, inputs, _zeros(outputs), allow_unused=True), inputs, strict=True):
        if g is None:
            continue
        if not g.eq(0).all():
            raise GradcheckError("backward not multiplied by grad_output")
        for what in ("dtype", "device", "shape"):
            if getattr(g, what) != getattr(tensor, what):
                raise GradcheckError(f"grad is incorrect {dict(dtype='type', shape='size').get(what, what)}")


class _Undefined(Function):
    """The same values; their gradient gets lost."""

    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return None


def _warn_undefined():
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but "
        "it may break existing callers of this function. If this is true for you, you can call this function "
        'with "check_undefined_grad=False" to disable the feature',
        stacklevel=4,
    )


_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def _check_undefined(function, inputs, wanted):
    """Undefined gradients count as zeros: of all outputs, and of each."""
    count = len(differentiable(function(*inputs)))
    for lost in [range(count), *([k] for k in range(count) if count > 1)]:
        outputs = differentiable(function(*inputs))
        outputs = [_Undefined.apply(o) if k in lost else o for k, o in enumerate(outputs)]
        try:
            found = grad(outputs, wanted, _zeros(outputs), allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {_NOTES}"
            ) from error
        if any(g is not None and not g.eq(0).all() for g in found):
            _warn_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or "
                "zero. " + _NOTES
            )


def _check_batched(output, index, inputs):
    """Gradients of two at once beside one after the other."""
    gradients = [_C.randn_like(output) for _ in range(2)]
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    expected = zip(*(grad(output, inputs, g, **options) for g in gradients), strict=True)
    try:
        found = grad(output, inputs, _C.stack(gradients), is_grads_batched=True, **options)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for i, (got, rows) in enumerate(zip(found, expected, strict=True)):
        rows = _C.stack(rows)
        if not rushlight.allclose(got, rows):
            raise GradcheckError(f"For output {index} and input {i}:\n\nGot:\n{got}\n\nExpected:\n{rows}")


# ---- all of it ----
def _check_inputs(inputs):
    for i, tensor in enumerate(inputs):
        if not wants_grad(tensor):
            continue
        if tensor.dtype != rushlight.float64:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or "
                "complex. ",
                stacklevel=4,
            )
        if any(step == 0 and size > 1 for step, size in zip(tensor.stride(), tensor.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
    if not any(map(wants_grad, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, "
            "but none of them have requires_grad=True."
        )


def check(
    function: Any,
    inputs: Any,
    *,
    eps: float,
    atol: Any,
    rtol: Any,
    nondet_tol: Any,
    undefined: Any,
    dtypes: Any,
    batched: Any,
    fast: Any,
) -> None:
    """Raise GradcheckError where a derivative is wrong."""
    _check_inputs(inputs)
    point = _Point(function, inputs, eps)
    (_fast if fast else _slow)(point, rtol, atol, nondet_tol, dtypes)
    for i, output in enumerate(point.outputs if batched else ()):
        _check_batched(output, i, point.wanted)
    _check_multiplies(point.outputs, point.wanted)
    if undefined:
        _check_undefined(function, inputs, point.wanted)


def random_gradient(output, strided):
    """Between -1 and 1, for an output; a leaf that wants a gradient."""
    shape = (*output.shape, 2) if strided else output.shape
    values = _C.rand(shape, dtype=output.dtype, device=output.device) * 2 - 1
    return (values[..., 0] if strided else values).requires_grad_()
