"""Tensors and storages in files: dtypes, shapes, views, gradients, older forms."""

import io
import struct

import pytest

import rushlight as torch
from helpers import files as kit
from helpers.saved import floats, raw, roundtrip

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


BIG = (("version", b"3\n"), ("byteorder", b"big"))


def test_big_endian_files():
    data = kit.archive(kit.tensor(), records=(("data/0", struct.pack(">4f", 1, 2, 3, 4)),), extra=BIG)
    assert torch.load(io.BytesIO(data)).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_big_endian_complex_numbers():
    of = kit.storage(kind="ComplexDoubleStorage", count=1)
    pair = (("data/0", struct.pack(">2d", 1, -2)),)
    assert torch.load(io.BytesIO(kit.archive(kit.tensor(of, size=(1,)), pair, extra=BIG))).item() == 1 - 2j


@pytest.mark.parametrize("dtype, kind", kit.STORAGES.items())
@pytest.mark.parametrize("trusted", [False, True])
def test_big_endian_files_of_every_dtype(dtype, kind, trusted, tmp_path):
    dtype = getattr(torch, dtype)
    number = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    count = 16 if kind == "UntypedStorage" else 16 // dtype.itemsize
    of = kit.storage(kind=kind, count=count, module="torch.storage" if kind == "UntypedStorage" else "torch")
    both = [kit.typed(dtype, of, (16 // dtype.itemsize,)) for _ in range(2)]
    body = kit.listing(
        *both, kit.name("fractions" if trusted else "torch", "Fraction" if trusted else "int8")
    )
    path = tmp_path / "big.pt"
    path.write_bytes(kit.archive(body, extra=BIG))
    expected = b"".join(bytes(range(at, at + number))[::-1] for at in range(0, 16, number))
    for mapped in (False, True):
        one, other, _ = torch.load(path, mmap=mapped, weights_only=not trusted)
        assert one.dtype == dtype and raw(one) == raw(other) == expected


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
    rebuilt = kit.in_stream(rebuilt)
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
