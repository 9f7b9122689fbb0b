"""Optimisers: their steps against the formulas, and when memory ends."""

import numpy as np
import pytest

import rushlight
from rushlight import _C, nn, optim

OPTIONS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.25},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    {"weight_decay": 0.1, "maximize": True},
]


def parameters(dtype=rushlight.float32):
    rushlight.manual_seed(0)
    shapes = [(5, 4), (7,), (), (3, 0), (2, 3, 33)]
    params = [nn.Parameter(rushlight.randn(shape).to(dtype)) for shape in shapes]
    return [*params, nn.Parameter(rushlight.randn(4, 6).to(dtype).t())]


def give_gradients(params, step):
    rng = np.random.default_rng(step)
    for p in params:
        p.grad = rushlight.tensor(rng.normal(size=tuple(p.shape))).to(p.dtype)


def by_hand(
    values, velocities, gradients, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False
):
    """One step of gradient descent on NumPy arrays; None where there is no velocity yet."""
    for i, gradient in enumerate(gradients):
        gradient = (-gradient if maximize else gradient) + weight_decay * values[i]
        if momentum:
            first = velocities[i] is None
            velocities[i] = gradient if first else momentum * velocities[i] + (1 - dampening) * gradient
            gradient = gradient + momentum * velocities[i] if nesterov else velocities[i]
        values[i] = values[i] - lr * gradient


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "dtype, limit", [("float64", 1e-12), ("float32", 1e-5), ("float16", 2e-2), ("bfloat16", 1e-1)]
)
def test_sgd_follows_its_formula(dtype, limit, options):
    params = parameters(getattr(rushlight, dtype))
    values = [p.detach().double().numpy().copy() for p in params]
    velocities = [None] * len(params)
    optimizer = optim.SGD(params, lr=0.1, **options)
    for step in range(4):
        give_gradients(params, step)
        by_hand(values, velocities, [p.grad.double().numpy() for p in params], 0.1, **options)
        assert optimizer.step() is None
    for p, value in zip(params, values, strict=True):
        np.testing.assert_allclose(p.detach().double().numpy(), value, rtol=limit, atol=limit)


def at_once(optimizer):
    """Make the step of the first group by the list kernel, if that takes it."""
    return _C._optimizer_step(optimizer._PLAN, optimizer.param_groups[0], optimizer.state)


def test_the_list_kernel_makes_the_usual_steps():
    for options in OPTIONS:
        params = parameters()
        optimizer = optim.SGD(params, lr=0.1, **options)
        give_gradients(params, 0)
        optimizer.step()
        assert at_once(optimizer)


def test_what_the_list_kernel_leaves_to_python_gives_the_same():
    def after_steps(lr):
        params = parameters()
        optimizer = optim.SGD(params, lr=lr, momentum=0.5)
        for step in range(3):
            give_gradients(params, step)
            params[1].grad = None
            optimizer.step()
        return params

    for p, q in zip(after_steps(0.1), after_steps(rushlight.tensor(0.1)), strict=True):
        assert rushlight.allclose(p, q)


def test_parameters_whose_elements_share_memory_are_refused():
    weight = nn.Parameter(rushlight.ones(1).expand(3))
    weight.grad = rushlight.ones(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        optim.SGD([weight], lr=0.1).step()


def test_a_step_counts_as_a_write():
    params = parameters()
    give_gradients(params, 0)
    before = [p._version for p in params]
    optim.SGD(params, lr=0.1).step()
    assert all(p._version > v for p, v in zip(params, before, strict=True))
    weight = nn.Parameter(rushlight.ones(3))
    product = (weight * weight).sum()
    weight.grad = rushlight.ones(3)
    optim.SGD([weight], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_a_closure_and_zero_grad():
    weight = nn.Parameter(rushlight.tensor([1.0, 2.0]))
    optimizer = optim.SGD([weight], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 5
    assert weight.tolist() == [0, 0]
    optimizer.zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert weight.grad is None


@pytest.mark.parametrize("momentum", [0, 0.9])
def test_steps_survive_the_end_of_memory(momentum):
    params = parameters()
    optimizer = optim.SGD(params, lr=0.1, momentum=momentum)
    for _ in range(2):
        give_gradients(params, 0)
        optimizer.step()
    for n in range(200):
        _C._fail_alloc(n)
        try:
            optimizer.step()
            break
        except (MemoryError, RuntimeError) as error:
            assert "memory" in str(error)
        finally:
            _C._fail_alloc(-1)
    else:
        raise AssertionError("a step makes more than 200 allocations")


def test_wrong_lists_are_refused():
    sgd, group = _C._optimizer_operator("sgd"), {"params": [], "lr": 0.1}
    keys, names = (("momentum_buffer", None),), ("lr",) * 6
    assert _C._optimizer_step((sgd, keys, (), names), group, {})
    for wrong in ((), (1, group, {}), ((sgd, keys, ()), group, {}), ((sgd, 1, (), ()), group, {})):
        with pytest.raises((TypeError, SystemError)):
            _C._optimizer_step(*wrong)
    for wrong in ({}, {"params": ()}, 5):
        with pytest.raises(TypeError, match="_optimizer_step"):
            _C._optimizer_step((sgd, keys, (), names), wrong, {})
    for number in (sgd, -1, 0, 10**6):
        with pytest.raises(ValueError, match="other lists"):
            _C._optimizer_step((number, keys * 2, (), names), group, {})
    for odd in (names[:5], names * 2, ("no",) * 6, ()):
        assert not _C._optimizer_step((sgd, keys, (), odd), group, {})
    assert not _C._optimizer_step((sgd, ("momentum_buffer",), (), names), group, {})
    with pytest.raises(ValueError, match="no step called 'relu'"):
        _C._optimizer_operator("relu")
    with pytest.raises(TypeError):
        _C._zero_grads(())


@pytest.mark.parametrize("name, options", [("Adam", {"amsgrad": True}), ("Adamax", {})])
def test_a_gradient_through_steps_that_pytorch_refuses(name, options):
    """What later steps write into is copied: the gradient by the start agrees with differences."""

    def end(start):
        param = start.clone()
        optimizer = getattr(optim, name)([param], lr=0.1, differentiable=True, **options)
        for _ in range(3):
            param.grad = (param.clone() * start).cos()
            optimizer.step()
        return param.square().sum()

    start = rushlight.tensor([0.5, -1.5, 2.0], dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradcheck(end, (start,))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_halves_are_computed_as_floats(name, dtype):
    """Rounded once at the end of a step: the same step of float32 copies, rounded."""
    options = {"lr": 0.1, "weight_decay": 0.01, "fused": True} | ({"momentum": 0.9} if name == "SGD" else {})
    half = getattr(rushlight, dtype)
    params = parameters(half)
    optimizer = getattr(optim, name)(params, **options)
    give_gradients(params, 0)
    optimizer.step()
    twins = [nn.Parameter(p.detach().float()) for p in params]
    twin = getattr(optim, name)(twins, **options)
    give_gradients(params, 1)
    for p, q in zip(params, twins, strict=True):
        q.grad = p.grad.float()
        twin.state[q] = {key: a.float().clone() for key, a in optimizer.state[p].items()}
    assert at_once(twin) and at_once(optimizer)
    for p, q in zip(params, twins, strict=True):
        assert rushlight.equal(p, q.to(half))
        assert all(
            rushlight.equal(a, twin.state[q][key].to(a.dtype)) for key, a in optimizer.state[p].items()
        )


def test_state_that_changes_while_it_is_found():
    """A key of the state whose comparison drops another entry: nothing that was found is lost."""

    class Key:
        armed = False

        def __hash__(self):
            return hash("exp_avg_sq")

        def __eq__(self, other):
            if Key.armed:
                Key.armed, state["exp_avg"] = False, None
            return False

    param = nn.Parameter(rushlight.ones(1000))
    param.grad = rushlight.ones(1000)
    optimizer = optim.Adam([param])
    optimizer.step()
    state = optimizer.state[param]
    entries = dict(state)
    state.clear()
    state[Key()] = 0
    state.update(entries)
    del entries
    Key.armed = True
    optimizer.step()
    assert not Key.armed and rushlight.zeros(3).tolist() == [0, 0, 0]


def test_elements_that_lie_askew_are_stepped_one_by_one():
    """Strides that fill a span without being dense: only what the view contains is written."""
    base = rushlight.zeros(8)
    param = nn.Parameter(rushlight.zeros(2, 2, 2))
    param.data = base.as_strided((2, 2, 2), (1, 1, 5))
    param.grad = rushlight.ones(8).as_strided((2, 2, 2), (1, 1, 5))
    optim.SGD([param], lr=1.0).step()
    assert base[3:5].tolist() == [0, 0]


def steps_of_a_class(x, grads):
    optimizer = optim.Adam([x], lr=0.1, amsgrad=True)
    for grad in grads:
        x.grad = rushlight.full_like(x, grad)
        optimizer.step()
        yield x.item()


@rushlight.no_grad()
def steps_of_a_function(x, grads):
    moments = [[rushlight.zeros_like(x)] for _ in range(3)]
    given = {"beta1": 0.9, "beta2": 0.999, "lr": 0.1, "weight_decay": 0, "eps": 1e-8, "maximize": False}
    count = rushlight.tensor(0.0)
    for grad in grads:
        optim.adam.adam([x], [rushlight.full_like(x, grad)], *moments, [count], amsgrad=True, **given)
        yield x.item()


@pytest.mark.parametrize("steps", [steps_of_a_class, steps_of_a_function])
def test_amsgrad_divides_by_the_largest_second_moment(steps):
    grads, found = (10.0, 0.1, -0.1, 0.2), 0.0
    first = second = most = 0.0
    answers = steps(nn.Parameter(rushlight.zeros(1, dtype=rushlight.float64)), grads)
    for n, (grad, answer) in enumerate(zip(grads, answers, strict=True), 1):
        first, second = 0.9 * first + 0.1 * grad, 0.999 * second + 0.001 * grad * grad
        most = max(most, second)
        found -= 0.1 * first / (1 - 0.9**n) / ((most / (1 - 0.999**n)) ** 0.5 + 1e-8)
        assert answer == pytest.approx(found, rel=1e-6)
