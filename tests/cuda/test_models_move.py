"""Models, optimizers, tensors and files that move between devices, and what says so."""

import copy
import io
import pickle
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

LAST = f"cuda:{torch.cuda.device_count() - 1}"


def fit(model, optimizer):
    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(3, 2, device=model.weight.device)).pow(2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(3)]


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_an_optimizer_goes_on_elsewhere(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    make = getattr(torch.optim, name)
    here, there = nn.Linear(2, 2), nn.Linear(2, 2).to(LAST)
    first = make(here.parameters(), lr=0.1, **options)
    fit(here, first)
    there.load_state_dict(here.state_dict())
    second = make(there.parameters(), lr=0.1, **options)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    assert fit(there, second) == pytest.approx(fit(here, first), abs=1e-5)
    back = make(here.parameters(), lr=0.1, **options)
    here.load_state_dict(there.state_dict())
    back.load_state_dict(copy.deepcopy(second.state_dict()))
    assert fit(here, back) == pytest.approx(fit(there, second), abs=1e-5)


@pytest.mark.parametrize("options", [{"fused": True}, {"capturable": True}, {"foreach": True}])
def test_options_of_devices(options):
    torch.manual_seed(0)
    layer = nn.Linear(2, 2)
    other = copy.deepcopy(layer).to(LAST)
    expected = fit(layer, torch.optim.Adam(layer.parameters(), lr=0.1))
    optimizer = torch.optim.Adam(other.parameters(), lr=0.1, **options)
    assert fit(other, optimizer) == pytest.approx(expected, abs=1e-5)
    state = optimizer.state[other.weight]
    state["step"] = state["step"].to(LAST)  # as in files that PyTorch's fused optimizers wrote
    fit(other, optimizer)
    assert state["step"].item() == 6


def test_gradients_follow_a_parameter():
    layer = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(layer.parameters())  # keeps the objects, which .to() leaves
    layer(torch.ones(1, 2)).sum().backward()
    layer.to(LAST)
    assert layer.weight.grad.device == torch.device(LAST)
    layer(torch.ones(1, 2, device=LAST)).sum().backward()
    optimizer.step()
    assert optimizer.state[layer.weight]["exp_avg"].is_cuda
    with pytest.warns(FutureWarning, match="weight_norm"):
        layer = nn.utils.weight_norm(nn.Linear(2, 2)).to(LAST)  # computed a weight on the CPU already
    layer(torch.ones(1, 2, device=LAST)).sum().backward()
    assert all(p.grad.device == torch.device(LAST) for p in layer.parameters())


def test_copies_and_pickles_stay_on_their_device():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).to(LAST)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        for key, value in other.state_dict().items():
            assert value.device == torch.device(LAST) and torch.equal(value, model.state_dict()[key])
        assert other[0].weight.data_ptr() != model[0].weight.data_ptr()
    storage = torch.arange(3.0, device=LAST).untyped_storage()
    for other in (copy.copy(storage), copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert other.device == torch.device(LAST) and other.tolist() == storage.tolist()
    with torch.device("meta"):
        empty = nn.Linear(2, 2)
    assert empty.to_empty(device=LAST).weight.device == torch.device(LAST)


def tagged(tensors, tag):
    """The bytes of a file as PyTorch writes it of tensors on a device."""
    plain, file = io.BytesIO(), io.BytesIO()
    torch.save(tensors, plain)
    name = b"X" + len(tag).to_bytes(4, "little") + tag
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(file, "w") as target:
        for entry in source.namelist():
            content = source.read(entry)
            if entry.endswith("data.pkl"):
                assert b"X\3\0\0\0cpu" in content
                content = content.replace(b"X\3\0\0\0cpu", name)
            target.writestr(entry, content)
    return file.getvalue()


def test_files_that_name_devices(tmp_path):
    tensors = {"a": torch.arange(4.0), "b": torch.ones(2).half()}
    data = tagged(tensors, LAST.encode())
    for place, device in [(None, LAST), ("cpu", "cpu"), ({LAST: "cuda:0"}, "cuda:0"), ("meta", "meta")]:
        found = torch.load(io.BytesIO(data), map_location=place)
        assert all(value.device == torch.device(device) for value in found.values())
        if device != "meta":
            assert all(torch.equal(value.cpu(), tensors[key]) for key, value in found.items())
    seen = []
    torch.load(io.BytesIO(data), map_location=lambda storage, where: seen.append(where) or storage)
    assert set(seen) == {LAST}
    with pytest.raises(RuntimeError, match="on CUDA device 9 but torch.cuda.device_count"):
        torch.load(io.BytesIO(tagged(tensors, b"cuda:9")))
    path = tmp_path / "tagged.pt"
    path.write_bytes(data)
    code = "import sys; sys.modules['rushlight._cuda_sim'] = sys.modules['rushlight._cuda'] = None\n"
    code += (
        f"import rushlight as torch; print(torch.load({str(path)!r}, map_location='cpu')['a'].sum().item())\n"
    )
    code += f"try: torch.load({str(path)!r})\nexcept RuntimeError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("6.0\nAttempting to deserialize object on a CUDA device but")


def test_a_model_over_two_devices():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 3).to("cuda:0"), nn.Linear(3, 2).to(LAST)

        def forward(self, x):
            return self.second(self.first(x.to("cuda:0")).relu().to(LAST))

    torch.manual_seed(0)
    model = Two()
    plain = nn.Sequential(copy.deepcopy(model.first), nn.ReLU(), copy.deepcopy(model.second)).cpu()
    x = torch.randn(4, 2)
    for net in (model, plain):
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(x).pow(2).sum().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(ours.cpu(), theirs, atol=1e-5)


def test_hooks_see_the_device():
    seen, layer = [], nn.Linear(2, 2).to(LAST)
    layer.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    layer.register_forward_hook(lambda module, args, out: seen.append(out))
    layer.register_full_backward_pre_hook(lambda module, grads: seen.append(grads[0]))
    layer.register_full_backward_hook(lambda module, before, after: seen.append(before[0]))
    layer.weight.register_hook(lambda grad: seen.append(grad * 2) or seen[-1])
    layer.weight.register_post_accumulate_grad_hook(lambda weight: seen.append(weight.grad))
    x = torch.ones(1, 2, device=LAST, requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (layer(x) ** 2).sum()
    y.backward()
    assert len(seen) == 6 and all(tensor.device == torch.device(LAST) for tensor in seen)
    assert sum(x.shape == (2, 2) and torch.equal(x, layer.weight.grad) for x in seen) == 2


def test_what_numpy_is_told():
    x = torch.arange(3.0, device=LAST, requires_grad=True)
    assert x.numpy(force=True).tolist() == [0, 1, 2]
    x = x.detach()
    for ask in (x.numpy, lambda: np.asarray(x), x.__array__):
        with pytest.raises(TypeError) as error:
            ask()
        text = (
            f"can't convert {LAST} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host"
        )
        assert str(error.value).startswith(text)
    assert x.__cuda_array_interface__["data"] == (x.data_ptr(), False)
    assert x.__dlpack_device__() == (2, x.device.index)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()


def test_devices_that_may_not_meet_are_named():
    x = torch.ones(2, device=LAST)
    with pytest.raises(RuntimeError, match=f"found at least two devices, {LAST} and cpu!"):
        x + torch.ones(2)
    with pytest.raises(RuntimeError, match=f"found at least two devices, {LAST} and cpu!"):
        torch.ones(2) * x
    assert (x + torch.tensor(2.0)).tolist() == [3, 3]


def test_types_of_old():
    x = torch.ones(2).type("torch.cuda.FloatTensor")
    assert x.is_cuda and x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)
    assert not isinstance(x.cpu(), torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor)
    assert torch.ones(2).type(torch.cuda.HalfTensor).dtype is torch.float16
    assert torch.cuda.LongTensor([1, 2]).tolist() == [1, 2] and torch.cuda.ByteTensor(3).shape == (3,)
    with pytest.raises(TypeError, match=r"expected TensorOptions.*device=cuda"):
        torch.cuda.FloatTensor(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once for each process
        torch.set_default_tensor_type("torch.cuda.DoubleTensor")
        try:
            assert torch.ones(1).is_cuda and torch.ones(1).dtype is torch.float64
        finally:
            torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(1).is_cpu and torch.ones(1).dtype is torch.float32


def test_the_default_device():
    with torch.device(LAST):
        made = [torch.ones(1), nn.Linear(2, 2).weight, torch.randperm(3), torch.tensor([1]), torch.eye(2)]
        made += [nn.LSTM(2, 2)(torch.ones(1, 1, 2))[0], torch.as_tensor([1.0]), torch.tril_indices(2, 2)]
        made += [
            batch[0] for batch in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2)))
        ]
    assert [each.device for each in made] == [torch.device(LAST)] * len(made)
    assert torch.ones(1).is_cpu


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_what_goes_to_the_device(workers):
    data = torch.utils.data.TensorDataset(torch.arange(6.0), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, 2, pin_memory=True, num_workers=workers)
    for i, (x, y) in enumerate(loader):
        assert x.is_pinned() and y.is_pinned()
        assert (
            x.to(LAST, non_blocking=True).tolist()
            == y.to(LAST, non_blocking=True).tolist()
            == [2 * i, 2 * i + 1]
        )
