"""Steps of optimizers, and gradient scalers, over lists of tensors on a device: as on the CPU."""

import copy

import numpy as np
import pytest

import rushlight as torch

OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"maximize": True}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}],
    "AdamW": [{"weight_decay": 0.1}],
    "Adadelta": [{}],
    "Adagrad": [{"lr_decay": 0.1}],
    "Adamax": [{}],
    "ASGD": [{}],
    "NAdam": [{"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "RAdam": [{}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}],
    "Rprop": [{}],
}
CASES = [(name, options) for name, several in OPTIMIZERS.items() for options in several]
SHAPES = [(), (3,), (2, 5), (0, 4), (7, 11, 5), (1030,), (2, 3, 4, 5)]


def arrays(seed, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def trained(name, options, device, steps=3, dtype=torch.float32, turned=False):
    params = [torch.tensor(a, dtype=dtype, device=device) for a in arrays(0)]
    if turned:  # dense in another order, and gradients with gaps
        params = [p.t() if p.dim() == 2 else p for p in params]
    params = [torch.nn.Parameter(p) for p in params]
    optimizer = getattr(torch.optim, name)(params, lr=0.1, **options)
    for step in range(steps):
        for p, grad in zip(params, arrays(step + 1), strict=True):
            grad = torch.tensor(grad, dtype=dtype, device=device)
            p.grad = grad.t() if turned and p.dim() == 2 else grad
            if turned and p.dim() == 1:
                p.grad = torch.stack([p.grad, p.grad], dim=1)[:, 0] if device == "cpu" else gapped(p.grad)
        optimizer.step()
    return params, optimizer


def gapped(x):
    wide = torch.tensor(np.repeat(x.cpu().numpy(), 2), device=x.device)
    return wide[::2]


def assert_close(ours, expected, dtype=torch.float32):
    for a, b in zip(ours, expected, strict=True):
        got, wanted = (x.detach().cpu().to(torch.float64).numpy() for x in (a, b))
        rough = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-2, torch.bfloat16: 1e-1}[dtype]
        np.testing.assert_allclose(got, wanted, rtol=rough, atol=rough)


@pytest.mark.parametrize("name, options", CASES)
def test_a_step_is_as_on_the_cpu(name, options):
    ours, optimizer = trained(name, options, f"cuda:{torch.cuda.device_count() - 1}")
    expected, reference = trained(name, options, "cpu")
    assert_close(ours, expected)
    for p, q in zip(ours, expected, strict=True):
        for key, value in reference.state[q].items():
            assert_close([optimizer.state[p][key]], [value])


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_steps_of_other_layouts(name):
    assert_close(trained(name, {}, "cuda", turned=True)[0], trained(name, {}, "cpu", turned=True)[0])


@pytest.mark.parametrize("shape, strides", [((2, 2, 2), (1, 1, 5)), ((3, 4), (2, 3)), ((300, 2), (1, 1))])
def test_elements_that_are_one_are_stepped_one_after_the_other(shape, strides):
    """As on the CPU, each as often as it is named, whatever other threads do."""

    def run(device):
        base = torch.tensor(arrays(0, [(301,)])[0], device=device)
        param = torch.nn.Parameter(torch.zeros(shape, device=device))
        param.data = base.as_strided(shape, strides)
        param.grad = torch.tensor(arrays(1, [shape])[0], device=device)
        optimizer = torch.optim.SGD([param], lr=0.5, weight_decay=0.1)
        for _ in range(2):
            optimizer.step()
        grads = [torch.tensor(arrays(2, [(301,)])[0], device=device)]
        numbers = [torch.tensor(x, device=device) for x in (0.0, 0.5)]
        if device != "cpu":
            torch._amp_foreach_non_finite_check_and_unscale_([grads[0].as_strided(shape, strides)], *numbers)
        else:
            for place in np.ndindex(*shape):
                grads[0][int(np.dot(place, strides))] *= 0.5
        return [base, *grads]

    assert_close(run("cuda"), run("cpu"))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_steps_of_other_dtypes(dtype):
    ours, expected = (trained("Adam", {"fused": True}, device, dtype=dtype)[0] for device in ("cuda", "cpu"))
    assert_close(ours, expected, dtype)


def test_more_tensors_than_one_launch_takes_and_counts_that_differ():
    def run(device):
        params = [torch.nn.Parameter(torch.tensor(a, device=device)) for a in arrays(0, [(3, 5)] * 150)]
        optimizer = torch.optim.Adam(params, lr=0.1)
        for step in range(2):
            for i, p in enumerate(params):
                p.grad = torch.tensor(arrays(i, [(3, 5)])[0], device=device) if step or i % 3 else None
            optimizer.step()
        return params

    assert_close(run("cuda"), run("cpu"))


def test_parameters_on_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    grads = arrays(1, [(4, 4)] * 4)
    params = [torch.nn.Parameter(torch.tensor(a, device=f"cuda:{i % 2}")) for i, a in enumerate(grads)]
    for p, grad in zip(params, grads, strict=True):
        p.grad = torch.tensor(grad, device=p.device)
    torch.optim.SGD(params, lr=0.5).step()
    assert_close(params, [torch.tensor(g * 0.5) for g in grads])


# ---- gradient scalers ----
@pytest.mark.parametrize("bad", [None, float("inf"), float("nan")])
def test_unscale(bad):
    shapes = [(2, 3), (0,), (5000,), ()]
    grads = arrays(3, shapes)
    if bad is not None:
        grads[2][4321] = bad
    for dtype in (torch.float32, torch.float16, torch.float64):
        ours = [torch.tensor(g, device="cuda").to(dtype) for g in grads]
        found = torch.tensor(0.0, device="cuda")
        torch._amp_foreach_non_finite_check_and_unscale_(ours, found, torch.tensor(0.25, device="cuda"))
        assert found.item() == (bad is not None)
        assert_close(ours, [torch.tensor(g).to(dtype) * 0.25 for g in grads], dtype)


def test_unscale_of_gradients_with_gaps():
    base = torch.tensor(arrays(4, [(6, 8)])[0], device="cuda")
    before = base.cpu().numpy()
    found = torch.tensor(0.0, device="cuda")
    torch._amp_foreach_non_finite_check_and_unscale_([base[:, ::2]], found, torch.tensor(2.0, device="cuda"))
    before[:, ::2] *= 2
    np.testing.assert_array_equal(base.cpu().numpy(), before)
    assert found.item() == 0


@pytest.mark.parametrize("found, tracker", [(0.0, 0), (0.0, 2), (1.0, 1)])
def test_update_of_the_scale(found, tracker):
    def run(device):
        scale, steps = (
            torch.tensor(8.0, device=device),
            torch.tensor(tracker, dtype=torch.int32, device=device),
        )
        torch._amp_update_scale_(scale, steps, torch.tensor(found, device=device), 2.0, 0.5, 3)
        return scale.item(), steps.item()

    assert run("cuda") == run("cpu")


# ---- what stays on the device ----
FUSED = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {"weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1}),
]
COUNTED = [name for name in OPTIMIZERS if name not in ("SGD", "Adagrad")]


class Waits:
    """Counts the copies of single numbers to the CPU."""

    def __init__(self, monkeypatch):
        self.count = 0
        item = torch.Tensor.item

        def counted(tensor):
            self.count += tensor.is_cuda
            return item(tensor)

        monkeypatch.setattr(torch.Tensor, "item", counted)


def scaled(name, options, device, bad=(1, 4), steps=6, scale=1024.0, waits=None):
    params = [torch.nn.Parameter(torch.tensor(a, device=device)) for a in arrays(0)]
    optimizer = getattr(torch.optim, name)(params, lr=0.1, fused=True, **options)
    scaler = torch.amp.GradScaler(torch.device(device).type, init_scale=scale, growth_interval=2)
    seen = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = sum((p * torch.tensor(g, device=device)).sum() for p, g in zip(params, arrays(step + 1)))
        scaler.scale(loss).backward()
        if step in bad:
            params[2].grad[0, 0] = float("inf") if step % 2 else float("nan")
        if step == 3:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(params, 50.0)
        before = waits.count if waits else 0
        scaler.step(optimizer)
        if waits:
            seen.append(waits.count - before)
        scaler.update()
    return params, optimizer, scaler, seen


@pytest.mark.parametrize("name, options", FUSED)
def test_scaled_steps_are_as_on_the_cpu_and_wait_for_nothing(name, options, monkeypatch):
    expected, reference, scaler, _ = scaled(name, options, "cpu")
    waits = Waits(monkeypatch)
    ours, optimizer, ours_scaler, seen = scaled(name, options, "cuda:1", waits=waits)
    asks = "dampening" in options  # whether the first step is made decides what its momentum begins with
    assert (seen[0] > 0) == asks and sum(seen[2:]) == 0 and (asks or seen[1] == 0)
    assert_close(ours, expected)
    for p, q in zip(ours, expected, strict=True):
        assert optimizer.state[p].keys() == reference.state[q].keys()
        for key, value in reference.state[q].items():
            assert_close([optimizer.state[p][key]], [value])
            assert optimizer.state[p][key].device == p.device
        assert_close([p.grad], [q.grad])
    assert ours_scaler.get_scale() == scaler.get_scale() != 1024


def test_a_first_step_that_is_left_out():
    for options in ({"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}):
        ours, expected = (scaled("SGD", options, d, bad=(0, 1))[0] for d in ("cuda", "cpu"))
        assert_close(ours, expected)


def test_scaled_steps_of_halves_and_of_gradients_with_gaps():
    def run(device, dtype):
        p = torch.nn.Parameter(torch.tensor(arrays(0, [(6, 8)])[0], device=device, dtype=dtype))
        optimizer = torch.optim.AdamW([p], lr=0.1, fused=True)
        optimizer.grad_scale = torch.tensor(4.0, device=device)
        for found in (0.0, 2.0, 0.0):
            wide = torch.tensor(arrays(1, [(6, 16)])[0], device=device, dtype=dtype)
            p.grad = wide[:, ::2]
            optimizer.found_inf = torch.tensor(found, device=device)
            optimizer.step()
        return p, p.grad, optimizer.state[p]["step"]

    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        ours, expected = run("cuda", dtype), run("cpu", dtype)
        assert_close(ours[:2], expected[:2], dtype)
        assert ours[2].item() == expected[2].item() == 2


def test_a_scale_of_another_gpu():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    params = [torch.nn.Parameter(torch.ones(3, device=f"cuda:{i}")) for i in range(2)]
    optimizer = torch.optim.SGD([{"params": [p]} for p in params], lr=1.0, fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=8.0)
    scaler.scale(params[0].sum() + params[1].to("cuda:0").sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert [p.tolist() for p in params] == [[0.0] * 3] * 2
    scaler.scale(params[0].sum() + params[1].to("cuda:0").sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert [p.tolist() for p in params] == [[0.0] * 3] * 2 and scaler.get_scale() == 4


@pytest.mark.parametrize("name", COUNTED)
def test_counts_on_the_device(name, monkeypatch):
    options = {**OPTIMIZERS[name][-1], "capturable": True}
    waits = Waits(monkeypatch)
    ours, optimizer = trained(name, options, "cuda:1")
    assert waits.count == 0
    expected, reference = trained(name, OPTIMIZERS[name][-1], "cpu")
    assert_close(ours, expected)
    for p, q in zip(ours, expected, strict=True):
        for key, value in reference.state[q].items():
            assert optimizer.state[p][key].device == p.device
            assert_close([optimizer.state[p][key]], [value])


def test_counts_follow_what_a_loaded_state_asks_for():
    for name in ("Adam", "NAdam", "ASGD"):
        _, optimizer = trained(name, {}, "cpu")
        for options, place in (({}, "cpu"), ({"capturable": True}, "cuda")):
            params = [torch.nn.Parameter(torch.tensor(a, device="cuda")) for a in arrays(0)]
            again = getattr(torch.optim, name)(params, lr=0.1, **options)
            state = copy.deepcopy(optimizer.state_dict())
            for group in state["param_groups"]:
                group.update(options)
            again.load_state_dict(state)
            counts = [again.state[params[1]][key] for key in again._COUNTS]
            assert {x.device.type for x in counts} == {place}
            params[1].grad = torch.ones_like(params[1])
            again.step()
            assert again.state[params[1]]["step"].item() == 4


def test_capturable_refuses_counts_on_the_cpu():
    p = torch.nn.Parameter(torch.ones(2, device="cuda"))
    optimizer = torch.optim.Adam([p])
    p.grad = torch.ones(2, device="cuda")
    optimizer.step()
    optimizer.param_groups[0]["capturable"] = True
    with pytest.raises(AssertionError, match="must be on supported devices"):
        optimizer.step()
