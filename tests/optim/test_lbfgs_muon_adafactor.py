"""Optimizers of whole vectors and matrices: what they reach, what they keep, when memory ends."""

import copy
import pickle

import pytest

import rushlight
from rushlight import _C, nn, optim


def descend(optimizer, params, n):
    """Losses of n steps down a bowl whose lowest place is 3."""
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - 3) ** 2 * (i + 1)).sum() for i, p in enumerate(params))
        loss.backward()
        return loss

    for _ in range(n):
        losses.append(optimizer.step(closure).item())
    return losses


def matrices():
    return [nn.Parameter(rushlight.ones(2, 3)), nn.Parameter(rushlight.zeros(3, 1))]


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
def test_lbfgs_finds_the_lowest_place(line_search_fn):
    params = [nn.Parameter(rushlight.ones(2, 3)), nn.Parameter(rushlight.tensor(-7.0))]
    optimizer = optim.LBFGS(params, lr=0.5, line_search_fn=line_search_fn)
    losses = descend(optimizer, params, 4)
    assert losses[-1] < 1e-6 < losses[0]
    assert all(rushlight.allclose(p, rushlight.full_like(p, 3)) for p in params)


def test_lbfgs_leaves_what_has_no_gradient():
    params = [nn.Parameter(rushlight.ones(2)), nn.Parameter(rushlight.ones(3))]
    descend(optim.LBFGS(params), params[:1], 2)
    assert params[1].tolist() == [1, 1, 1] and params[0].tolist() == [3, 3]


@pytest.mark.parametrize("name, lr", [("Muon", 0.2), ("Adafactor", 0.3)])
def test_losses_fall(name, lr):
    params = matrices()
    losses = descend(getattr(optim, name)(params, lr=lr), params, 40)
    assert losses[-1] < 0.5 * losses[0]


def test_adafactor_keeps_rows_and_columns():
    params = [nn.Parameter(rushlight.ones(4, 2, 3)), nn.Parameter(rushlight.ones(5))]
    optimizer = optim.Adafactor(params)
    descend(optimizer, params, 2)
    cube, vector = (optimizer.state[p] for p in params)
    assert {k: tuple(v.shape) for k, v in cube.items()} == {
        "step": (),
        "row_var": (4, 2, 1),
        "col_var": (4, 1, 3),
    }
    assert {k: tuple(v.shape) for k, v in vector.items()} == {"step": (), "variance": (5,)}
    assert cube["step"].item() == 2


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_parameters_stay_and_others_move(name, shape):
    params = [nn.Parameter(rushlight.ones(shape)), nn.Parameter(rushlight.ones(2, 3))]
    alone, optimizer = [nn.Parameter(rushlight.ones(2, 3))], getattr(optim, name)(params, lr=0.1)
    assert descend(optimizer, params[::-1], 3) == descend(getattr(optim, name)(alone, lr=0.1), alone, 3)
    assert params[0].shape == shape and params[1].equal(alone[0])
    assert all(value.isfinite().all() for value in optimizer.state[params[0]].values())


def test_adafactor_steps_over_empty_vectors():
    params = [nn.Parameter(rushlight.ones(0)), nn.Parameter(rushlight.ones(2, 0, 3))]
    optimizer = optim.Adafactor(params)
    descend(optimizer, params, 2)
    assert [optimizer.state[p]["step"].item() for p in params] == [2, 2]


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_copies_go_on_the_same(name):
    for duplicate in (copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))):
        params = matrices()
        optimizer = getattr(optim, name)(params, lr=0.1)
        descend(optimizer, params, 2)
        others, twin = duplicate([params, optimizer])
        assert descend(twin, others, 3) == descend(optimizer, params, 3)


def test_sparse_adam_refuses_dense_gradients():
    weight = nn.Parameter(rushlight.ones(2))
    optimizer = optim.SparseAdam([weight])
    assert optimizer.step(lambda: 5) == 5
    weight.grad = rushlight.ones(2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optimizer.step()


@pytest.mark.parametrize("name", ["Adafactor", "LBFGS", "Muon"])
def test_steps_survive_the_end_of_memory(name):
    params = matrices()
    optimizer = getattr(optim, name)(params, lr=0.1)
    descend(optimizer, params, 1)
    for n in range(0, 2000, 7):
        _C._fail_alloc(n)
        try:
            descend(optimizer, params, 1)
            break
        except (MemoryError, RuntimeError) as error:
            assert "memory" in str(error)
        finally:
            _C._fail_alloc(-1)
    else:
        raise AssertionError("a step makes more than 2000 allocations")
    assert all(p.isfinite().all() for p in params)
