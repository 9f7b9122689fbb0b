"""Models train on a device with the CPU's losses, and their files move between devices."""

import importlib.util
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from helpers import vision_models
from rushlight import nn

ROOT = Path(__file__).parents[2]
DEVICES = [f"cuda:{i}" for i in range(min(torch.cuda.device_count(), 2))]
STEPS = 10


def civilnet():
    spec = importlib.util.spec_from_file_location("civilnet", ROOT / "examples" / "civilnet.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CivilNet()


def mlp():
    return nn.Sequential(nn.Linear(12, 33), nn.GELU(), nn.LayerNorm(33), nn.Linear(33, 5))


def narrow_resnet():
    return vision_models.resnet(torch, 18, width=1 / 16, classes=5)


MODELS = {  # how it is made, shape of a batch, classes
    "civilnet": (civilnet, (2, 3, 32, 32), 10),
    "mlp": (mlp, (16, 12), 5),
    "resnet": (narrow_resnet, (8, 3, 16, 16), 5),
}
OPTIMIZERS = {
    "civilnet": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "mlp": lambda p: torch.optim.AdamW(p, lr=0.01),
    # larger steps are chaotic in float32: then the CPU's own kernels differ by more than 1e-4
    "resnet": lambda p: torch.optim.SGD(p, lr=1e-4, momentum=0.9, nesterov=True),
}


def losses(name, device):
    torch.manual_seed(3)
    make, shape, classes = MODELS[name]
    model = make()
    images, labels = torch.randn(STEPS, *shape), torch.randint(classes, (STEPS, shape[0]))
    model = model.to(device)
    optimizer = OPTIMIZERS[name](model.parameters())
    seen = []
    for x, y in zip(images.to(device), labels.to(device), strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen, model, optimizer


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_those_of_the_cpu(name):
    expected, _, _ = losses(name, "cpu")
    for device in DEVICES if name == "mlp" else DEVICES[-1:]:
        found, _, _ = losses(name, device)
        assert found == pytest.approx(expected, abs=1e-4), device


def test_checkpoints_move_between_devices(tmp_path):
    path = tmp_path / "mlp.pth"
    _, model, optimizer = losses("mlp", DEVICES[0])
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    wanted = {key: value.cpu() for key, value in model.state_dict().items()}
    for place, device in [
        ("cpu", "cpu"),
        (DEVICES[-1], DEVICES[-1]),
        ({DEVICES[0]: DEVICES[-1]}, DEVICES[-1]),
        (None, DEVICES[0]),
        (torch.device("cpu"), "cpu"),
        (lambda storage, location: storage, "cpu"),
    ]:
        loaded = torch.load(path, map_location=place)
        assert loaded["epoch"] == 3
        for key, value in loaded["model"].items():
            assert value.device == torch.device(device) and torch.equal(value.cpu(), wanted[key])
        again = mlp().to(device)
        again.load_state_dict(loaded["model"])
        steps = OPTIMIZERS["mlp"](again.parameters())
        steps.load_state_dict(loaded["optimizer"])
        assert all(s["exp_avg"].device == torch.device(device) for s in steps.state.values())


def test_a_checkpoint_of_the_cpu_goes_to_a_device(tmp_path):
    path = tmp_path / "mlp.pth"
    _, model, _ = losses("mlp", "cpu")
    torch.save(model.state_dict(), path)
    again = mlp().to(DEVICES[-1])
    again.load_state_dict(torch.load(path))
    x = torch.randn(4, 12)
    assert torch.allclose(again(x.to(DEVICES[-1])).cpu(), model(x), atol=1e-5)
