"""safetensors files: what is read and refused beside the package's own reader, and what is written."""

import gc
import io
import os
import re
import resource
import struct
import subprocess
import sys

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import rushlight as torch
from helpers import safetensors as kit
from helpers.process import python
from rushlight import nn
from rushlight.inspect import inspect
from rushlight.safetensors import (
    SafetensorError,
    load,
    load_file,
    load_model,
    safe_open,
    save,
    save_file,
    save_model,
)

# of the kit's files, those in which the package takes what has two meanings, or more than tensors can be here
STRICTER = "comes twice|does not begin|more than 6[34]|strides|expected `{`|expected a string|not have|odd"


def theirs(data):
    """What the package makes of a file: tensors by name, or the error."""
    try:
        return dict(safetensors.deserialize(data))
    except safetensors.SafetensorError as error:
        return error


def ours(data):
    try:
        return load(data)
    except SafetensorError as error:
        return error


def bytes_of(tensor):
    start = tensor.storage_offset() * tensor.itemsize
    return bytes(memoryview(tensor.untyped_storage())[start : start + tensor.numel() * tensor.itemsize])


def check_equal(found, expected):
    assert sorted(found) == sorted(expected)
    for name, entry in expected.items():
        data, shape = bytes(entry["data"]), entry["shape"]
        if entry["dtype"] == "BOOL":  # kernels rely on 0 and 1
            data = bytes(byte > 0 for byte in data)
        if entry["dtype"] == "F4":  # PyTorch counts pairs
            shape = [*shape[:-1], shape[-1] // 2]
        assert (
            bytes_of(found[name]) == data and list(found[name].shape) == shape and found[name].is_contiguous()
        )


def written(tmp_path, data, name="x.safetensors"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


# ---- what is read ----


@pytest.mark.parametrize("name", kit.SOUND)
def test_sound_files_are_read_as_the_package_reads_them(name, tmp_path):
    data = kit.SOUND[name]
    expected, path = dict(safetensors.deserialize(data)), written(tmp_path, data)
    for found in (
        load(data),
        torch.load(path),
        torch.load(path, mmap=False),
        load_file(path, backend="pread"),
    ):
        check_equal(found, expected)
    with safetensors.safe_open(path, framework="np") as one, safe_open(path, framework="pt") as other:
        assert other.metadata() == one.metadata()
        assert sorted(other.offset_keys()) == other.keys() == sorted(one.keys())


@pytest.mark.parametrize("name", kit.HOSTILE)
def test_what_the_package_refuses_is_refused(name, tmp_path):
    data = kit.HOSTILE[name]
    assert isinstance(theirs(data), safetensors.SafetensorError)
    with pytest.raises(SafetensorError, match=r"\(file <bytes>\)"):
        load(data)
    path = written(tmp_path, data)
    for mapped in (True, False):
        with pytest.raises(RuntimeError, match="x.safetensors"):
            torch.load(path, mmap=mapped)


@pytest.mark.parametrize("name", kit.STRICTER)
def test_what_has_two_meanings_is_refused(name):
    data, text = kit.STRICTER[name]
    assert isinstance(theirs(data), dict)
    with pytest.raises(SafetensorError, match=text):
        load(data)


def test_mutants_are_read_as_the_package_reads_them_or_refused():
    read = refused = stricter = 0
    for data in kit.mutants(20_000):
        expected, found = theirs(data), ours(data)
        if isinstance(found, dict):
            assert isinstance(expected, dict), data
            check_equal(found, expected)
            read += 1
        elif isinstance(expected, dict):
            assert re.search(STRICTER, str(found)), data
            stricter += 1
        else:
            refused += 1
    assert read > 500 and refused > 10_000 and stricter < 50


def test_every_beginning_of_a_file_is_refused(tmp_path):
    data = kit.SOUND["metadata"]
    for n in range(len(data)):
        path = written(tmp_path, data[:n])
        for mapped in (True, False):
            with pytest.raises(SafetensorError):
                torch.load(path, mmap=mapped)


def test_a_header_of_100_mb_is_read_and_a_longer_one_is_not():
    spaces = b" " * 99_999_998
    assert load(kit.file(b"{}" + spaces)) == {}
    with pytest.raises(SafetensorError, match="header too large: 100000001 bytes"):
        load(kit.file(b"{} " + spaces))


def test_what_a_file_claims_takes_no_memory(tmp_path):
    huge = kit.one(shape="[1152921504606846976]", offsets="[0,4611686018427387904]")
    for data, text in (
        (huge, "not fully covered"),
        (kit.file("{}", size=99_999_999), "invalid header length"),
    ):
        for mapped in (True, False):
            with pytest.raises(SafetensorError, match=text):
                torch.load(written(tmp_path, data), mmap=mapped)


@pytest.mark.parametrize("mapped", [True, False])
def test_reading_survives_the_end_of_memory(mapped, tmp_path):
    names = ",".join(kit.entry(f"\\u0061{i}", shape="[0]", offsets="[0,0]") for i in range(100))
    path = written(
        tmp_path, kit.file('{"__metadata__":{"a":"b"},' + names + "," + kit.entry() + "}", kit.EIGHT)
    )
    failed = []
    for n in range(600):
        torch._C._fail_alloc(n)
        try:
            found = torch.load(path, mmap=mapped)
        except (MemoryError, RuntimeError) as error:
            assert isinstance(error, MemoryError) or "memory" in str(error)
            failed.append(n)
        finally:
            torch._C._fail_alloc(-1)
    # where nothing can note the mapping, the file is read; the last calls had all their memory
    assert 100 < len(failed) < 500 and len(found) == 101 and bytes_of(found["a"]) == kit.EIGHT


# ---- where the bytes are ----


def test_tensors_can_be_written_to_and_the_file_stays(tmp_path):
    path = tmp_path / "x.safetensors"
    torch.save({"a": torch.arange(4.0), "b": torch.ones(1000)}, path)
    before = path.read_bytes()
    for mapped in (None, True, False):
        tensors = torch.load(path, mmap=mapped)
        tensors["a"].mul_(2)
        assert tensors["a"].tolist() == [0, 2, 4, 6] and not tensors["a"].is_shared()
        assert torch.load(path)["a"].tolist() == [0, 1, 2, 3]
    assert path.read_bytes() == before


def test_a_tensor_keeps_the_mapping_and_each_has_its_own_storage(tmp_path):
    path = tmp_path / "x.safetensors"
    torch.save({"a": torch.arange(4.0), "b": torch.ones(1000)}, path)
    a = torch.load(path)["a"]
    os.unlink(path)
    gc.collect()
    assert a.untyped_storage().nbytes() == 16 and a.add_(1).tolist() == [1, 2, 3, 4]


def test_a_file_is_replaced_while_its_tensors_live(tmp_path):
    path = tmp_path / "x.safetensors"
    torch.save({"a": torch.arange(1000.0)}, path)
    tensors = torch.load(path)
    torch.save({"a": tensors["a"] * 2, "b": tensors["a"]}, path)
    assert tensors["a"][999] == 999 and torch.load(path)["a"][999] == 1998


CUT = """
import os, sys
import rushlight as torch
from rushlight.inspect import inspect
from rushlight.safetensors import load_file, safe_open
path = sys.argv[1]
torch.save({"a": torch.arange(100_000)}, path)
kept = [torch.load(path)["a"], inspect(path).tensors["a"]]
if path.endswith(".safetensors"):
    kept += [load_file(path)["a"], safe_open(path, framework="pt").get_tensor("a")]
os.truncate(path, 0)
print([tensor.equal(torch.arange(100_000)) for tensor in kept])
"""


@pytest.mark.parametrize("name", ["a.safetensors", "a.pth"])
def test_a_file_may_be_cut_after_it_was_read(name, tmp_path):
    run = [sys.executable, "-c", CUT, str(tmp_path / name)]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("[True, True, True, True]\n", "[True, True]\n")


def is_mapped(path):
    with open("/proc/self/maps") as file:
        return str(path) in file.read()


@pytest.mark.parametrize("more, large", [(-1, False), (0, True)])
def test_large_files_are_mapped_and_all_that_should_be(more, large, tmp_path):
    path = tmp_path / "x.safetensors"
    size = (64 << 20) + more - 8 - 100
    header = ("{" + kit.entry(dtype='"U8"', shape=f"[{size}]", offsets=f"[0,{size}]") + "}").ljust(100)
    with open(path, "wb") as file:
        file.write(kit.file(header))
        file.truncate((64 << 20) + more)  # a hole
    for load_it, expected in (
        (lambda: torch.load(path), large),
        (lambda: load_file(path), large),
        (lambda: inspect(path), large),
        (lambda: torch.load(path, mmap=True), True),
        (lambda: torch.load(path, mmap=False), False),
        (lambda: load_file(path, backend="pread"), False),
    ):
        held = load_it()
        assert is_mapped(path) == expected
        del held
        assert not is_mapped(path)


def test_a_mapping_reads_only_what_is_looked_at(tmp_path):
    path, size = tmp_path / "x.safetensors", 4 << 30
    header = "{" + kit.entry(dtype='"U8"', shape=f"[{size}]", offsets=f"[0,{size}]") + "}"
    with open(path, "wb") as file:
        file.write(kit.file(header))
        file.truncate(8 + len(header) + size)  # a hole
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert torch.load(path)["a"][size // 2] == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_pipe_is_read(tmp_path):
    path = tmp_path / "x.safetensors"
    os.mkfifo(path)
    with subprocess.Popen([sys.executable, "-c", f"open({str(path)!r}, 'wb').write({kit.ONE!r})"]):
        assert bytes_of(load_file(path)["a"]) == kit.EIGHT


def test_files_by_their_contents(tmp_path):
    path = written(tmp_path, kit.ONE, "x.bin")
    with open(path, "rb") as file:
        for source in (path, file, io.BytesIO(kit.ONE)):
            check_equal(torch.load(source), theirs(kit.ONE))
        assert file.read() == b""
    check_equal(torch.load(path, mmap=True), theirs(kit.ONE))
    assert torch.load(path, map_location=lambda storage, location: storage)["a"].shape == (2,)
    assert torch.load(path, weights_only=False)["a"].shape == (2,) and inspect(path).format == "safetensors"
    with pytest.raises(RuntimeError, match=r"invalid offset: tensor `b` \(file <BytesIO>\)"):
        torch.load(io.BytesIO(kit.HOSTILE["a hole"]))


def test_map_location(tmp_path):
    path = written(tmp_path, kit.ONE)
    for where in ("cpu", b"cpu", torch.device("cpu"), None):
        assert torch.load(path, map_location=where)["a"].device.type == "cpu"
    assert torch.load(path, map_location="meta")["a"].is_meta
    for where, kind in (({"cpu": "cpu"}, "dict"), (lambda storage, location: storage, "callable")):
        with pytest.raises(RuntimeError, match=f"{kind} map_location is not supported"):
            torch.load(path, map_location=where)
    with pytest.raises(FileNotFoundError, match="none.safetensors"):
        torch.load(tmp_path / "none.safetensors")


def test_inspect_shows_metadata(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"a": torch.zeros(2)}, path, {"format": "pt", "note": "a\nb", "long": "x" * 1000})
    report = inspect(path)
    assert report.metadata["note"] == "a\nb" and len(report.metadata) == 3 and report.error is None
    assert "metadata: format = pt\nmetadata: note = a\\nb\nmetadata: long = xxx" in str(report)
    assert max(map(len, str(report).splitlines())) < 300
    written(tmp_path, kit.HOSTILE["a hole"])
    assert "invalid offset: tensor `b`" in inspect(path).error


# ---- what is written ----

ARRAYS = {
    **{f"{dtype} {n}": np.arange(n).astype(dtype) for n in (0, 1, 5) for dtype in "?bBhHiIlLefdF"},
    "matrix": np.arange(6.0).reshape(2, 3),
    "none of it": np.zeros((2, 0, 3), np.float32),
    "": np.array(1),
    'a "name"\n\t\b\f\r\\/\x01\x7f é\u2028😀': np.array(True),
}


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"é\n": '"'}])
def test_the_bytes_are_those_of_the_package(metadata, tmp_path):
    tensors = {name: torch.from_numpy(array.copy()) for name, array in ARRAYS.items()}
    expected = safetensors.numpy.save(ARRAYS, metadata)
    assert save(tensors, metadata) == expected
    save_file(tensors, tmp_path / "x.safetensors", metadata)
    assert (tmp_path / "x.safetensors").read_bytes() == expected
    if metadata is None:
        torch.save(tensors, tmp_path / "y.safetensors")
        assert (tmp_path / "y.safetensors").read_bytes() == expected


def test_dicts_of_all_sizes_are_written_as_the_package_writes_them():
    random = np.random.RandomState(0)
    for n in range(60):
        arrays = {
            "".join(map(chr, random.randint(32, 1000, random.randint(8)))): random.randint(
                0, 100, random.randint(0, 4, random.randint(4))
            ).astype(random.choice(list("?bBhHiIlLefdF")))
            for _ in range(n)
        }
        data = save({name: torch.from_numpy(array) for name, array in arrays.items()})
        assert data == safetensors.numpy.save(arrays)
        check_equal(load(data), dict(safetensors.deserialize(data)))


def test_converted_dtypes_there_and_back():
    raw = torch.arange(16, dtype=torch.uint8)
    eights = (f"float8_{kind}" for kind in ("e5m2", "e4m3fn", "e8m0fnu", "e4m3fnuz", "e5m2fnuz"))
    names = (*eights, "float4_e2m1fn_x2", "bfloat16")
    tensors = {name: raw.clone().view(getattr(torch, name)) for name in names}
    back = load(save(tensors))
    for name, tensor in tensors.items():
        assert back[name].dtype is tensor.dtype and bytes_of(back[name]) == bytes_of(raw)
    assert b'"float4_e2m1fn_x2":{"dtype":"F4","shape":[32],"data_offsets"' in save(tensors)


def test_what_cannot_be_written(tmp_path):
    base = torch.ones(4)
    for wrong, error, text in (
        ([base], ValueError, "Expected a dict of"),
        ({"a": {"b": base}}, ValueError, "flat dict of names and tensors, but got 'a': dict"),
        ({1: base}, ValueError, "flat dict"),
        ({"a": None}, ValueError, "flat dict"),
        ({"__metadata__": base}, ValueError, "__metadata__"),
        ({"a": torch.zeros(2, dtype=torch.complex128)}, ValueError, "cannot hold torch.complex128"),
        ({"a": base, "b": base}, RuntimeError, r"share memory.*\[\['a', 'b'\]\]"),
        ({"a": base[:3], "b": base[2:], "c": base[:1].view(1, 1)}, RuntimeError, r"\[\['a', 'b', 'c'\]\]"),
        ({"\ud800": base}, UnicodeEncodeError, "surrogates not allowed"),
        ({"a": torch.ones(2, device="meta")}, NotImplementedError, "meta"),
    ):
        for write in (save, lambda tensors: torch.save(tensors, tmp_path / "x.safetensors")):
            with pytest.raises(error, match=text):
                write(wrong)
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        save({"a": torch.ones(2, 3).t()})
    with pytest.raises(TypeError, match="metadata"):
        save({"a": base}, {"a": 1})
    assert os.listdir(tmp_path) == []


def test_parts_of_a_storage_that_do_not_meet(tmp_path):
    base = torch.arange(6.0)
    tensors = {"b": base[4:], "a": base[:2], "none": base[1:1], "m": torch.ones(1, device="cpu")}
    back = load(save(tensors))
    assert back["a"].tolist() == [0, 1] and back["b"].tolist() == [4, 5]
    columns = torch.arange(6.0).view(2, 3)
    torch.save({"turned": columns.t()}, tmp_path / "x.safetensors")
    assert torch.load(tmp_path / "x.safetensors")["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.safetensors"
    torch.save({"a": torch.ones(2)}, path)
    before = path.read_bytes()
    code = f"""
import resource, signal
import rushlight as torch
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
for tensors in ({{"a": torch.ones(1 << 20)}}, {{str(i): torch.ones(10) for i in range(2000)}}):
    try:
        torch.save(tensors, {str(path)!r})
    except OSError as error:
        print(error)
"""
    lines = python(code).splitlines()
    assert len(lines) == 2 and all(f"File too large: '{path}'" in line for line in lines)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.safetensors"]
    os.symlink("/dev/full", tmp_path / "full.safetensors")
    with pytest.raises(OSError, match="No space left on device"):
        torch.save({"a": torch.ones(1 << 20)}, tmp_path / "full.safetensors")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        save_file({"a": torch.ones(1)}, tmp_path / "nowhere" / "x.safetensors")


# ---- models, and tensor by tensor ----


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.b.weight = self.a.weight


def test_a_model_with_tied_parameters(tmp_path):
    path, model, other = tmp_path / "x.safetensors", Tied(), Tied()
    with pytest.raises(RuntimeError, match="share memory"):
        torch.save(dict(model.state_dict()), path)
    save_model(model, path, {"note": "x"})
    with safe_open(path, "pt") as file:
        assert file.keys() == ["a.bias", "a.weight", "b.bias"]
        assert file.metadata() == {"note": "x", "b.weight": "a.weight"}
    assert load_model(other, path) == (set(), [])
    assert torch.equal(other.b.weight, model.a.weight) and other.b.weight is other.a.weight


def test_names_that_differ(tmp_path):
    path = tmp_path / "x.safetensors"
    save_model(Tied(), path)
    text = (
        r"Linear:\n    Missing key\(s\) in state_dict: \"bias\", \"weight\"\n    Unexpected key.*\"a.bias\", "
    )
    with pytest.raises(RuntimeError, match=text):
        load_model(nn.Linear(2, 2), path)
    missing, unexpected = load_model(nn.Linear(2, 2), path, strict=False)
    assert missing == {"bias", "weight"} and sorted(unexpected) == ["a.bias", "a.weight", "b.bias"]


def test_a_model_of_parts_of_one_storage(tmp_path):
    model, base = nn.Module(), torch.arange(4.0)
    model.register_buffer("a", base[:3])
    model.register_buffer("b", base[1:])
    with pytest.raises(RuntimeError, match=r"\['a', 'b'\] share memory, and none of them is all of it"):
        save_model(model, tmp_path / "x.safetensors")


def test_safe_open(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"b": torch.arange(6.0).view(2, 3), "a": torch.tensor([1, 2], dtype=torch.uint8)}, path)
    with safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["a", "b"] and file.offset_keys() == list(file.get_tensors()) == ["b", "a"]
        part = file.get_slice("b")
        assert part.get_shape() == [2, 3] and part.get_dtype() == "F32" and part[:, 1].tolist() == [1, 4]
        assert file.get_tensor("a").tolist() == [1, 2] and file.metadata() is None
        for ask in (file.get_tensor, file.get_slice):
            with pytest.raises(SafetensorError, match="File does not contain tensor c"):
                ask("c")
    with pytest.raises(SafetensorError, match="File is closed"):
        file.keys()
    for wrong in ({"framework": "tf"}, {"framework": "pt", "backend": "x"}):
        with pytest.raises(SafetensorError, match="is invalid"):
            safe_open(path, **wrong)


def test_bytes_of_any_kind():
    for data in (kit.ONE, bytearray(kit.ONE), memoryview(kit.ONE)):
        tensor = load(data)["a"]
        tensor.zero_()
        assert bytes(data) == kit.ONE
    assert struct.unpack_from("<Q", kit.ONE)[0] and isinstance(save({}), bytes) and load(save({})) == {}
    with pytest.raises(TypeError, match="bytes-like"):
        load(io.BytesIO(kit.ONE))
