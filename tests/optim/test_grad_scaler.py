"""Gradient scalers: what they do to gradients, steps and the scale."""

import copy
import pickle

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.amp.grad_scaler import OptState

INF, NAN = float("inf"), float("nan")


def training(**options):
    weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    return weight, torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("cpu", **options)


def step(weight, optimizer, scaler, factor=1.0):
    optimizer.zero_grad()
    scaler.scale((weight * torch.tensor([1.0, factor])).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_steps_are_those_of_unscaled_gradients():
    weight, optimizer, scaler = training(init_scale=1024.0)
    step(weight, optimizer, scaler)
    assert weight.tolist() == [0.5, 1.5] and weight.grad.tolist() == [1, 1]


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_steps_with_infinite_gradients_are_left_out(bad):
    weight, optimizer, scaler = training(init_scale=8.0, growth_interval=2)
    step(weight, optimizer, scaler, bad)
    assert weight.tolist() == [1, 2] and scaler.get_scale() == 4
    step(weight, optimizer, scaler)
    assert weight.tolist() == [0.5, 1.5] and scaler.state_dict()["_growth_tracker"] == 1
    step(weight, optimizer, scaler)
    assert scaler.get_scale() == 8 and scaler.state_dict()["_growth_tracker"] == 0


def test_gradients_are_unscaled_once():
    weight, optimizer, scaler = training(init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    assert weight.grad.tolist() == [4, 4]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert weight.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="unscale_.. is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="step.. has already been called since the last update"):
        scaler.step(optimizer)
    assert scaler._per_optimizer_states[id(optimizer)]["stage"] is OptState.STEPPED


def test_losses_in_lists_and_iterators():
    *_, scaler = training(init_scale=2.0)
    one = torch.ones(1)
    assert [each.item() for each in scaler.scale([one, one * 2])] == [2, 4]
    nested = scaler.scale((one, [one]))
    assert type(nested) is tuple and type(nested[1]) is list
    assert [each.item() for each in scaler.scale(iter([one]))] == [2]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_state_goes_on_elsewhere():
    weight, optimizer, scaler = training(init_scale=8.0)
    step(weight, optimizer, scaler, INF)
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.get_scale() == 4
    for twin in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert twin.state_dict() == scaler.state_dict() and twin._scale is None
        step(weight, optimizer, twin)
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="only be pickled at the beginning"):
        pickle.dumps(scaler)


def test_the_scale_can_be_set():
    weight, optimizer, scaler = training(init_scale=8.0)
    with pytest.raises(AssertionError, match="Attempted update but _scale is None"):
        scaler.update(3.0)
    scaler.scale(weight.sum())
    for new in (3.0, torch.tensor(3.0)):
        scaler.update(new)
        assert scaler.get_scale() == 3
    for bad in (torch.ones(2), torch.ones((), requires_grad=True)):
        with pytest.raises(AssertionError, match="1-element"):
            scaler.update(bad)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()


def test_switched_off():
    weight, optimizer, scaler = training(enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss and scaler.state_dict() == {} and scaler.get_scale() == 1
    step(weight, optimizer, scaler)
    assert weight.tolist() == [0.5, 1.5] and not scaler.is_enabled()
    with pytest.warns(UserWarning, match="CUDA is not available.  Disabling"):
        assert not torch.amp.GradScaler().is_enabled()


def test_refusals():
    weight, optimizer, scaler = training()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: 1)
    with pytest.raises(AssertionError, match="growth factor must be > 1.0"):
        torch.amp.GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1.0"):
        torch.amp.GradScaler("cpu", backoff_factor=1.0)
    half = nn.Parameter(torch.ones(2, dtype=torch.float16))
    scaler.scale(half.float().sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(torch.optim.SGD([half], lr=1))


def test_an_optimizer_that_unscales_by_itself():
    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    seen = []
    weight, _, scaler = training(init_scale=8.0)
    optimizer = Own([weight], lr=0.5)
    step(weight, optimizer, scaler)
    step(weight, optimizer, scaler, INF)
    assert seen == [(8, 0), (8, 1)] and scaler.get_scale() == 4
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("bad", [None, INF, -INF, NAN])
def test_unscaling_lists_of_any_dtype_and_stride(dtype, bad):
    unscale = torch._amp_foreach_non_finite_check_and_unscale_
    values = torch.arange(24.0).to(getattr(torch, dtype)).view(4, 6)
    if bad is not None:
        values[2, 3] = bad
    strided = values.clone().t()[::2]
    found, expected = torch.zeros(()), [values * 0.5, strided * 0.5]
    assert unscale([values, strided, torch.ones(0)], found, torch.tensor([0.5])) is None
    assert found.item() == (bad is not None)
    assert all(a.allclose(b, equal_nan=True) for a, b in zip([values, strided], expected, strict=True))
