"""Checkpoints of PyTorch 0.1, which were tars: read in place, never unpacked to the disk."""

import io
import os
import pickle
import struct

import pytest

import rushlight as torch
from helpers import files as kit

REFUSED = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError)
TENSOR = kit.tar_tensor(10)
BODY = kit.mapping(kit.text("w"), TENSOR, kit.text("again"), TENSOR)


def load(data, **options):
    return torch.load(io.BytesIO(data), **options)


def test_a_state_dict(tmp_path):
    path = tmp_path / "old.pth"
    path.write_bytes(kit.tar(BODY))
    for found in (torch.load(path), load(kit.tar(BODY)), load(kit.tar(BODY, drop=("sys_info",)))):
        assert found["w"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and found["w"] is found["again"]
    assert os.listdir(tmp_path) == ["old.pth"]


def test_views_share_and_keep_their_dtypes():
    storages = kit.tar_storages(
        (
            (1, "FloatStorage", struct.pack("<6f", *range(6))),
            (2, "LongStorage", struct.pack("<2q", -1, 2**40)),
            (3, "ByteStorage", b""),
        ),
        views=((7, 1, 2, 3),),
    )
    tensors = kit.tar_tensors(
        (
            (10, 1, "FloatTensor", (2, 3), (1, 2), 0),
            (11, 7, "FloatTensor", (2,), (1,), 1),
            (12, 2, "LongTensor", (2,), (1,), 0),
            (13, 3, "ByteTensor", (0,), (1,), 0),
        )
    )
    a, b, c, d = load(kit.tar(kit.listing(*map(kit.tar_tensor, (10, 11, 12, 13))), storages, tensors))
    assert a.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]] and b.tolist() == [3.0, 4.0]
    assert c.tolist() == [-1, 2**40] and d.shape == (0,) and d.dtype is torch.uint8
    b[0] = 9.0
    assert a[1, 1] == 9.0


def test_large_files_are_read_piece_by_piece(tmp_path):
    data = struct.pack("<f", 0.5) * 500_000
    path = tmp_path / "old.pth"
    tensors = kit.tar_tensors(((10, 1, "FloatTensor", (500_000,), (1,), 0),))
    path.write_bytes(kit.tar(BODY, kit.tar_storages(((1, "FloatStorage", data),)), tensors))
    assert torch.load(path)["w"].sum() == 250_000


EVIL = kit.name("os", "system") + kit.many(kit.text("touch trapped")) + b"R"
HARM = {
    "evil object": kit.tar(EVIL),
    "evil storages": kit.tar(BODY, storages=kit.HEAD + EVIL + b"."),
    "evil tensors": kit.tar(BODY, tensors=kit.HEAD + EVIL + b"."),
    "no storages": kit.tar(BODY, drop=("storages",)),
    "no tensors": kit.tar(BODY, drop=("tensors",)),
    "no pickle": kit.tar(BODY, drop=("pickle",)),
    "unknown tensor": kit.tar(kit.tar_tensor(11)),
    "odd key": kit.tar(kit.text("10x") + b"Q"),
    "long key": kit.tar(kit.text("1" * 30) + b"Q"),
    "zip id": kit.tar(kit.storage()),
    "container": kit.tar(kit.many(kit.name("torch", "Size"), kit.text("f"), kit.text("x")) + b"Q"),
    "count": kit.tar(BODY, tensors=kit.tar_tensors(count=2**40)),
    "negative count": kit.tar(BODY, tensors=kit.tar_tensors(count=-1)),
    "storage count": kit.tar(BODY, storages=kit.tar_storages(count=3)),
    "past the end": kit.tar(BODY, tensors=kit.tar_tensors(((10, 1, "FloatTensor", (5,), (1,), 0),))),
    "negative stride": kit.tar(BODY, tensors=kit.tar_tensors(((10, 1, "FloatTensor", (2,), (-1,), 2),))),
    "other dtype": kit.tar(BODY, tensors=kit.tar_tensors(((10, 1, "LongTensor", (2,), (1,), 0),))),
    "rank": kit.tar(BODY, tensors=kit.tar_tensors(((10, 1, "FloatTensor", (1,) * 65, (1,) * 65, 0),))),
    "unknown storage": kit.tar(BODY, tensors=kit.tar_tensors(((10, 9, "FloatTensor", (2,), (1,), 0),))),
    "tensor twice": kit.tar(BODY, tensors=kit.tar_tensors(((10, 1, "FloatTensor", (2,), (1,), 0),) * 2)),
    "storage twice": kit.tar(BODY, storages=kit.tar_storages(((1, "ByteStorage", b"abcd"),) * 2)),
    "view outside": kit.tar(BODY, storages=kit.tar_storages(views=((7, 1, 2, 3),))),
    "view of view": kit.tar(BODY, storages=kit.tar_storages(views=((7, 1, 0, 3), (8, 7, 0, 1)))),
    "nothing in it": kit.tar(BODY, drop=("pickle", "storages", "tensors", "sys_info")),
}


@pytest.mark.parametrize("data", HARM.values(), ids=HARM.keys())
def test_harm_is_refused(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(REFUSED):
        load(data)
    assert os.listdir(tmp_path) == []


def test_members_that_come_twice():
    good = kit.tar(BODY)
    with pytest.raises(RuntimeError, match="comes twice"):
        load(good[: -(-len(good.rstrip(b"\0")) // 512) * 512] + kit.tar(b"N"))


def test_cut_anywhere_and_changed_anywhere():
    good = kit.tar(BODY)
    end = len(good.rstrip(b"\0"))
    for n in range(0, end, 7):
        with pytest.raises(REFUSED):
            load(good[:n])
    for at in range(end):
        try:
            found = load(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1 :])
        except REFUSED:
            continue
        repr(found)


class Wrapped:
    """A class of the user's: only a trusted file may name it."""


def test_a_trusted_tar_holds_objects_of_any_class():
    body = kit.listing(
        kit.name(__name__, "Wrapped")
        + kit.EMPTY_TUPLE
        + kit.NEWOBJ
        + kit.mapping(kit.text("w"), TENSOR)
        + b"b",
        TENSOR,
        kit.many(kit.name("torch.nn", "Linear"), kit.text("linear.py"), kit.text("class Linear")) + b"Q",
    )
    with pytest.raises(pickle.UnpicklingError, match="Wrapped"):
        load(kit.tar(body))
    found, tensor, cls = load(kit.tar(body), weights_only=False)
    assert type(found) is Wrapped and found.w is tensor and tensor.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert cls is torch.nn.Linear
    moved = load(kit.tar(body), weights_only=False, map_location="meta")[1]
    assert moved.is_meta and moved.shape == (2, 2)
    with pytest.raises(pickle.UnpicklingError, match="no tensor of the file"):
        load(kit.tar(kit.listing(kit.tar_tensor(12), kit.name(__name__, "Wrapped"))), weights_only=False)
    with pytest.raises(REFUSED):
        load(kit.tar(kit.name(__name__, "Wrapped"), storages=kit.HEAD + EVIL + b"."), weights_only=False)
