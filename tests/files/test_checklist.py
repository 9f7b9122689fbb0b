"""What a reader of untrusted checkpoints must hold, point by point, and the tests that prove each point.

The table names tests of other files; `pytest --collect-only` must know every one of them. Points, or parts of
them, that no other file covers are tested below, by their numbers.
"""

import gzip
import io
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import warnings
import zipfile

import pytest

import rushlight as torch
from helpers import files as kit

HERE = pathlib.Path(__file__).parent
REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
PICKLES = "hostile.py::test_malformed_pickles[{}]".format
TENSORS = "hostile.py::test_malformed_tensors[{}]".format
STREAMS = "hostile.py::test_malformed_streams[{}]".format
ZIPS = "hostile.py::test_malformed_zips[{}]".format

CHECKLIST = {
    # the pickle
    1: ["hostile.py::test_other_names[torch.os-system]", "hostile.py::test_other_names[torch -Size]"],
    2: [PICKLES("reduce of Tensor"), PICKLES("reduce of a dtype"), PICKLES("bare class")],
    3: [PICKLES("encode rot13"), PICKLES("bytearray of size"), PICKLES("tensor of sizes")]
    + [PICKLES("reduce without tuple"), PICKLES("device index"), PICKLES("ordered of singles")],
    4: [
        PICKLES("build tensor"),
        PICKLES("build ordered class"),
        TENSORS("state class"),
        TENSORS("state method"),
    ],
    5: [PICKLES("setitem odd"), PICKLES("setitem on tensor"), PICKLES("append to tuple"), PICKLES("long key")]
    + ["hostile.py::test_deep_and_wide_keys"],
    6: ["hostile.py::test_deep_nesting_of_every_container", "test_files.py::test_cycles_and_identity"],
    7: [TENSORS("pid with bool as count"), TENSORS("count overflow"), TENSORS("other class same key")]
    + [TENSORS("class is a tensor"), TENSORS("pid with number as key")],
    8: [PICKLES("get nothing"), PICKLES("put huge"), PICKLES("negative long")]
    + [f"hostile.py::test_lengths_are_compared_before_memory_is_taken[{kind}]" for kind in ("text", "frame")],
    9: [PICKLES("stop on nothing"), PICKLES("two values"), PICKLES("mark left"), PICKLES("protocol")],
    10: [
        PICKLES("pop"),
        PICKLES("dup"),
        PICKLES("inst"),
        PICKLES("obj"),
        PICKLES("ext"),
        PICKLES("int text"),
    ],
    # tensors
    11: [TENSORS("overflow to zero"), TENSORS("too many dims"), TENSORS("offset alone"), TENSORS("overflow")],
    12: [TENSORS("count too large"), TENSORS("count enormous"), STREAMS("count differs")],
    13: [
        STREAMS("key absent"),
        STREAMS("view outside"),
        "test_tar.py::test_harm_is_refused[view of view]",
    ],
    14: [
        "test_tensors.py::test_bools_are_0_or_1_whatever_the_file_says",
        "test_files.py::test_nan_keeps_its_bits",
    ]
    + ["test_files.py::test_mapped_storage_at_an_odd_place_is_read_instead"],
    15: ["damage.py::test_sparse_tensors_are_checked_before_anybody_uses_them"]
    + ["damage.py::test_quantized_tensors_lie_in_their_storages"],
    16: [TENSORS("integers with gradients"), "damage.py::test_lazy_bits_only_where_they_mean_something"],
    17: ["test_tensors.py::test_an_expanded_tensor_takes_no_memory"],
    # the zip
    18: [ZIPS("zip64 locator"), ZIPS("zip64 contradicts"), ZIPS("entry count"), ZIPS("directory size")],
    19: [ZIPS("name with NUL"), ZIPS("name not UTF-8"), ZIPS("other prefix"), ZIPS("twice")],
    20: [
        ZIPS("local name"),
        ZIPS("encrypted"),
        ZIPS("patched"),
        ZIPS("sizes differ"),
        ZIPS("local signature"),
    ],
    21: ["damage.py::test_hostile_files_take_no_memory"],
    22: [ZIPS("data changed"), ZIPS("pickle changed"), "test_save.py::test_checksums_can_be_left_out"],
    23: [ZIPS("long byteorder"), "hostile.py::test_a_compressed_bomb_is_not_unpacked"]
    + ["damage.py::test_what_a_compressed_record_promises_must_come"],
    24: ["test_files.py::test_mapped_tensors_are_private_and_equal"],
    25: ["test_tar.py::test_harm_is_refused[evil object]"],
    # policy
    26: ["hostile.py::test_nothing_is_called[True-2]"],
    27: ["hostile.py::test_blocked_modules_stay_blocked", "test_files.py::test_safe_globals"],
    28: ["test_modules.py::test_what_is_no_layer_and_not_there_is_named"],
}
SHORT = {"hostile.py": "test_hostile.py", "damage.py": "test_damage.py"}


def named(test):
    file, _, function = test.partition("::")
    return f"{SHORT.get(file, file)}::{function}"


def test_every_point_names_tests_that_are_collected():
    wanted = {named(test) for tests in CHECKLIST.values() for test in tests}
    files = sorted({str(HERE / test.partition("::")[0]) for test in wanted})
    run = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
        *files,
    ]
    env = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "400"}
    lines = subprocess.run(
        run, cwd=HERE.parents[1], env=env, capture_output=True, text=True, check=True
    ).stdout
    collected = {line.removeprefix("tests/files/") for line in lines.splitlines()}
    assert sorted(CHECKLIST) == list(range(1, 29))
    assert wanted <= collected, sorted(wanted - collected)


def load(data, **options):
    return torch.load(io.BytesIO(data), **options)


def saved(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def zipped(*records, prefix="archive"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in records:
            file.writestr(f"{prefix}/{name}", data)
    return buffer.getvalue()


# ---- the pickle ----


def test_01_no_name_of_a_file_is_imported(tmp_path, monkeypatch):
    (tmp_path / "trap_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for module, name in (("trap_module", "f"), ("torch.trap_module", "f"), ("trap_module.f", "g")):
        for body in (kit.name(module, name), kit.text(module) + kit.text(name) + b"\x93"):
            with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
                load(kit.archive(body))
    assert "trap_module" not in sys.modules


REBUILDS = [*("tensor", "tensor_v2", "tensor_v3", "parameter", "parameter_with_state"), "sparse_tensor"]
REBUILDS += ["meta_tensor_no_storage", "qtensor"]


def test_03_every_function_counts_its_arguments():
    """0 to 9 arguments of every kind for each callable of the table: refusals and values, nothing else."""
    names = [("torch._utils", f"_rebuild_{kind}") for kind in REBUILDS]
    names += [("torch", "Size"), ("torch", "device"), ("_codecs", "encode"), ("collections", "OrderedDict")]
    names += [("torch.serialization", "_get_layout"), ("torch._tensor", "_rebuild_from_type_v2")]
    names += [("builtins", kind) for kind in ("set", "frozenset", "bytes", "bytearray", "complex")]
    arguments = [kit.NONE, kit.number(-1), kit.number(2**70), kit.text("cpu"), kit.storage(), kit.tensor()]
    arguments += [kit.EMPTY_TUPLE, kit.EMPTY_LIST, kit.EMPTY_DICT, kit.name("torch", "float32")]
    refused = 0
    for module, name in names:
        for argument in arguments:
            for count in range(10):
                try:
                    load(kit.archive(kit.name(module, name) + kit.many(*[argument] * count) + kit.REDUCE))
                except REFUSED:
                    refused += 1
    assert refused > len(names) * len(arguments) * 9


DATA_OPCODES = b"(.BCGJKMNQRTUX]abcdehjlqrstu})"
DATA_OPCODES += bytes({*range(0x80, 0x97)} - {0x82, 0x83, 0x84, 0x92})


def test_10_every_other_opcode_is_refused():
    for opcode in set(range(256)) - set(DATA_OPCODES):
        with pytest.raises(pickle.UnpicklingError, match=f"Unsupported operand {opcode}"):
            load(kit.archive(b"NN" + bytes([opcode]) + b"1\n2\n"))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_10_data_of_every_protocol_is_read(protocol):
    value = {"b": b"\xff" * 300, "s": {1, 2}, "f": frozenset({3}), "n": 2**3000, "t": "x" * 300}
    body = pickle.dumps(value, protocol)[2:-1]
    assert load(kit.archive(body)) == value


# ---- tensors ----


def test_13_storages_of_tensors_that_nobody_keeps_are_checked_too():
    lost = kit.mapping(kit.text("a"), kit.number(1)) + kit.tensor(kit.storage("9", more=kit.NONE)) + b"\x86"
    with pytest.raises(REFUSED):
        load(kit.stream(lost, keys=(), blocks=()))


def test_16_hooks_of_a_file_are_not_kept():
    hooks = kit.HOOKS + kit.number(0) + kit.text("hook") + b"s"
    fields = kit.many(kit.storage(), kit.number(0), kit.ints([4]), kit.ints([1]), kit.TRUE, hooks)
    tensor = load(kit.archive(kit.name("torch._utils", "_rebuild_tensor_v2") + fields + kit.REDUCE))
    assert tensor.requires_grad and not tensor._backward_hooks


# ---- the zip ----


def test_18_comments_up_to_the_end_of_64_kb():
    data = saved([1])
    for size in (1, 1000, 65535):
        body = data[:-2] + struct.pack("<H", size) + b"PK\5\6" * (size // 4) + bytes(size % 4)
        assert load(body) == [1]
    with pytest.raises(RuntimeError):
        load(data[:-2] + struct.pack("<H", 65535) + bytes(65536))


def stacked(first):
    """Three records of data; the tensor on the first one has `first` elements."""
    counts = (first, 16, 16)
    tensors = [kit.tensor(kit.storage(str(i), count=n), size=(n,)) for i, n in enumerate(counts)]
    return kit.archive(kit.listing(*tensors), records=[(f"data/{i}", bytes(64)) for i in range(3)])


def test_21_entries_may_not_overlap(tmp_path):
    assert len(load(stacked(16))) == 3
    size = 64 + 30 + len("archive/data/0") + 64  # over the second record, header and all
    data = bytearray(stacked(size // 4))
    local = data.index(b"archive/data/0") - 30
    entry = data.index(b"PK\1\2", data.rindex(b"archive/data/0") - 46)
    for at in (local + 18, local + 22, entry + 20, entry + 24):
        data[at : at + 4] = struct.pack("<I", size)
    path = tmp_path / "a.pt"
    path.write_bytes(data)
    for mapped in (False, True):
        with pytest.raises(RuntimeError, match="overlaps"):
            torch.load(path, mmap=mapped)


def test_22_the_checksum_of_the_pickle_counts_for_mapped_files_too(tmp_path):
    data = saved({"text": "abcdef"})
    path = tmp_path / "a.pt"
    path.write_bytes(data.replace(b"abcdef", b"abcdeg"))
    for mapped in (False, True):
        with pytest.raises(RuntimeError, match="data.pkl does not match its checksum"):
            torch.load(path, mmap=mapped)


def test_23_small_records_stay_small():
    big = bytes(100_000)
    for name in ("version", "byteorder"):
        records = {"data.pkl": kit.HEAD + b"N.", "version": b"3\n", name: big}
        with pytest.raises(RuntimeError, match=f"record {name} is 100000 bytes long"):
            load(zipped(*records.items()))


# ---- what a reader must not do ----

WATCHED = """
import io, os, sys
import rushlight as torch
torch.load(sys.argv[1])  # what is imported once is imported now
seen = []
sys.addaudithook(lambda event, args: seen.append((event, args)))
for path in sys.argv[1:]:
    for mapped in (False, True):
        try:
            torch.load(path, mmap=mapped)
        except (RuntimeError, ValueError, EOFError, __import__("pickle").UnpicklingError):
            pass
def harmless(event, args):
    if event == "open":
        return args[0] in sys.argv and not args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    return not event.startswith(("os.", "subprocess.", "socket.", "import", "exec", "compile", "shutil."))
print([found for found in seen if not harmless(*found)])
"""


def test_25_only_the_file_itself_is_opened(tmp_path):
    evil = kit.name("os", "system") + kit.many(kit.text("true")) + kit.REDUCE
    source = (
        kit.many(kit.text("module"), kit.name("torch", "Size"), kit.text("/etc/passwd"), kit.text("x")) + b"Q"
    )
    files = [
        saved({"a": torch.ones(3)}),
        kit.archive(evil),
        kit.stream(evil),
        kit.stream(source),
        kit.tar(evil),
    ]
    files += [kit.archive(kit.tensor(kit.storage(key="../../../etc/passwd"))), gzip.compress(saved(1))]
    paths = [tmp_path / f"{i}.pt" for i in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    run = [sys.executable, "-c", WATCHED, *map(str, paths)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert len(os.listdir(tmp_path)) == len(files)


def test_26_safe_by_default_and_nothing_weakens_an_explicit_word(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    path.write_bytes(
        kit.archive(kit.name("os", "mkdir") + kit.many(kit.text(str(tmp_path / "x"))) + kit.REDUCE)
    )
    for options in ({}, {"weights_only": True}, {"mmap": True}, {"weights_only": None}):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(path, **options)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=True)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(path, weights_only=False)
    assert os.listdir(tmp_path) == ["a.pt"]


def test_27_functions_that_run_code_cannot_be_added():
    for function in (eval, exec, getattr, __import__, (eval, "my.function")):
        with pytest.raises(ValueError, match="cannot be added to the safe globals"):
            torch.serialization.add_safe_globals([function])
    assert torch.serialization.get_safe_globals() == []
    with torch.serialization.safe_globals([(os.getcwd, "os.getcwd"), (subprocess.run, "subprocess.run")]):
        for module, name in (("os", "getcwd"), ("subprocess", "run")):
            with pytest.raises(pickle.UnpicklingError, match="is blocked"):
                load(kit.archive(kit.name(module, name)))


def test_28_whole_models_need_no_torch(tmp_path, monkeypatch):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('the real one')")
    monkeypatch.syspath_prepend(tmp_path)
    before = sys.modules.get("torch")
    model = load(saved(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())), weights_only=False)
    assert type(model[0]) is torch.nn.Linear and sys.modules.get("torch") is before
