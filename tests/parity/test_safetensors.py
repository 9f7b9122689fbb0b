"""safetensors files beside the package's own frontend for PyTorch: the same bytes, tensors and names."""

import numpy
import pytest
import safetensors
import safetensors.torch as theirs

import rushlight
import rushlight.safetensors as ours
from helpers import safetensors as kit
from helpers.pytorch import torch

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64"),
    *(
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
    ),
)


def tensors(t):
    """Of every dtype, in several shapes."""
    found = {}
    for dtype in DTYPES:
        raw = t.arange(48, dtype=t.uint8) % 2
        found[f"{dtype} flat"] = raw.view(getattr(t, dtype))
        found[f"{dtype} matrix"] = (raw + 0).view(2, 3, 8).view(getattr(t, dtype))
        found[f"{dtype} none"] = t.zeros(2, 0, 8, dtype=t.uint8).view(getattr(t, dtype))
    return found | {"parameter": t.nn.Parameter(t.ones(2)), "number": t.tensor(2.5), "é\n": t.ones(1)}


def described(tensor):
    """All that can be compared, the bytes as they are; those of more than 8 bits as numbers."""
    flat = tensor.detach().contiguous().flatten()
    t = torch if isinstance(tensor, torch.Tensor) else rushlight
    return str(tensor.dtype), tuple(tensor.shape), tensor.stride(), flat.view(t.uint8).tolist()


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_the_bytes(metadata, tmp_path):
    expected = theirs.save(tensors(torch), metadata)
    assert ours.save(tensors(rushlight), metadata) == expected
    theirs.save_file(tensors(torch), tmp_path / "a.safetensors", metadata)
    ours.save_file(tensors(rushlight), tmp_path / "b.safetensors", metadata)
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes() == expected


def test_the_tensors(tmp_path):
    path = tmp_path / "x.safetensors"
    theirs.save_file(tensors(torch), path, {"k": "v"})
    for mine, other in (
        (ours.load_file(path), theirs.load_file(path)),
        (rushlight.load(path), torch.load(path)),
        (ours.load_file(path, backend="pread"), theirs.load_file(path)),  # theirs by pread fails on F4
    ):
        assert list(mine) == list(other)
        assert [described(each) for each in mine.values()] == [described(each) for each in other.values()]


@pytest.mark.parametrize("name", kit.SOUND)
def test_sound_files(name, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(kit.SOUND[name])
    mine, other = rushlight.load(path), torch.load(path)
    assert set(mine) == set(other)
    for key, tensor in other.items():
        if tensor.dtype is torch.bool:  # bytes that are neither 0 nor 1 are kept there
            assert mine[key].tolist() == tensor.tolist()
        else:
            assert described(mine[key]) == described(tensor)


INDICES = [
    1,
    -1,
    slice(1, 2),
    (slice(None), 1),
    ...,
    slice(0, 3, 2),
    (0, 0),
    None,
    [0, 2],
    (slice(None), [1]),
]


def test_safe_open(tmp_path):
    path = tmp_path / "x.safetensors"
    theirs.save_file({"b": torch.arange(12.0).view(3, 4), "a": torch.tensor(1)}, path, {"k": "v"})
    with safetensors.safe_open(path, "pt") as other, ours.safe_open(path, "pt") as mine:
        for ask in ("keys", "offset_keys", "metadata"):
            assert getattr(mine, ask)() == getattr(other, ask)()
        a, b = mine.get_slice("b"), other.get_slice("b")
        assert (a.get_shape(), a.get_dtype()) == (b.get_shape(), b.get_dtype())
        for index in INDICES:
            assert numpy.array_equal(a[index].numpy(), b[index].numpy()), index
        assert list(mine.get_tensors()) == list(other.get_tensors())


def tied(t):
    class Tied(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (t.nn.Linear(2, 2) for _ in range(3))
            self.c.weight = self.b.weight = self.a.weight
            self.register_buffer("turned", t.arange(6.0).view(2, 3).t())
            for parameter in self.parameters():
                parameter.data.fill_(0.5)

    return Tied()


def test_models(tmp_path):
    one, two = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    theirs.save_model(tied(torch), one)
    ours.save_model(tied(rushlight), two)
    with safetensors.safe_open(one, "pt") as other, safetensors.safe_open(two, "pt") as mine:
        assert mine.metadata() == other.metadata() and mine.offset_keys() == other.offset_keys()
    assert one.read_bytes()[-60:] == two.read_bytes()[-60:]
    assert ours.load_model(tied(rushlight), one) == theirs.load_model(tied(torch), two) == (set(), [])
    answers = []
    for module, t in ((ours, rushlight), (theirs, torch)):
        missing, unexpected = module.load_model(t.nn.Linear(2, 2), one, strict=False)
        with pytest.raises(RuntimeError) as caught:
            module.load_model(t.nn.Linear(2, 2), one)
        answers.append((missing, sorted(unexpected), str(caught.value)))
    assert answers[0] == answers[1]
    with pytest.raises(ValueError, match="non contiguous"):
        ours.save_model(tied(rushlight), two, force_contiguous=False)


def refusal(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return caught.type


def test_refusals_have_the_same_types():
    for wrong in (
        lambda t: [t.ones(1)],
        lambda t: {"a": {"b": t.ones(1)}},
        lambda t: {"a": t.ones(2, 3).t()},
        lambda t: dict.fromkeys("ab", t.ones(1)),
        lambda t: {"a": t.ones(1, device="meta")},
        lambda t: {"\ud800": t.ones(1)},
    ):
        expected = refusal(lambda wrong=wrong: theirs.save(wrong(torch)))
        assert refusal(lambda wrong=wrong: ours.save(wrong(rushlight))) is expected
    for metadata in ({"a": 1}, {1: "a"}):
        assert refusal(lambda m=metadata: ours.save({}, m)) is refusal(lambda m=metadata: theirs.save({}, m))
