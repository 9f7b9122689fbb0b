"""Steps of optimizers, and gradient scalers, over lists of tensors on a device: as on the CPU."""

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
    ours, optimizer = trained(name, options, "cuda:1")
    expected, reference = trained(name, options, "cpu")
    assert_close(ours, expected)
    for p, q in zip(ours, expected, strict=True):
        for key, value in reference.state[q].items():
            assert_close([optimizer.state[p][key]], [value])


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_steps_of_other_layouts(name):
    assert_close(trained(name, {}, "cuda", turned=True)[0], trained(name, {}, "cpu", turned=True)[0])


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
