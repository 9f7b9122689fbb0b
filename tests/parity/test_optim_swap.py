"""swap_in_optimizer_params_and_state under both libraries."""

import copy

import pytest

import rushlight

torch = pytest.importorskip("torch")


def trained(t):
    params = [t.nn.Parameter(t.tensor([1.0, 2.0])), t.nn.Parameter(t.tensor([3.0]))]
    optimizer = t.optim.Adam([{"params": [params[0]]}, {"params": [params[1]], "lr": 0.5}], lr=0.1)
    for p in params:
        p.grad = t.ones_like(p)
    optimizer.step()
    return params, optimizer


def swapped(t, change=lambda t, state: state, names="ab"):
    """What a step inside does to the other parameters and their state, and what is left of it outside."""
    params, optimizer = trained(t)
    state = change(t, copy.deepcopy(optimizer.state_dict()))
    others = {name: t.full_like(p, 7.0).requires_grad_() for name, p in zip(names, params, strict=False)}
    for other in others.values():
        other.grad = t.ones_like(other)
    try:
        with t.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
            optimizer.step()
            inside = [g["lr"] for g in optimizer.param_groups]
    except RuntimeError as error:
        return str(error)
    left = [float(own["step"]) for own in optimizer.state.values()], [g["lr"] for g in optimizer.param_groups]
    values = [[round(x, 5) for x in p.tolist()] for p in (*params, *others.values())]
    return values, inside, left, [float(own["step"]) for own in state["state"].values()]


def rate(t, state):
    state["param_groups"][0]["lr"] = 2.0
    return state


CHANGES = {
    "rate": rate,
    "no dict": lambda t, state: [],
    "no state": lambda t, state: {"param_groups": []},
    "tensors": lambda t, state: {**state, "state": {t.ones(1): {}}},
    "no entry": lambda t, state: {**state, "state": {0: 1}},
    "extra": lambda t, state: {**state, "state": {**state["state"], 5: {}, "a": 1}},
    "no list": lambda t, state: {**state, "param_groups": ()},
    "fewer groups": lambda t, state: {**state, "param_groups": state["param_groups"][:1]},
    "no group": lambda t, state: {**state, "param_groups": [1, 2]},
    "no numbers": lambda t, state: {**state, "param_groups": [{}, {}]},
    "more numbers": lambda t, state: {**state, "param_groups": [{"params": [0, 1]}, {"params": [2]}]},
    "keys": lambda t, state: {**state, "param_groups": [{"params": [0], "x": 1}, {"params": [1]}]},
}


@pytest.mark.parametrize("name", CHANGES)
def test_same(name):
    assert swapped(rushlight, CHANGES[name]) == swapped(torch, CHANGES[name])


def test_too_few_parameters_and_no_state():
    assert swapped(rushlight, names="a") == swapped(torch, names="a")
    for t in (torch, rushlight):
        optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))])
        with pytest.raises(RuntimeError, match="requires initialized optimizer state"):
            with t.optim.swap_in_optimizer_params_and_state(optimizer, {}, {}):
                pass
