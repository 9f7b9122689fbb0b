"""python -m rushlight.inspect, safetensors files, and the names that a checkpoint asks for."""

import io
import os
import pathlib

import pytest

import rushlight as torch
from helpers import files as kit
from rushlight.inspect import inspect, main

DATA = pathlib.Path(__file__).parents[1] / "data"


def test_lists_tensors_of_every_format():
    for name, kind in (("civilnet_digits.pth", "zip"), ("civilnet_digits_legacy.pth", "stream")):
        report = inspect(DATA / name)
        assert report.format.startswith(kind) and report.error is None and report.asks == []
        assert len(report.tensors) == 10 and report.tensors["conv1.weight"].shape == (6, 3, 5, 5)
        assert "holds data only" in str(report) and "fc3.bias" in str(report)
    report = inspect(DATA / "civilnet_digits_checkpoint.tar")
    assert "optimizer_state_dict.state.0.momentum_buffer" in report.tensors


def test_shared_memory_is_told(tmp_path):
    base = torch.ones(4)
    torch.save({"a": base, "b": [base[1:]], "c": torch.zeros(1)}, tmp_path / "x.pt")
    report = inspect(tmp_path / "x.pt")
    assert ["a", "b.0"] in report.storages
    assert "shared memory: a, b.0" in str(report) and "3 tensors, 8 elements, 2 storages" in str(report)


def test_nothing_of_a_hostile_file_runs(tmp_path, capsys):
    path = tmp_path / "x.pt"
    evil = kit.name("posix", "mkdir") + kit.many(kit.text(str(tmp_path / "trapped"))) + kit.REDUCE
    path.write_bytes(kit.archive(kit.many(kit.tensor(), evil)))
    assert main([str(path)]) == 1
    assert "posix.mkdir" in capsys.readouterr().out
    thing = kit.name("somewhere", "Thing") + b")" + kit.NEWOBJ
    thing += kit.mapping(kit.text("weight"), kit.tensor()) + kit.BUILD
    path.write_bytes(kit.archive(thing))
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert "nothing was imported or called): somewhere.Thing" in out and "\nweight  float32  [4]" in out
    assert os.listdir(tmp_path) == ["x.pt"]


def test_names_that_a_checkpoint_asks_for(tmp_path):
    ask = torch.serialization.get_unsafe_globals_in_checkpoint
    assert ask(DATA / "civilnet_digits.pth") == []
    torch.save(torch.nn.Sequential(torch.nn.Linear(1, 1)), tmp_path / "x.pt")
    names = ["torch.nn.modules.container.Sequential", "torch.nn.modules.linear.Linear"]
    assert ask(tmp_path / "x.pt") == names
    with torch.serialization.safe_globals([torch.nn.Linear]):
        assert ask(io.BytesIO((tmp_path / "x.pt").read_bytes())) == names[:1]


def test_safetensors_there_and_back(tmp_path, capsys):
    source = DATA / "civilnet_digits.pth"
    assert main([str(source), "--to", str(tmp_path / "x.safetensors")]) == 0
    assert main([str(tmp_path / "x.safetensors"), "--to", str(tmp_path / "y.pth")]) == 0
    capsys.readouterr()
    before, after = torch.load(source), torch.load(tmp_path / "y.pth")
    assert set(before) == set(after)
    assert all(torch.equal(before[key], after[key]) for key in before)
    loaded = torch.load(tmp_path / "x.safetensors", map_location=torch.device("cpu"))
    assert loaded["fc3.bias"].tolist() == before["fc3.bias"].tolist()


def test_safetensors_of_every_dtype_and_layout(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {
        "half": torch.ones(2, 3, dtype=torch.bfloat16),
        "turned": torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t(),
        "part": torch.tensor([0, 1, 2, 3])[1:3],
        "empty": torch.zeros(0, 2),
        "number": torch.tensor(True),
    }
    torch.save(tensors, path)
    back = torch.load(path)
    assert back["turned"].tolist() == [[1.0, 3.0], [2.0, 4.0]] and back["part"].tolist() == [1, 2]
    for key, tensor in tensors.items():
        assert back[key].dtype is tensor.dtype and back[key].shape == tensor.shape


def test_what_safetensors_cannot_hold(tmp_path):
    path = tmp_path / "x.safetensors"
    base = torch.ones(2)
    for wrong, error, text in (
        ([base], ValueError, "Expected a dict"),
        ({"a": {"b": base}}, ValueError, "flat dict"),
        ({"a": base, "b": base[:1]}, RuntimeError, "share memory"),
    ):
        with pytest.raises(error, match=text):
            torch.save(wrong, path)
    assert not path.exists()
    path.write_bytes(b"\xff" * 64)
    with pytest.raises(RuntimeError, match="x.safetensors"):
        torch.load(path)
    with pytest.raises(RuntimeError, match="dict map_location"):
        torch.load(path, map_location={"cpu": "cpu"})
