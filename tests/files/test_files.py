"""Checkpoints: what either library saved comes back, and what is saved here is laid out as there."""

import collections
import gzip
import io
import os
import pathlib
import pickle
import struct
import zipfile
import zlib

import pytest

import rushlight as torch
from kits import files as kit

DATA = pathlib.Path(__file__).parents[1] / "data"
SHAPES = {
    "conv1.weight": (6, 3, 5, 5),
    "conv1.bias": (6,),
    "conv2.weight": (16, 6, 5, 5),
    "conv2.bias": (16,),
    "fc1.weight": (120, 400),
    "fc1.bias": (120,),
    "fc2.weight": (84, 120),
    "fc2.bias": (84,),
    "fc3.weight": (10, 84),
    "fc3.bias": (10,),
}


def raw(tensor):
    return bytes(torch._C._storage_bytes(tensor))


def roundtrip(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    buffer.seek(0)
    return torch.load(buffer)


def floats(*values):
    return torch.tensor(list(values), dtype=torch.float32)


# ---- files written by PyTorch ----


@pytest.mark.parametrize("file", ["civilnet_digits.pth", "civilnet_digits_legacy.pth"])
def test_state_dict_of_pytorch(file):
    state = torch.load(DATA / file)
    assert type(state) is collections.OrderedDict
    assert {key: tuple(value.size()) for key, value in state.items()} == SHAPES
    assert all(value.dtype is torch.float32 and not value.requires_grad for value in state.values())
    assert state._metadata[""] == {"version": 1}


def test_bytes_are_those_of_the_records():
    with zipfile.ZipFile(DATA / "civilnet_digits.pth") as file:
        records = [file.read(f"civilnet_digits/data/{i}") for i in range(10)]
    for name in ("civilnet_digits.pth", "civilnet_digits_legacy.pth"):
        assert [raw(value) for value in torch.load(DATA / name).values()] == records


def test_checkpoint_of_pytorch():
    checkpoint = torch.load(DATA / "civilnet_digits_checkpoint.tar")
    assert list(checkpoint) == ["epoch", "model_state_dict", "optimizer_state_dict", "loss"]
    assert checkpoint["epoch"] == 12
    optimizer = checkpoint["optimizer_state_dict"]
    assert list(optimizer["state"]) == list(range(10))
    assert tuple(optimizer["state"][0]["momentum_buffer"].size()) == (6, 3, 5, 5)
    group = optimizer["param_groups"][0]
    assert (group["lr"], group["momentum"], group["foreach"], group["nesterov"]) == (0.01, 0.9, None, False)
    assert group["params"] == list(range(10))
    assert checkpoint["loss"].requires_grad and tuple(checkpoint["loss"].size()) == ()


@pytest.mark.parametrize("file", ["civilnet_digits.pth", "civilnet_digits_legacy.pth"])
def test_every_kind_of_source(file, tmp_path):
    path = DATA / file
    data = path.read_bytes()
    wanted = [raw(value) for value in torch.load(str(path)).values()]
    (tmp_path / "packed.gz").write_bytes(gzip.compress(data))
    (tmp_path / "behind").write_bytes(b"in front" + data)
    behind = (tmp_path / "behind").open("r+b")
    behind.seek(8)
    sources = (path.open("rb"), path.open("rb", buffering=0), gzip.GzipFile(tmp_path / "packed.gz"), behind)
    for source in (*sources, io.BytesIO(data)):
        with source:
            assert [raw(value) for value in torch.load(source).values()] == wanted


def test_stream_is_left_behind_its_last_byte(tmp_path):
    path = tmp_path / "two"
    one, two = io.BytesIO(), io.BytesIO()
    torch.save({"a": floats(1, 2)}, one, _use_new_zipfile_serialization=False)
    torch.save([3], two, _use_new_zipfile_serialization=False)
    path.write_bytes(one.getvalue() + two.getvalue())
    for source in (io.BytesIO(path.read_bytes()), path.open("rb")):
        with source:
            assert torch.load(source)["a"].tolist() == [1.0, 2.0]
            assert torch.load(source) == [3]


# ---- mmap ----


def test_mapped_tensors_are_private_and_equal():
    path = DATA / "civilnet_digits.pth"
    before = path.read_bytes()
    mapped, read = torch.load(path, mmap=True), torch.load(path)
    assert [raw(value) for value in mapped.values()] == [raw(value) for value in read.values()]
    mapped["fc3.bias"].zero_()
    assert mapped["fc3.bias"].tolist() == [0.0] * 10
    assert path.read_bytes() == before
    assert raw(torch.load(path)["fc3.bias"]) == raw(read["fc3.bias"])


def test_mmap_wants_a_path_and_a_zip():
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO((DATA / "civilnet_digits.pth").read_bytes()), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(DATA / "civilnet_digits_legacy.pth", mmap=True)


def test_mapped_storage_at_an_odd_place_is_read_instead(tmp_path):
    for gap in range(4):
        path = tmp_path / str(gap)
        path.write_bytes(kit.archive(kit.tensor(), prefix="a" * (gap + 1)))
        assert raw(torch.load(path, mmap=True)) == bytes(range(16))


# ---- values ----

VALUES = [
    None,
    True,
    0,
    -1,
    255,
    65535,
    65536,
    -(2**31),
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    -(2**100),
    2**2040,
    0.1,
    float("inf"),
    -0.0,
    1 - 2j,
    "",
    "text",
    "ü€😀\ud800",
    b"",
    b"\x00\xff bytes",
    bytearray(b""),
    bytearray(b"\x80abc"),
    (),
    (1,),
    (1, 2),
    (1, 2, 3),
    (1, 2, 3, 4),
    [],
    [1],
    [[1], [2, [3]]],
    {},
    {"a": 1, 2: "b", 1.5: None, None: 0, True: 7, b"k": 1, (1, "x"): 2},
    set(),
    {1, "two", 3.0, (4, 5)},
    frozenset({1, 2}),
    collections.OrderedDict([("z", 1), ("a", 2)]),
    collections.Counter("mississippi"),
    torch.Size([2, 3]),
    torch.Size([]),
    [torch.float32, torch.bfloat16, torch.bool, torch.int64],
    [torch.device("cpu"), torch.device("cuda", 1), torch.device("cuda")],
    "x" * 100_000,
    list(range(5000)),
    {str(i): i for i in range(3000)},
]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_values_come_back(value, zipped, protocol):
    back = roundtrip(value, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    assert type(back) is type(value)
    assert back == value
    if isinstance(value, (set, frozenset)):  # without an order to compare
        assert sorted(map(repr, back)) == sorted(map(repr, value))
    else:
        assert repr(back) == repr(value)


def test_nan_keeps_its_bits():
    nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000ABCDEF))[0]
    assert struct.pack("<d", roundtrip(nan)) == struct.pack("<d", nan)


def test_cycles_and_identity():
    a = []
    a.append((a, {"me": a}))
    b = roundtrip(a)
    assert b[0][0] is b and b[0][1]["me"] is b
    shared = [1]
    one, two = roundtrip([shared, shared])
    assert one is two


def test_a_deep_list_needs_no_stack():
    depth = 1_000_000
    value = torch.load(io.BytesIO(kit.archive(kit.EMPTY_LIST * depth + b"a" * (depth - 1), records=())))
    for _ in range(1000):
        (value,) = value
    assert type(value) is list


def test_dict_of_python_2():
    pairs = kit.listing(kit.listing(b"U\x01a", kit.number(1)), kit.listing(b"T\x01\0\0\0b", kit.number(2)))
    body = kit.name("collections", "OrderedDict") + b"(" + pairs + b"tR"
    assert torch.load(io.BytesIO(kit.archive(body))) == collections.OrderedDict(a=1, b=2)


def test_attributes_of_an_ordered_dict():
    state = collections.OrderedDict(a=1)
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    assert roundtrip(state)._metadata == state._metadata


# ---- tensors ----

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.bool,
]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype, zipped):
    tensor = torch.tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    back = roundtrip(tensor, _use_new_zipfile_serialization=zipped)
    assert back.dtype is dtype and tuple(back.size()) == (2, 3)
    assert raw(back) == raw(tensor)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1), (2, 3, 4, 5, 6, 7), (1,) * 64], ids=str)
def test_shapes(shape, zipped):
    tensor = torch.zeros(shape)
    back = roundtrip({"t": tensor}, _use_new_zipfile_serialization=zipped)["t"]
    assert back.size() == tensor.size() and back.stride() == tensor.stride()


@pytest.mark.parametrize("zipped", [True, False])
def test_views_share_one_record(zipped):
    base = torch.zeros(1000)
    data = {"base": base, "slice": base[10:13], "turned": base.view(10, 100).t(), "same": base}
    buffer = io.BytesIO()
    torch.save(data, buffer, _use_new_zipfile_serialization=zipped)
    assert 4000 < len(buffer.getvalue()) < 7000
    buffer.seek(0)
    back = torch.load(buffer)
    assert back["base"] is back["same"]
    assert back["slice"].storage_offset() == 10 and back["turned"].stride() == (1, 100)
    back["base"].fill_(7)
    assert back["slice"].tolist() == [7.0] * 3
    assert len({torch._C._storage_id(value) for value in back.values()}) == 1


def test_a_slice_alone_takes_its_whole_storage():
    buffer = io.BytesIO()
    torch.save(torch.zeros(1000)[:3], buffer)
    assert len(buffer.getvalue()) > 4000


def test_parameters_and_buffers():
    parameter = torch.nn.Parameter(floats(1, 2), requires_grad=False)
    tagged = torch.nn.Parameter(floats(3))
    tagged.tag = {"lr": 0.1}
    marked = floats(5)
    marked.persistent = True
    back = roundtrip([parameter, tagged, marked, tagged])
    assert [type(value) for value in back] == [
        torch.nn.Parameter,
        torch.nn.Parameter,
        torch.Tensor,
        torch.nn.Parameter,
    ]
    assert [value.requires_grad for value in back] == [False, True, False, True]
    assert back[1].tag == {"lr": 0.1} and back[1] is back[3] and back[2].persistent is True


def test_storages_on_their_own():
    storage = floats(1, 2).untyped_storage()
    one, two = roundtrip([storage, storage])
    assert type(one) is type(storage) and one is two and bytes(one) == bytes(storage)
    tensor = floats(3)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        roundtrip([tensor, tensor.untyped_storage()])


def test_tensors_that_require_grad_come_back_as_leaves():
    leaf = floats(1, 2).requires_grad_()
    back = roundtrip([leaf, leaf * 2])
    assert all(value.requires_grad and value.grad_fn is None for value in back)
    assert back[1].tolist() == [2.0, 4.0]


def test_loaded_tensors_are_ordinary_ones():
    tensor = roundtrip(floats(1, 2))
    tensor += 1
    assert tensor.tolist() == [2.0, 3.0]
    assert (tensor.requires_grad_() * 3).sum().item() == 15.0


def test_bools_are_0_or_1_whatever_the_file_says(tmp_path):
    body = kit.tensor(kit.storage(kind="BoolStorage", count=16), size=(16,))
    path = tmp_path / "bools.pt"
    path.write_bytes(kit.archive(body))
    for mapped in (False, True):
        assert raw(torch.load(path, mmap=mapped)) == b"\0" + b"\1" * 15


def test_big_endian_files():
    extra = (("version", b"3\n"), ("byteorder", b"big"))
    data = kit.archive(kit.tensor(), records=(("data/0", struct.pack(">4f", 1, 2, 3, 4)),), extra=extra)
    assert torch.load(io.BytesIO(data)).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_forms_of_older_versions():
    block = (struct.pack("<q4f", 4, 1, 2, 3, 4),)
    old = kit.name("torch", "FloatTensor") + b")R"
    state = kit.many(kit.storage(more=kit.NONE), kit.number(1), kit.ints([2]), kit.ints([1]))
    tensor = old + state + kit.BUILD
    assert torch.load(io.BytesIO(kit.stream(tensor, blocks=block))).tolist() == [2.0, 3.0]
    hooks = kit.HOOKS
    parameter = kit.name("torch.nn.parameter", "Parameter") + b")" + kit.NEWOBJ
    parameter += kit.many(tensor, kit.NONE, hooks, kit.TRUE, kit.FALSE) + kit.BUILD
    back = torch.load(io.BytesIO(kit.stream(parameter, blocks=block)))
    assert type(back) is torch.nn.Parameter and back.requires_grad and back.tolist() == [2.0, 3.0]
    rebuilt = kit.name("torch._utils", "_rebuild_tensor")
    rebuilt += kit.many(kit.storage(), kit.number(0), kit.ints([2, 2]), kit.ints([2, 1])) + kit.REDUCE
    assert torch.load(io.BytesIO(kit.stream(rebuilt, blocks=block))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_storage_views_of_the_stream():
    view = kit.many(kit.text("9"), kit.number(1), kit.number(2))
    body = kit.many(
        kit.tensor(kit.storage(more=kit.NONE)), kit.tensor(kit.storage(more=view), offset=1, size=(1,))
    )
    block = (struct.pack("<q4f", 4, 1, 2, 3, 4),)
    whole, part = torch.load(io.BytesIO(kit.stream(body, blocks=block)))
    assert part.tolist() == [3.0]
    whole.zero_()
    assert part.tolist() == [0.0]


def test_an_expanded_tensor_takes_no_memory():
    data = kit.archive(kit.tensor(size=(2**31, 2**20), stride=(0, 0)))
    tensor = torch.load(io.BytesIO(data))
    assert tuple(tensor.size()) == (2**31, 2**20) and len(raw(tensor)) == 16


# ---- map_location ----


@pytest.mark.parametrize(
    "where", ["cpu", torch.device("cpu"), {"cuda:1": "cpu"}, lambda storage, location: storage], ids=range(4)
)
def test_map_location_brings_cuda_files_to_the_cpu(where):
    data = kit.archive(kit.tensor(kit.storage(location="cuda:1")))
    tensor = torch.load(io.BytesIO(data), map_location=where)
    assert tensor.device == torch.device("cpu") and raw(tensor) == bytes(range(16))


def test_map_location_sees_storage_and_location():
    seen = []

    def where(storage, location):
        seen.append((storage.nbytes(), location))
        return None if location == "cpu" else storage

    records = (("data/0", bytes(16)), ("data/1", bytes(16)))
    body = kit.many(kit.tensor(), kit.tensor(kit.storage(key="1", location="elsewhere")))
    torch.load(io.BytesIO(kit.archive(body, records)), map_location=where)
    assert seen == [(16, "cpu"), (16, "elsewhere")]
    with pytest.raises(ZeroDivisionError):
        torch.load(io.BytesIO(kit.archive(body, records)), map_location=lambda storage, location: 1 / 0)


def test_unknown_location():
    data = kit.archive(kit.tensor(kit.storage(location="warp")))
    with pytest.raises(
        RuntimeError, match=r"don't know how to restore data location of .* \(tagged with warp\)"
    ):
        torch.load(io.BytesIO(data))


# ---- arguments ----


def test_arguments_of_load():
    path = DATA / "civilnet_digits.pth"
    with pytest.raises(
        RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"
    ):
        torch.load(path, pickle_module=pickle, weights_only=True)
    assert list(torch.load(path, weights_only=False)) == list(SHAPES)
    with pytest.raises(FileNotFoundError):
        torch.load(path.with_name("absent.pth"))
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        torch.load(object())
    with pytest.raises(TypeError, match="binary mode"):
        torch.load(io.StringIO("text"))
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        torch.load(path, encoding="latin1")


def test_whole_modules_are_refused_in_words():
    body = kit.name("torch.nn.modules.linear", "Linear") + b")" + kit.NEWOBJ
    with pytest.raises(
        pickle.UnpicklingError, match="Unsupported global: GLOBAL torch.nn.modules.linear.Linear"
    ):
        torch.load(io.BytesIO(kit.archive(body)))


class Point:
    def __init__(self, x):
        self.x = x


class Tagged(torch.Tensor):
    pass


def test_safe_globals():
    data = io.BytesIO()
    torch.save({"p": Point(floats(1))}, data)
    with pytest.raises(pickle.UnpicklingError, match=rf"GLOBAL {Point.__module__}.Point was not an allowed"):
        data.seek(0)
        torch.load(data)
    with torch.serialization.safe_globals([Point]):
        assert torch.serialization.get_safe_globals() == [Point]
        data.seek(0)
        point = torch.load(data)["p"]
    assert type(point) is Point and point.x.tolist() == [1.0]
    assert torch.serialization.get_safe_globals() == []
    torch.serialization.add_safe_globals([(Point, "old.place.Point")])
    body = kit.name("old.place", "Point") + b"(K\x05tR"
    assert torch.load(io.BytesIO(kit.archive(body))).x == 5
    torch.serialization.clear_safe_globals()
    with pytest.raises(ValueError, match="cannot be added to the safe globals"):
        torch.serialization.add_safe_globals([eval])


def test_tensors_of_a_class_of_the_user():
    body = kit.name("torch._tensor", "_rebuild_from_type_v2")
    inner = kit.many(kit.storage(), kit.number(0), kit.ints([4]), kit.ints([1]), kit.FALSE, kit.HOOKS)
    body += kit.many(
        kit.name("torch._utils", "_rebuild_tensor_v2"),
        kit.name(Tagged.__module__, "Tagged"),
        inner,
        kit.mapping(kit.text("tag"), kit.number(3)),
    )
    with torch.serialization.safe_globals([Tagged]):
        back = torch.load(io.BytesIO(kit.archive(body + kit.REDUCE)))
    assert type(back) is Tagged and back.tag == 3


def test_names_of_files_need_not_be_text(tmp_path):
    for name in (b"plain", b"\xff\xfe.pt", "ü \n.pt".encode()):
        path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))
        torch.save(["x"], path)
        assert torch.load(path) == ["x"]
        with open(path, "wb") as file:
            file.write(b"N.")
        with pytest.raises(RuntimeError, match="Invalid magic number"):
            torch.load(path)


# ---- save ----


def test_layout(tmp_path):
    path = tmp_path / "some.name.pth"
    torch.save({"a": floats(1, 2, 3), "empty": torch.zeros(0)}, path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        entries = file.infolist()
    names = ["data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1", "version"]
    assert [entry.filename for entry in entries] == [
        f"some.name/{n}" for n in [*names, ".data/serialization_id"]
    ]
    for entry in entries:
        name, extra = struct.unpack_from("<HH", data, entry.header_offset + 26)
        assert (entry.header_offset + 30 + name + extra) % 64 == 0
        assert entry.compress_type == 0
        assert entry.CRC == zlib.crc32(data[entry.header_offset + 30 + name + extra :][: entry.file_size])


def test_prefix_is_the_name_of_the_file(tmp_path):
    for name, prefix in (("a.b.pth", "a.b"), ("plain", "plain"), ("ü.pt", "archive")):
        torch.save(1, tmp_path / name)
        with zipfile.ZipFile(tmp_path / name) as file:
            assert file.namelist()[0] == f"{prefix}/data.pkl"
        assert torch.load(tmp_path / name) == 1
    with pytest.raises(RuntimeError, match="invalid file name"):
        torch.save(1, tmp_path / ".pth")
    with pytest.raises(RuntimeError, match=r"Parent directory .*absent does not exist\."):
        torch.save(1, tmp_path / "absent" / "a.pth")
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, 5)


def test_checksums_can_be_left_out(tmp_path):
    path = tmp_path / "a.pt"
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(floats(1), path)
    finally:
        torch.serialization.set_crc32_options(True)
    with zipfile.ZipFile(path) as file:
        assert {entry.CRC for entry in file.infolist()} == {0}
    assert torch.load(path).tolist() == [1.0]


class FailsToPickle:
    def __reduce__(self):
        raise OSError("no")


@pytest.mark.parametrize("what", [lambda: 0, os, torch, open(os.devnull).read, (x for x in ())], ids=range(5))
def test_what_cannot_be_saved_leaves_the_file_alone(what, tmp_path):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    with pytest.raises(pickle.PicklingError, match="cannot save"):
        torch.save({"a": floats(1), "b": what}, path)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_failures_while_saving_leave_the_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    with pytest.raises(OSError, match="no"):
        torch.save(FailsToPickle(), path)

    def full(_):
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, lambda *args: full(args))
            with pytest.raises(OSError, match="No space left"):
                torch.save("new", path)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_saving_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    torch.save("old", path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    torch.save("new", link)
    assert link.is_symlink() and torch.load(path) == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_too_deep_for_the_writer():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RecursionError):
        torch.save(value, io.BytesIO())


def test_nothing_stays_alive():
    before = torch._C._live()
    state = torch.load(DATA / "civilnet_digits.pth")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    del state
    with pytest.raises(RuntimeError):
        torch.load(io.BytesIO(buffer.getvalue()[:-10]))
    assert torch._C._live() == before
