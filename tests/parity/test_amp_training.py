"""Training in mixed precision on torch and on rushlight: dtypes at each step, losses, gradient scalers."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def spread(t, *shape):
    count = 1
    for n in shape:
        count *= n
    return t.arange(float(count)).mul(0.7).sin().view(*shape)


def net(t):
    nn = t.nn
    made = nn.Sequential(
        *(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(32, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3), nn.Softmax(1)),
    )
    with t.no_grad():
        for name, p in made.named_parameters():
            if p.dim() > 1 or name.endswith("bias"):
                p.copy_(spread(t, *p.shape) / p[0].numel() ** 0.5)
    return made


def watched(model, seen):
    """Notes what dtype each layer answers, and each gradient has."""
    for name, layer in model.named_children():
        layer.register_forward_hook(
            lambda _, x, y, name=name: seen.append((name, str(x[0].dtype), str(y.dtype)))
        )
    for name, p in model.named_parameters():
        p.register_hook(lambda grad, name=name: seen.append((name, str(grad.dtype))))
    return model


def trained(t, dtype, steps=8, inside=False):
    """What was seen, and the losses."""
    seen, losses = [], []
    model = watched(net(t), seen)
    optimizer = t.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, target = spread(t, 6, 2, 6, 6), t.arange(6) % 3
    for _ in range(steps):
        optimizer.zero_grad()
        with t.autocast("cpu", dtype=getattr(t, dtype)):
            out = model(x)
            loss = t.nn.functional.cross_entropy(out, target) + t.nn.functional.mse_loss(
                out, out.detach() * 0.5
            )
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        seen.append((str(out.dtype), str(loss.dtype)))
        optimizer.step()
        losses.append(loss.item())
    seen.append([str(p.dtype) for p in model.parameters()])
    return seen, losses


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_net_trains_in_the_dtypes_of_pytorch(dtype, inside):
    (ours, losses), (theirs, expected) = (trained(t, dtype, inside=inside) for t in (rushlight, torch))
    assert ours == theirs
    assert losses == pytest.approx(expected, rel=2e-2 if dtype == "bfloat16" else 3e-3)


# ---- gradient scalers ----
INFINITE = {3, 4, 9, 15}  # steps


def scaled(t, unscales):
    """The scaler's state and the parameters after each step of a run in which some gradients are infinite."""
    model = t.nn.Linear(3, 2)
    with t.no_grad():
        model.weight.copy_(spread(t, 2, 3))
        model.bias.copy_(spread(t, 2))
    optimizers = [t.optim.SGD([p], lr=0.1, momentum=0.9) for p in model.parameters()]
    scaler, seen = t.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=3, growth_factor=4.0), []
    for step in range(20):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = model(spread(t, 4, 3) * 0.1 * (step + 1)).sin().mean()
        if step in INFINITE:
            loss = loss + model.bias.sum() * float("inf" if step % 2 else "nan")
        scaler.scale(loss).backward()
        for optimizer in optimizers:
            if unscales:
                scaler.unscale_(optimizer)
                t.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 0.1)
            scaler.step(optimizer)
        scaler.update()
        seen.append(
            (scaler.state_dict(), model.weight.detach().numpy().copy(), model.bias.detach().numpy().copy())
        )
        if step == 11:
            scaler.update(32.0)
    return seen


@pytest.mark.parametrize("unscales", [False, True])
def test_scalers_go_the_way_of_pytorch(unscales):
    ours, theirs = scaled(rushlight, unscales), scaled(torch, unscales)
    for (state, *parameters), (expected, *others) in zip(ours, theirs, strict=True):
        assert state == expected
        for a, b in zip(parameters, others, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert len({state["scale"] for state, *_ in ours}) > 4
