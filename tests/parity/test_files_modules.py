"""Whole modules both ways, every dtype both ways, and published weights."""

import io
import os
import pathlib
import sys

import pytest

import rushlight

torch = pytest.importorskip("torch")
EXAMPLES = pathlib.Path(__file__).parent.parent.parent / "examples"
WEIGHTS = os.environ.get("PUBLISHED_WEIGHTS")


def saved(library, obj, **options):
    buffer = io.BytesIO()
    library.save(obj, buffer, **options)
    return buffer.getvalue()


def network(t):
    return t.nn.Sequential(
        t.nn.Conv2d(1, 2, 3, padding=1),
        t.nn.BatchNorm2d(2),
        t.nn.ReLU(),
        t.nn.Dropout(0.5),
        t.nn.Flatten(),
        t.nn.Linear(32, 4),
    ).eval()


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("wrap", [lambda t, net: net, lambda t, net: t.nn.DataParallel(net)])
def test_whole_modules_both_ways(zipped, wrap):
    values = torch.randn(2, 1, 4, 4)
    for theirs, ours in ((torch, rushlight), (rushlight, torch)):
        net = wrap(theirs, network(theirs))
        data = saved(theirs, net, _use_new_zipfile_serialization=zipped)
        back = ours.load(io.BytesIO(data), weights_only=False)
        assert repr(back) == repr(net) and list(back.state_dict()) == list(net.state_dict())
        inner, outer = getattr(back, "module", back), getattr(net, "module", net)
        a = inner(ours.tensor(values.tolist())).tolist()
        b = outer(theirs.tensor(values.tolist())).tolist()
        assert torch.allclose(torch.tensor(a), torch.tensor(b), atol=1e-6)


@pytest.mark.parametrize("kind", ["TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"])
def test_layers_with_functions_in_them_go_there_and_back(kind):
    """A file of PyTorch, read and written here, is the same module in PyTorch, and computes the same here."""
    net = getattr(torch.nn, kind)(8, 2, activation=torch.nn.functional.gelu).eval()
    back = rushlight.load(io.BytesIO(saved(torch, net)), weights_only=False)
    again = torch.load(io.BytesIO(saved(rushlight, back)), weights_only=False)
    x = [torch.randn(3, 1, 8) for _ in range(1 if kind == "TransformerEncoderLayer" else 2)]
    assert torch.equal(again(*x), net(*x)) and repr(again) == repr(net) == repr(back)
    ours = back(*(rushlight.tensor(part.tolist()) for part in x))
    assert torch.allclose(torch.tensor(ours.tolist()), net(*x), atol=1e-5)


DTYPES = (
    "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 bool complex32 complex64 complex128 uint16"
    " uint32 uint64 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu"
).split()


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_from_here_to_pytorch(name):
    tensor = torch.arange(32, dtype=torch.uint8).remainder(2).view(getattr(torch, name)).view(2, -1)
    made = rushlight.load(io.BytesIO(saved(torch, {"x": tensor, "part": tensor.t()[1:]})))
    back = torch.load(io.BytesIO(saved(rushlight, made)), weights_only=True)
    for key, wanted in (("x", tensor), ("part", tensor.t()[1:])):
        assert back[key].dtype is wanted.dtype and back[key].stride() == wanted.stride()
        assert back[key].storage_offset() == wanted.storage_offset()
        assert bytes(back[key].untyped_storage()) == bytes(wanted.untyped_storage())


def test_optimiser_states():
    for make in (torch.optim.Adam, torch.optim.RMSprop, torch.optim.SGD):
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = make([weight], lr=0.1)
        weight.sum().backward()
        optimizer.step()
        state = optimizer.state_dict()
        here = rushlight.load(io.BytesIO(saved(torch, state)))
        back = torch.load(io.BytesIO(saved(rushlight, here)), weights_only=True)
        assert repr(back) == repr(state)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pytorch_reads_every_protocol_of_ours(protocol):
    obj = {"a": rushlight.ones(2), "b": b"\xff", "c": {1}, "d": 2**100, "e": -(2**63)}
    back = torch.load(io.BytesIO(saved(rushlight, obj, pickle_protocol=protocol)), weights_only=True)
    assert back["a"].tolist() == [1.0, 1.0] and [back[key] for key in "bcde"] == [
        b"\xff",
        {1},
        2**100,
        -(2**63),
    ]


if WEIGHTS:  # the Makefile fetches them

    def test_published_weights_load():
        paths = sorted(pathlib.Path(WEIGHTS).rglob("*.pth"))
        assert {"tiny.pth", "alex.pth", "vgg.pth", "squeeze.pth"} <= {path.name for path in paths}
        for path in paths:
            ours, theirs = (library.load(path, map_location="cpu") for library in (rushlight, torch))
            assert list(ours) == list(theirs)
            for key in ours:
                assert ours[key].shape == theirs[key].shape
                raw = torch.empty(0, dtype=torch.uint8).set_(theirs[key].untyped_storage())
                assert bytes(rushlight._C._storage_bytes(ours[key])) == raw.numpy().tobytes()

    def test_440_hertz_are_heard(monkeypatch):
        for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "torch", rushlight)
        monkeypatch.setitem(sys.modules, "torch.nn", rushlight.nn)
        monkeypatch.setitem(sys.modules, "torch.nn.functional", rushlight.nn.functional)
        monkeypatch.syspath_prepend(EXAMPLES)
        import pitch

        (tiny,) = pathlib.Path(WEIGHTS).rglob("tiny.pth")
        assert pitch.torch is rushlight
        assert abs(pitch.listen(tiny, [440.0])[0] - 440) < 4.4
