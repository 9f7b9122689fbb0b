"""autograd.functional against derivatives that are known."""

import pytest

import rushlight as torch
from rushlight.autograd import functional

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
V = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)


def cubes(x):
    return (x * x * x).sum()


def test_jacobian():
    assert functional.jacobian(lambda x: x * x, X).tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    (first, second), (third, fourth) = functional.jacobian(lambda x, y: (x * y, y), (X, V))
    assert first.tolist() == torch.diag(V).tolist() and second.tolist() == torch.diag(X).tolist()
    assert third.tolist() == torch.zeros(3, 3).tolist() and fourth.tolist() == torch.eye(3).tolist()


def test_jacobian_of_nothing():
    assert functional.jacobian(lambda x: x[:0], X).shape == (0, 3)
    assert functional.jacobian(lambda x: x.sum(), X[:0]).shape == (0,)


def test_hessian():
    assert functional.hessian(cubes, X).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]


def test_products():
    assert [t.tolist() for t in functional.vjp(lambda x: x * x, X, V)] == [[1, 4, 9], [2, 0, -6]]
    assert [t.tolist() for t in functional.jvp(lambda x: x * x, X, V)] == [[1, 4, 9], [2, 0, -6]]
    for product in (functional.vhp, functional.hvp):
        assert [t.tolist() for t in product(cubes, X, V)] == [36, [6, 0, -18]]


@pytest.mark.parametrize("product", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_inputs_and_results_are_apart(product):
    x = X.clone().requires_grad_()
    arguments = (V.sum() * 0 + 1,) if product == "vjp" else (V,) if product in ("jvp", "vhp", "hvp") else ()
    found = getattr(functional, product)(cubes, x, *arguments)
    assert not any(t.requires_grad for t in (found if isinstance(found, tuple) else (found,)))
    assert x.grad is None
    again = getattr(functional, product)(cubes, x, *arguments, create_graph=True)
    again = again[-1] if isinstance(again, tuple) else again
    assert torch.autograd.grad(again.sum(), x)[0].shape == (3,)


def test_strict():
    assert functional.vjp(lambda x, y: x.sum(), (X, V))[1][1].tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="is independent of input 1. This is not allowed in strict mode"):
        functional.vjp(lambda x, y: x.sum(), (X, V), strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require grad"):
        functional.jacobian(lambda x: V, X, strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0"):
        functional.hessian(lambda x: x.sum(), X, strict=True)


def test_works_without_recording():
    with torch.no_grad():
        assert functional.hessian(cubes, X).tolist() == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]


def test_wrong_arguments():
    with pytest.raises(TypeError, match="The inputs given to vjp must be either a Tensor or a tuple"):
        functional.vjp(cubes, [X])
    with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch.Size\(\[3\]\)"):
        functional.jvp(cubes, X, V[:2])
    with pytest.raises(RuntimeError, match="should contain a single element"):
        functional.hessian(lambda x: x, X)
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        functional.jacobian(cubes, X, strategy="sideways")
