"""Mixed precision and other dtypes on a device."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.utils.checkpoint import checkpoint

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"
LOWER = [torch.float16, torch.bfloat16]


def layers(x):
    """{what: result}, of operators that cast to the lower dtype."""
    image = x[:, :, None]
    yield "mm", x @ x.T
    yield "linear", nn.Linear(4, 3).to(DEVICE)(x)
    yield "conv1d", nn.Conv1d(4, 3, 1).to(DEVICE)(image)
    yield "attention", F.scaled_dot_product_attention(x[None], x[None], x[None])
    yield "einsum", torch.einsum("ij,kj->ik", x, x)
    for kind in ("LSTM", "GRU", "RNN"):
        yield kind, getattr(nn, kind)(4, 3).to(DEVICE)(x)[0]
    yield "cell", nn.LSTMCell(4, 3).to(DEVICE)(x)[1]


@pytest.mark.parametrize("lower", LOWER)
def test_what_is_cast(lower):
    x = torch.randn(2, 4, device=DEVICE)
    half, labels = x.to(lower), torch.zeros(2, dtype=torch.long, device=DEVICE)
    with torch.autocast("cuda", lower):
        assert {name: y.dtype for name, y in layers(x) if y.dtype is not lower} == {}
        wide = [half.exp(), half.pow(2), 2**half, half.softmax(1), half.sum(), half.cumsum(0), half.norm()]
        wide += [F.layer_norm(half, (4,)), F.group_norm(half, 2), F.cross_entropy(half, labels)]
        wide += [
            F.mse_loss(half, half),
            F.cosine_similarity(half, half),
            F.interpolate(half[None], scale_factor=2),
        ]
        wide += [torch.addcmul(x, half, half), F.binary_cross_entropy_with_logits(half, half)]
        assert [y.dtype for y in wide] == [torch.float32] * len(wide)
        same = [half * half, F.gelu(half), F.relu(half), F.batch_norm(half, None, None, training=True)]
        same += [
            half.softmax(1, dtype=lower),
            torch.exp(half, out=torch.empty_like(half)),
            half.clone().exp_(),
        ]
        assert [y.dtype for y in same] == [lower] * len(same)
        assert (x.double() @ x.double().T).dtype is torch.float64 and labels.sum().dtype is torch.int64
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32  # on the CPU
        with pytest.raises(RuntimeError, match="BCELoss are unsafe to autocast"):
            F.binary_cross_entropy(x.sigmoid(), x.sigmoid())
        with torch.autocast("cuda", enabled=False):
            assert (x @ x.T).dtype is torch.float32
    assert (x @ x.T).dtype is torch.float32
    with torch.autocast("cpu"):
        assert (x @ x.T).dtype is torch.float32 and (x.cpu() @ x.cpu().T).dtype is torch.bfloat16


def test_a_weight_is_cast_once():
    layer, x = nn.Linear(4, 4, bias=False).to(DEVICE), torch.randn(2, 4, device=DEVICE)
    with torch.autocast("cuda"):
        y = layer(layer(x))
    assert y.dtype is torch.float16
    casts, nodes = set(), [y.grad_fn]
    while nodes:
        node = nodes.pop()
        casts |= {id(node)} if node.name() == "ToCopyBackward0" else set()
        nodes += [after for after, _ in node.next_functions if after is not None]
    assert len(casts) == 1
    y.sum().backward()
    assert layer.weight.grad.dtype is torch.float32 and layer.weight.grad.device == x.device


def net():
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(64, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 5)),
    )


def scaled_losses(device, lower):
    """Losses of the loop that everybody writes."""
    torch.manual_seed(0)
    model = net().to(device)
    images, labels = torch.randn(5, 4, 3, 4, 4).to(device), torch.randint(5, (5, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scaler, seen = torch.amp.GradScaler("cuda" if lower else "cpu", 128.0, enabled=lower is torch.float16), []
    for x, y in zip(images, labels, strict=True):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", lower or torch.float16, enabled=lower is not None):
            scores = model(x)
            loss = F.cross_entropy(scores, y)
        assert scores.dtype is (lower or torch.float32) and loss.dtype is torch.float32
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        seen.append(loss.item())
    assert all(p.dtype is p.grad.dtype is torch.float32 for p in model.parameters())
    return seen


@pytest.mark.parametrize("lower", LOWER)
def test_mixed_precision_trains_as_float32_does(lower):
    error = 0.02 if lower is torch.float16 else 0.05
    found = scaled_losses(DEVICE, lower)
    assert found == pytest.approx(scaled_losses("cpu", None), abs=error)
    assert found != scaled_losses(DEVICE, None)


def test_a_scaler_skips_steps_that_are_infinite():
    layer = nn.Linear(2, 1).to(DEVICE)
    for fused in (False, True):
        optimizer = torch.optim.Adam(layer.parameters(), fused=fused)
        scaler = torch.amp.GradScaler("cuda", init_scale=4.0, growth_interval=1)
        before = layer.weight.detach().clone()
        scaler.scale(layer(torch.full((1, 2), float("inf"), device=DEVICE)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 2 and torch.equal(layer.weight, before)
        optimizer.zero_grad()
        scaler.scale(layer(torch.ones(1, 2, device=DEVICE)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 4 and not torch.equal(layer.weight, before)
        optimizer.zero_grad()


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_is_computed_again_as_the_first_time(reentrant):
    seen, x = [], torch.randn(3, 4, device=DEVICE, requires_grad=True)

    def part(x):
        y = F.dropout(x @ torch.ones(4, 4, device=DEVICE), 0.5)
        seen.append(y.detach())
        return y * y

    with torch.autocast("cuda", torch.bfloat16):
        y = checkpoint(part, x, use_reentrant=reentrant)
    torch.rand(7, device=DEVICE)
    after = torch.cuda.get_rng_state(DEVICE)
    y.sum().backward()
    assert len(seen) == 2 and torch.equal(*seen) and seen[0].dtype is seen[1].dtype is torch.bfloat16
    assert torch.equal(torch.cuda.get_rng_state(DEVICE), after)


@pytest.mark.parametrize("name", ["half", "bfloat16", "double"])
def test_modules_of_other_dtypes(name):
    torch.manual_seed(0)
    model, x = net().eval(), torch.randn(2, 3, 4, 4)
    wanted = getattr(model, name)()(getattr(x, name)())
    found = model.to(DEVICE)(getattr(x, name)().to(DEVICE))
    assert found.dtype is wanted.dtype and found.device == torch.device(DEVICE)
    assert torch.allclose(found.cpu().double(), wanted.double(), atol=1e-12 if name == "double" else 0.02)
