"""autograd.functional beside real PyTorch's: values, nesting, history and errors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

X = [[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]]
Y = [0.5, -1.5, 2.0]
FUNCTIONS = {
    "exp": (lambda t: lambda x: x.exp().sum(1), 1),
    "pair": (lambda t: lambda x: (x * x, x.sum()), 1),
    "mix": (lambda t: lambda x, y: (x * y).exp(), 2),
    "mixes": (lambda t: lambda x, y: ((x * y).sum(1), y.exp()), 2),
    "number": (lambda t: lambda x: (x * x * x).sum(), 1),
    "numbers": (lambda t: lambda x, y: (x * x * y).sum(), 2),
    "linear": (lambda t: lambda x: (2 * x).sum(), 1),
    "unused": (lambda t: lambda x, y: (x * x).sum(), 2),
    "constant": (lambda t: lambda x: t.ones(3, dtype=t.float64), 1),
    "sometimes": (lambda t: lambda x: (x.sum(), t.ones(2, dtype=t.float64)), 1),
    "text": (lambda t: lambda x: "no", 1),
    "texts": (lambda t: lambda x: (x, "no"), 1),
    "one": (lambda t: lambda x: x[:1, :1] * x[1:, 1:2], 1),
    "empty": (lambda t: lambda x: (x[:0], x.sum()), 1),
}
VECTORS = {
    "none": lambda t, inputs, outputs: None,
    "inputs": lambda t, inputs, outputs: inputs,
    "outputs": lambda t, inputs, outputs: outputs,
    "long": lambda t, inputs, outputs: (t.ones(7), t.ones(7), t.ones(7)),
    "text": lambda t, inputs, outputs: "v",
}
CALLS = [
    (product, name, vector, options)
    for product in ("vjp", "jvp", "vhp", "hvp")
    for name in FUNCTIONS
    for vector in VECTORS
    for options in ({}, {"create_graph": True}, {"strict": True}, {"strict": True, "create_graph": True})
]
MATRICES = [
    (matrix, name, None, options)
    for matrix in ("jacobian", "hessian")
    for name in FUNCTIONS
    for options in ({}, {"create_graph": True}, {"strict": True}, {"vectorize": True})
    if name != "empty" or "vectorize" in options  # else theirs cannot stack nothing
]


def shape(found):
    """Nesting, values, and who has a history."""
    if isinstance(found, (tuple, list)):
        return [shape(f) for f in found]
    return found.requires_grad, tuple(found.shape), np.round(found.detach().numpy(), 9).tolist()


def outcome(library, call, name, vector, options, leaf):
    make, n = FUNCTIONS[name]
    function = make(library)
    inputs = tuple(library.tensor(v, dtype=library.float64, requires_grad=leaf) for v in (X, Y)[:n])
    if call == "jacobian" and n == 1:
        inputs = inputs[0]
    one = inputs if n > 1 or call == "jacobian" else inputs[0]
    try:
        extra = ()
        if vector is not None:
            results = function(*inputs) if vector == "outputs" else None
            extra = (VECTORS[vector](library, one, results),)
        return shape(getattr(library.autograd.functional, call)(function, one, *extra, **options))
    except Exception as error:
        return type(error).__name__, str(error).replace("rushlight", "torch")


@pytest.mark.parametrize("call", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_functional(call):
    for which, name, vector, options in CALLS + MATRICES:
        for leaf in (False, True):
            if which == call:
                arguments = (which, name, vector, options, leaf)
                assert outcome(rushlight, *arguments) == outcome(torch, *arguments), arguments


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "sideways"},
        {"strategy": "forward-mode"},
        {"strategy": "forward-mode", "strict": True},
        {"strategy": "forward-mode", "create_graph": True},
        {"strategy": "forward-mode", "vectorize": True},
        {"vectorize": True, "strict": True},
    ],
)
def test_strategies(options):
    for name in ("exp", "pair", "mix"):
        arguments = ("jacobian", name, None, options, False)
        assert outcome(rushlight, *arguments) == outcome(torch, *arguments), arguments


def test_results_can_be_differentiated():
    found = []
    for library in (rushlight, torch):
        x = library.tensor(X, dtype=library.float64, requires_grad=True)
        f = library.autograd.functional
        total = f.jacobian(lambda x: x * x * x, x, create_graph=True).sum()
        total = total + f.hessian(lambda x: (x * x * x * x).sum(), x, create_graph=True).sum()
        total = total + f.jvp(lambda x: x.exp(), x, x * 2, create_graph=True)[1].sum()
        total = total + f.hvp(lambda x: (x * x * x * x).sum(), x, x * 2, create_graph=True)[1].sum()
        found.append(shape(library.autograd.grad(total, x)[0]))
    assert found[0] == found[1]
