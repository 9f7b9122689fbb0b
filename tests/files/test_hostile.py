"""Files made to do harm: each must be refused with a clear error, soon, and without running anything."""

import io
import os
import pickle
import random
import re
import struct
import tracemalloc
import zipfile

import pytest

import rushlight as torch
from helpers import files as kit
from helpers.hostile import LONG, MALFORMED, STREAMS, TENSORS, ZIPS, call, seeds

REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
OUT = pickle.UnpicklingError


def load(data, **options):
    return torch.load(io.BytesIO(data), **options)


# ---- names ----


class Trap:
    def __reduce__(self):
        return os.mkdir, ("trapped",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("weights_only", [True, None])
def test_nothing_is_called(protocol, weights_only, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = pickle.dumps(Trap(), protocol=protocol)
    places = [
        evil,
        kit.MAGIC + evil,
        kit.MAGIC + kit.VERSION + evil,
        kit.MAGIC + kit.VERSION + kit.INFO + evil,
        kit.MAGIC + kit.VERSION + kit.INFO + kit.HEAD + b"N." + evil,
        kit.archive(evil[:-1]),
        kit.archive(evil[:-1], prefix="x", extra=(("version", b"3\n"), ("constants.pkl", evil))),
    ]
    for data in places:
        with pytest.raises(REFUSED):
            load(data, weights_only=weights_only)
    assert os.listdir(tmp_path) == []


def test_the_name_is_told_and_the_file():
    text = "Unsupported global: GLOBAL eval was not an allowed global by default"
    with pytest.raises(OUT, match="Weights only load failed") as caught:
        load(kit.archive(call("__builtin__", "eval", kit.text("1"))))
    assert text in str(caught.value) and "<BytesIO>" in str(caught.value)
    for module in ("os", "posix", "sys", "nt", "subprocess"):
        with pytest.raises(OUT, match=f"GLOBAL {module}.system whose module {module} is blocked"):
            load(kit.archive(call(module, "system", kit.text("true"))))


def test_blocked_modules_stay_blocked():
    with torch.serialization.safe_globals([(os.getcwd, "os.getcwd"), (os.getcwd, "posix.getcwd")]):
        for module in ("os", "posix"):
            with pytest.raises(OUT, match="is blocked"):
                load(kit.archive(kit.name(module, "getcwd") + b")R"))


@pytest.mark.parametrize(
    "module, attribute",
    [
        ("torch", "load"),
        ("torch.os", "system"),
        ("torch.serialization", "os.system"),
        ("torch", "FloatStorage.from_file"),
        ("torch", "Size.__class__"),
        ("torch ", "Size"),
        ("torch", " Size"),
        ("torch", "Size\x00"),
        ("", ""),
        ("collections", "OrderedDict.fromkeys"),
        ("builtins", "getattr"),
        ("__builtin__", "apply"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("torch._utils", "_import_dotted_name"),
        ("torch.nn", "Module"),
        ("x" * 300, "y"),
    ],
)
def test_other_names(module, attribute):
    with pytest.raises(OUT):
        load(kit.archive(call(module, attribute)))
    stacked = kit.text(module) + kit.text(attribute) + b"\x93)R"
    with pytest.raises(OUT):
        load(kit.archive(stacked))


@pytest.mark.parametrize(
    "body, what",
    [
        (call("torch._utils", "_rebuild_nested_tensor"), "nested tensors"),
        (kit.name("torch._utils", "_rebuild_wrapper_subclass"), "wrapper subclasses"),
    ],
)
def test_what_is_missing_is_named(body, what):
    with pytest.raises(RuntimeError, match=f"rushlight does not support .*{what}"):
        load(kit.archive(body))


# ---- the machine ----


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_pickles(body):
    stored = {} if b"storage" in body else {"keys": (), "blocks": ()}
    for data in (kit.archive(body), kit.stream(kit.in_stream(body), **stored)):
        with pytest.raises((OUT, EOFError)):
            load(data)


def test_nothing_may_follow_the_stop():
    with pytest.raises(OUT, match="behind its STOP"):
        load(kit.archive(b"N.N"))


@pytest.mark.parametrize("body", LONG.values(), ids=LONG.keys())
def test_lengths_are_compared_before_memory_is_taken(body):
    tracemalloc.start()
    try:
        for data in (kit.archive(body), kit.stream(kit.in_stream(body))):
            with pytest.raises((OUT, EOFError)):
                load(data)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_deep_and_wide_keys():
    depth = 500_000
    deep = kit.number(1) + b"\x85" * depth
    laughs = kit.number(1) + b"".join(b"q\x00h\x00\x86" for _ in range(60))
    for key in (deep, laughs):
        with pytest.raises(OUT, match="cannot be a key"):
            load(kit.archive(b"}" + key + b"Ns"))
        value = load(kit.archive(key))
        assert type(value) is tuple


def test_deep_nesting_of_every_container():
    depth = 200_000
    for opening, closing in ((b"]", b"a"), (b"}N", b"s"), (b"N\x85", b"")):
        body = opening * depth + closing * (depth - 1) if closing else b"N" + b"\x85" * depth
        if closing == b"s":
            body = opening * (depth - 1) + b"}" + b"s" * (depth - 1)
        assert len(load(kit.archive(body))) == 1


# ---- tensors ----


@pytest.mark.parametrize("body", TENSORS.values(), ids=TENSORS.keys())
def test_malformed_tensors(body, tmp_path):
    with pytest.raises(REFUSED) as caught:
        load(kit.stream(kit.in_stream(body)))
    assert not isinstance(caught.value, UnicodeError)
    path = tmp_path / "a.pt"
    path.write_bytes(kit.archive(body))
    for mapped in (False, True):
        with pytest.raises(REFUSED) as caught:
            torch.load(path, mmap=mapped)
        assert str(path) in str(caught.value)


# ---- the stream ----


@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS.keys())
def test_malformed_streams(data, tmp_path):
    with pytest.raises(REFUSED):
        load(data)
    path = tmp_path / "a.pt"
    path.write_bytes(data)
    with pytest.raises(REFUSED, match="a.pt"):
        torch.load(path)


# ---- the zip ----


@pytest.mark.parametrize("data", ZIPS.values(), ids=ZIPS.keys())
def test_malformed_zips(data, tmp_path):
    for options in ({}, {"mmap": True}):
        path = tmp_path / "a.pt"
        path.write_bytes(data)
        if "mmap" in options and data is ZIPS["data changed"]:
            continue  # a mapping is not read, so its checksum cannot be compared
        with pytest.raises(REFUSED, match=r"a\.pt"):
            torch.load(path, **options)
    with pytest.raises(REFUSED):
        load(data)


FIELDS = (
    kit.text("storage"),
    kit.name("torch", "FloatStorage"),
    kit.text("0"),
    kit.text("cpu"),
    kit.number(4),
)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("n", range(8))
def test_a_storage_has_five_fields_in_a_zip_and_six_in_a_stream(n, weights_only):
    of = kit.many(*(*FIELDS, kit.NONE, kit.NONE)[:n]) + b"Q"
    for data, right in ((kit.archive(kit.tensor(of)), 5), (kit.stream(kit.tensor(of)), 6)):
        if n == right:
            assert load(data, weights_only=weights_only).shape == (4,)
            continue
        with pytest.raises((OUT, ValueError)):
            load(data, weights_only=weights_only)


ARGUMENTS = (kit.storage(), kit.number(0), kit.ints([4]), kit.ints([1]), kit.FALSE, kit.HOOKS)


@pytest.mark.parametrize(
    "function, arguments, most",
    [
        ("_rebuild_tensor", ARGUMENTS[:4], 4),
        ("_rebuild_tensor_v2", ARGUMENTS, 7),
        ("_rebuild_tensor_v3", (*ARGUMENTS, kit.name("torch", "float32")), 8),
        ("_rebuild_parameter", (kit.tensor(), kit.FALSE, kit.HOOKS), 3),
        ("_rebuild_parameter_with_state", (kit.tensor(), kit.FALSE, kit.HOOKS, kit.EMPTY_DICT), 4),
        ("_rebuild_meta_tensor_no_storage", (kit.name("torch", "int8"), *ARGUMENTS[2:5]), 4),
    ],
)
def test_functions_of_files_take_as_many_arguments_as_they_have(function, arguments, most):
    assert load(kit.archive(call("torch._utils", function, *arguments))).numel() == 4
    more = (*arguments, *[kit.NONE] * (most + 1 - len(arguments)))
    for wrong in (arguments[:-1], more):
        with pytest.raises(OUT):
            load(kit.archive(call("torch._utils", function, *wrong)))


SMALL = ("version", "byteorder", ".format_version", ".storage_alignment", ".data/serialization_id")


def deflated(**records):
    """An archive of a tensor and these records, all compressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for key, data in {
            "data.pkl": kit.HEAD + kit.tensor() + b".",
            "version": b"3\n",
            "data/0": bytes(16),
            **records,
        }.items():
            file.writestr(f"archive/{key}", data)
    return buffer.getvalue()


@pytest.mark.parametrize("name", SMALL)
def test_records_that_describe_an_archive_are_small(name):
    for size in (1000, 40 << 20):
        data = b"3\n" + b" " * size
        stored = kit.archive(kit.tensor(), extra={"version": b"3", name: data}.items())
        for file in (stored, deflated(**{name: data})):
            with pytest.raises(RuntimeError, match=f"record {re.escape(name)} is {len(data)} bytes long"):
                load(file)


@pytest.mark.parametrize("name", ["code/model.py", "data/1", "extra"])
def test_bombs_that_nobody_reads_are_refused(name):
    assert load(deflated(**{name: bytes(1 << 20)})).shape == (4,)
    for data in (deflated(**{name: bytes(65 << 20)}), deflated(a=bytes(33 << 20), **{name: bytes(33 << 20)})):
        with pytest.raises(RuntimeError, match="would become"):
            load(data)


def test_compressed_bytes_cannot_become_any_number():
    for at, data in ((0, b"x"), (1, bytes(100))):
        file = bytearray(deflated(more=data))
        entry = file.rindex(b"PK\1\2")
        packed = struct.unpack_from("<I", file, entry + 20)[0]
        struct.pack_into("<I", file, entry + 24, 1033 * (packed + 1) + at)
        with pytest.raises(RuntimeError, match=f"which no {packed} compressed bytes can"):
            load(bytes(file))


def test_a_compressed_bomb_is_not_unpacked():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", bytes(80_000_000))
        file.writestr("archive/version", b"3\n")
    with pytest.raises(RuntimeError, match="would become"):
        load(buffer.getvalue())


def test_a_good_file_cut_anywhere():
    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(3), "b": [1, "x"]}, buffer)
    stream = io.BytesIO()
    torch.save({"a": torch.zeros(3), "b": [1, "x"]}, stream, _use_new_zipfile_serialization=False)
    for data in (buffer.getvalue(), stream.getvalue()):
        for n in range(len(data)):
            with pytest.raises(REFUSED):
                load(data[:n])


# ---- at random ----


def mutant(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at, n = rng.randrange(len(data)), rng.randint(1, 8)
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.randrange(256)
            case 2:
                data[at : at + n] = bytes([rng.choice((0, 127, 255))]) * n
            case 3:
                data[at:at] = data[at : at + n]
            case 4:
                del data[at : at + n]
        if not data:
            return b""
    return bytes(data)


def reading(data):
    """Loads and touches everything; only the listed exceptions may come out."""
    try:
        value = load(data, map_location="cpu")
    except REFUSED as error:
        return str(error) != ""
    stack, seen = [value], set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            assert len(bytes(torch._C._storage_bytes(value))) < 10_000
            if value.numel() < 10_000:
                value.tolist()
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            stack.extend(value)
    return True


@pytest.mark.parametrize("which", range(3))
def test_mutants_of_files(which):
    data, rng = list(seeds())[which], random.Random(which)
    assert all(reading(mutant(rng, data)) for _ in range(1500))


def test_mutants_of_pickles_with_right_checksums():
    with zipfile.ZipFile(io.BytesIO(next(seeds()))) as file:
        records = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    body = records.pop("data.pkl")[2:-1]
    rng = random.Random(7)
    for _ in range(1500):
        assert reading(kit.archive(mutant(rng, body), records=(), extra=tuple(records.items())))


def test_nothing_leaks_when_files_are_refused():
    before = torch._C._live()
    for data in (*ZIPS.values(), *STREAMS.values(), *map(kit.archive, TENSORS.values())):
        with pytest.raises(REFUSED):
            load(data)
    assert torch._C._live() == before


@pytest.mark.parametrize("which, mapped", [(0, False), (0, True), (1, False), (2, False)])
def test_when_memory_ends(which, mapped, tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(list(seeds())[which])
    before = torch._C._live()
    failures = 0
    while True:
        torch._C._fail_alloc(failures)
        try:
            torch.load(path, mmap=mapped)
            break
        except (MemoryError, RuntimeError) as error:  # PyTorch's allocator raises RuntimeError
            assert "memory" in str(error) or isinstance(error, MemoryError)
            failures += 1
        finally:
            torch._C._fail_alloc(-1)
        assert torch._C._live() == before
    assert failures > 5
    assert torch._C._live() == before
