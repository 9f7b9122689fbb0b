"""What examples draw: PNG files that a strict reader takes, and bars that terminals alone see."""

import importlib
import io
import struct
import sys
import zlib

import numpy as np
import pytest
from tests.helpers.examples import EXAMPLES

import rushlight


@pytest.fixture
def show(monkeypatch):
    """examples/show.py, with rushlight in torch's place."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name, module in (("torch", rushlight), ("torch.nn", rushlight.nn)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "torch.nn.functional", rushlight.nn.functional)
    monkeypatch.delitem(sys.modules, "show", raising=False)
    yield importlib.import_module("show")
    sys.modules.pop("show")


def read_png(data):
    """The pixels of a PNG without filters, as its chunks say them."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + content)
        chunks.append((kind, content))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colour, *rest = struct.unpack(">2I5B", chunks[0][1])
    assert depth == 8 and rest == [0, 0, 0]
    channels = {0: 1, 2: 3}[colour]
    lines = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(height, 1 + width * channels)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 3), (1, 1)])
def test_a_picture_is_read_back(show, shape, tmp_path):
    picture = rushlight.rand(shape)
    picture.view(-1)[0] = 2.0  # brighter than white
    show.save_png(tmp_path / "a.png", picture)
    pixels = read_png((tmp_path / "a.png").read_bytes())
    wanted = np.clip(np.rint(picture.numpy() * np.float32(255)), 0, 255)
    assert (pixels == wanted.reshape(pixels.shape)).all()


def test_tiles_stand_in_rows(show):
    images = rushlight.tensor([[[0.25]], [[0.5]], [[0.75]]])
    assert show.tile(images, 2, scale=1, edge=0).tolist() == [[0.25, 0.5], [0.75, 1.0]]
    assert show.tile(images[:1], 1, scale=2, edge=1)[1].tolist() == [1.0, 0.25, 0.25, 1.0]


@pytest.mark.parametrize("terminal", [False, True])
def test_a_bar_is_for_terminals(show, terminal, monkeypatch):
    stderr = io.StringIO()
    stderr.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(show.progress([1, 2, 3], "epoch 1")) == [1, 2, 3]
    assert ("epoch 1 [" + "#" * show.WIDTH + "] 3/3" in stderr.getvalue()) == terminal
    assert bool(stderr.getvalue()) == terminal


def test_characters(show, capsys):
    show.print_row(rushlight.tensor([[[0.0, 1.0]], [[1.5, 0.4]]]))
    assert capsys.readouterr().out == "  @@   @@==\n\n"


def test_a_curve_goes_from_left_to_right(show, capsys):
    show.print_curve([4.0, 4.0, 2.0, 2.0, 0.0, 0.0], height=3, columns=3)
    assert capsys.readouterr().out.splitlines() == [
        "   4.000 |*",
        "   2.000 | *",
        "   0.000 |  *",
        "         +---",
    ]
    show.print_curve([1.0, 1.0], height=2)
    assert "1.000 |**" in capsys.readouterr().out
