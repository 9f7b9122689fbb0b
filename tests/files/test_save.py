"""Saving: what is written where, and what a failure leaves behind."""

import io
import os
import pickle
import struct
import zipfile
import zlib

import pytest

import rushlight as torch
from helpers.saved import floats

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
