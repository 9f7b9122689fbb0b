"""rushlight convert: formats there and back, and what is said about what is lost."""

import io
import os
import time
from pathlib import Path

import pytest

import rushlight as torch
from helpers import files as kit
from rushlight import nn
from rushlight._command import main
from rushlight._files.layouts import SparseTensor

SPARSE = SparseTensor(torch.sparse_coo, (torch.tensor([[0, 1]]), torch.ones(2)), (3,))
DATA = Path(__file__).parents[1] / "data"


def convert(capsys, *arguments):
    status = main(["convert", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert (err == "") == (status == 0) and err.count("\n") <= 1
    return out if status == 0 else f"{status} {err}"


def same(a, b):
    return list(a) == list(b) and all(torch.equal(a[key], b[key]) for key in a)


def test_there_and_back(tmp_path, capsys):
    before = torch.load(DATA / "civilnet_digits.pth")
    flat, back = tmp_path / "x.safetensors", tmp_path / "y.pt"
    out = convert(capsys, DATA / "civilnet_digits.pth", flat)
    assert out.startswith(f"written: {flat}, 10 tensors, 24") and "left out: the versions of modules" in out
    assert (
        convert(capsys, flat, back) == f"written: {back}, 10 tensors, {back.stat().st_size / 1000:.1f} kB\n"
    )
    after = torch.load(back)
    assert same(dict(sorted(before.items())), dict(sorted(after.items())))


def test_the_old_stream_becomes_a_zip_with_all_it_holds(tmp_path, capsys):
    target = tmp_path / "x.bin"
    out = convert(capsys, DATA / "civilnet_digits_legacy.pth", target)
    assert out.startswith(f"written: {target}, 10 tensors") and "left out" not in out
    before, after = torch.load(DATA / "civilnet_digits_legacy.pth"), torch.load(target)
    assert same(before, after) and after._metadata == before._metadata
    assert target.read_bytes()[:2] == b"PK"


def test_a_part_of_a_checkpoint(tmp_path, capsys):
    source, target = DATA / "civilnet_digits_checkpoint.tar", tmp_path / "x.safetensors"
    out = convert(capsys, source, target)
    assert (
        "21 tensors" in out and "left out: 11 values (epoch, optimizer_state_dict.param_groups.0.lr," in out
    )
    assert (
        "left out: that loss required grad" in out
        and "one part alone: --key model_state_dict or --key" in out
    )
    assert "optimizer_state_dict.state.0.momentum_buffer" in torch.load(target)
    out = convert(capsys, source, target, "--key", "model_state_dict", "--force")
    assert "10 tensors" in out and "values" not in out and "one part alone" not in out
    loaded, state = torch.load(target), torch.load(source)["model_state_dict"]
    assert sorted(loaded) == sorted(state) and all(torch.equal(loaded[key], state[key]) for key in state)
    convert(capsys, source, tmp_path / "y.pt", "--key", "optimizer_state_dict.state.3")
    assert list(torch.load(tmp_path / "y.pt")) == ["momentum_buffer"]
    out = convert(capsys, source, target, "--force", "--key", "model")
    assert out.startswith("1 ") and "has no model; there is model_state_dict, optimizer_state_dict\n" in out


def test_nothing_is_replaced_without_force(tmp_path, capsys):
    target = tmp_path / "x.pt"
    target.write_text("mine")
    out = convert(capsys, DATA / "civilnet_digits.pth", target)
    assert (
        out == f"1 rushlight convert: {target} exists; --force replaces it\n" and target.read_text() == "mine"
    )
    (tmp_path / "link.pt").symlink_to(tmp_path / "nowhere")
    assert "link.pt exists" in convert(capsys, DATA / "civilnet_digits.pth", tmp_path / "link.pt")
    assert convert(capsys, DATA / "civilnet_digits.pth", target, "--force").startswith("written")
    assert convert(capsys, target, target, "--force").startswith("written") and len(torch.load(target)) == 10
    (tmp_path / "folder.pt").mkdir()
    assert "folder.pt is a directory" in convert(capsys, target, tmp_path / "folder.pt", "--force")


def test_what_fails_writes_nothing(tmp_path, capsys):
    source = tmp_path / "damaged.pth"
    data = bytearray((DATA / "civilnet_digits.pth").read_bytes())
    data[data.index(b"civilnet_digits/data/0") + 200] ^= 1
    source.write_bytes(data)
    assert main(["inspect", str(source)]) == 0  # it maps the numbers and does not read them
    capsys.readouterr()
    out = convert(capsys, source, tmp_path / "x.safetensors")
    assert out.startswith("1 ") and "cannot read" in out and "checksum" in out.lower()
    for content, text in (
        ({"a": torch.empty(1, dtype=torch.complex32)}, "the dtype of a"),
        ({"a.b": torch.ones(1), "a": {"b": torch.ones(1)}}, "two tensors are both called a.b"),
        ({"a": SPARSE}, "a is not a strided tensor"),
        ({"a": torch.empty(1, device="meta")}, "a is on the meta device and has no data"),
        ({"epoch": 3}, "there is no tensor to be written"),
    ):
        torch.save(content, tmp_path / "x.pt")
        out = convert(capsys, tmp_path / "x.pt", tmp_path / "x.safetensors")
        assert out.startswith("1 ") and text in out
    assert "does not exist" in convert(capsys, tmp_path / "x.pt", tmp_path / "no" / "x.pt")
    assert "cannot open" in convert(capsys, tmp_path / "none.pt", tmp_path / "y.pt")
    assert sorted(os.listdir(tmp_path)) == ["damaged.pth", "x.pt"]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)
        self.two = nn.Linear(3, 3, bias=False)
        self.two.weight = self.one.weight
        self.register_buffer("passing", torch.ones(5), persistent=False)


def test_shared_memory(tmp_path, capsys):
    module, source = Tied(), tmp_path / "x.pt"
    torch.save(module.state_dict(), source)
    out = convert(capsys, source, tmp_path / "x.safetensors")
    assert "\n  shared memory: one.weight, two.weight became copies of their own\n" in out
    other = Tied()
    other.load_state_dict(torch.load(tmp_path / "x.safetensors"))
    assert same(module.state_dict(), other.state_dict()) and other.two.weight is other.one.weight
    assert "shared memory" not in convert(capsys, source, tmp_path / "y.pt")
    loaded = torch.load(tmp_path / "y.pt")
    assert loaded["one.weight"].data_ptr() == loaded["two.weight"].data_ptr()


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_a_whole_module_becomes_its_state_dict(suffix, tmp_path, capsys):
    module, target = Tied(), tmp_path / f"y.{suffix}"
    torch.save(module, tmp_path / "x.pt")
    out = convert(capsys, tmp_path / "x.pt", target)
    assert f"objects, but not their tensors, of {__name__}.Tied, torch.nn.modules.linear.Linear" in out
    loaded = torch.load(target)
    assert not any(tensor.requires_grad for tensor in loaded.values())
    assert same({key: loaded[key] for key in module.state_dict()}, module.state_dict()) and len(loaded) == 3


def test_metadata_and_devices_are_said(tmp_path, capsys):
    source = tmp_path / "x.safetensors"
    torch.save({"a": torch.zeros(1)}, source)
    data = source.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].strip()[:-1] + b',"__metadata__":{"format":"p\\u001bt"}}'
    source.write_bytes(len(header).to_bytes(8, "little") + header + data[8 + size :])
    assert main(["inspect", str(source)]) == 0
    assert "\nmetadata: format = p\\x1bt\n" in capsys.readouterr().out
    assert "\n  left out: the metadata format\n" in convert(capsys, source, tmp_path / "x.pt")
    body = kit.mapping(kit.text("w"), kit.tensor(kit.storage(location="cuda:1")))
    (tmp_path / "cuda.pt").write_bytes(kit.archive(body))
    out = convert(capsys, tmp_path / "cuda.pt", tmp_path / "cpu.pt")
    assert "\n  on the CPU now: what was saved from cuda:1\n" in out
    assert torch.load(tmp_path / "cpu.pt")["w"].device.type == "cpu"


def test_a_key_that_is_no_part(tmp_path, capsys):
    torch.save({"epoch": 7, "model": {"w": torch.ones(2)}, "x": torch.ones(1)}, tmp_path / "a.pth")
    for key, kind in (("epoch", "a value (int)"), ("x", "a tensor")):
        assert main(["convert", str(tmp_path / "a.pth"), str(tmp_path / "b.pth"), "--key", key]) == 1
        assert f"{key} of {tmp_path}/a.pth is {kind}, not a part with tensors; there is model" in (
            capsys.readouterr().err
        )
    assert not (tmp_path / "b.pth").exists()


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    from rushlight._command import convert

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(convert.sys, "stderr", terminal := Terminal())
    with convert._progress("quick"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(convert, "_SECONDS", 0.001)
    with convert._progress("writing x"):
        while "writing x" not in terminal.getvalue():
            time.sleep(0.001)
    assert terminal.getvalue().endswith("\r\x1b[K")
