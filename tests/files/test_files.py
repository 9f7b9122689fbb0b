"""Checkpoints: what either library saved comes back, and what is saved here is laid out as there."""

import collections
import gzip
import io
import os
import pathlib
import pickle
import struct
import zipfile

import pytest

import rushlight as torch
from helpers import files as kit
from helpers.saved import floats, raw, roundtrip

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


def test_nothing_stays_alive():
    before = torch._C._live()
    state = torch.load(DATA / "civilnet_digits.pth")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    del state
    with pytest.raises(RuntimeError):
        torch.load(io.BytesIO(buffer.getvalue()[:-10]))
    assert torch._C._live() == before
