"""Functions over lists of tensors: what they leave behind, classes that answer, memory that ends."""

import pytest

import rushlight
from rushlight import _C


def tensors():
    return [rushlight.arange(4.0), rushlight.ones(2, 3), rushlight.tensor(2.0)]


def test_each_tensor_meets_its_operator():
    x, y = tensors(), tensors()
    for ours, a, b in zip(rushlight._foreach_add(x, y, alpha=3), x, y, strict=True):
        assert rushlight.equal(ours, a.add(b, alpha=3))
    before = [t.clone() for t in x]
    assert rushlight._foreach_lerp_(x, y, [0.5, 0.25, 1]) is x
    for ours, a, b, weight in zip(x, before, y, (0.5, 0.25, 1), strict=True):
        assert rushlight.equal(ours, a.lerp(b, weight))


def test_a_write_counts():
    x = tensors()
    versions = [t._version for t in x]
    rushlight._foreach_zero_(x)
    assert all(t._version > v and not t.any() for t, v in zip(x, versions, strict=True))


def test_history_is_recorded():
    leaf = rushlight.ones(3, requires_grad=True)
    product = rushlight._foreach_mul([leaf, leaf], rushlight.tensor(2.0))
    rushlight._foreach_exp_(list(product))
    sum(p.sum() for p in product).backward()
    assert rushlight.allclose(leaf.grad, rushlight.full((3,), 4 * 2.718281828**2))


def test_a_tensor_that_requires_grad_is_no_number():
    leaf = rushlight.tensor(2.0, requires_grad=True)
    product, _ = rushlight._foreach_add([rushlight.ones(2)] * 2, leaf)
    product.sum().backward()
    assert leaf.grad.item() == 2
    with pytest.raises(TypeError):
        rushlight._foreach_clamp_min([rushlight.ones(2)], leaf)


def test_classes_and_modes_answer():
    class Mine(rushlight.Tensor):
        pass

    mine = rushlight.ones(2).as_subclass(Mine)
    assert type(rushlight._foreach_add([rushlight.ones(2), mine], 1)[0]) is Mine
    seen = []

    class Mode(rushlight.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = tensors()
    with Mode():
        assert rushlight._foreach_neg_(x) is x
    assert seen == [rushlight._foreach_neg_] and x[2].item() == -2


def test_calls_survive_the_end_of_memory():
    x, y = tensors(), tensors()
    calls = [
        lambda: rushlight._foreach_add(x, y, alpha=2),
        lambda: rushlight._foreach_addcdiv_(x, y, y, rushlight.tensor([1.0, 2.0, 3.0])),
        lambda: rushlight._foreach_norm(x, 3),
    ]
    for call in calls:
        for n in range(100):
            _C._fail_alloc(n)
            try:
                call()
                break
            except (MemoryError, RuntimeError) as error:
                assert "memory" in str(error)
            finally:
                _C._fail_alloc(-1)
        else:
            raise AssertionError("a call makes more than 100 allocations")


def test_lists_that_change_on_the_way():
    x = [rushlight.ones(2) for _ in range(50)]

    class Number(float):
        def __float__(self):
            x.clear()
            return 1.0

    assert len(rushlight._foreach_add(x, [Number(2)] * 50)) == 50
