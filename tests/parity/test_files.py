"""Both ways between rushlight and PyTorch, in one process."""

import collections
import io
import pathlib
import pickle
import zipfile

import pytest

import rushlight
from helpers import files as kit

torch = pytest.importorskip("torch")

DATA = pathlib.Path(__file__).parent.parent / "data"
DTYPES = ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool"]


ABSENT = ["xpu:0", "warp"] + ([] if torch.cuda.is_available() else ["cuda", "cuda:0", "cuda:3"])


def both(make):
    """The same object made by each library."""
    return make(rushlight), make(torch)


def saved(library, obj, **options):
    buffer = io.BytesIO()
    library.save(obj, buffer, **options)
    return buffer.getvalue()


def same(ours, theirs):
    if isinstance(ours, rushlight.Tensor):
        assert isinstance(theirs, torch.Tensor)
        assert isinstance(ours, rushlight.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        assert str(ours.dtype) == str(theirs.dtype)
        assert tuple(ours.size()) == tuple(theirs.size()) and tuple(ours.stride()) == tuple(theirs.stride())
        assert ours.storage_offset() == theirs.storage_offset()
        assert ours.requires_grad == theirs.requires_grad
        assert bytes(rushlight._C._storage_bytes(ours)) == bytes(theirs.untyped_storage())
    elif isinstance(ours, dict):
        assert type(ours) is type(theirs) and list(ours) == list(theirs)
        for key in ours:
            same(ours[key], theirs[key])
    elif type(ours) in (list, tuple):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert repr(ours) == repr(theirs)


def checkpoint(library):
    base = library.tensor([float(i) for i in range(24)]).view(4, 6)
    tagged = library.nn.Parameter(library.ones(2))
    tagged.tag = "x"
    state = collections.OrderedDict(w=base, part=base[1:3, 2:], turned=base.t(), again=base)
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    return {
        "state": state,
        "parameters": [library.nn.Parameter(library.zeros(2, 3)), tagged],
        "frozen": library.nn.Parameter(library.zeros(1), requires_grad=False),
        "dtypes": [library.ones(3, dtype=getattr(library, name)) for name in DTYPES],
        "empty": [library.zeros(0), library.zeros(2, 0, 3), library.tensor(1.5)],
        "leaf": library.ones(1).requires_grad_(),
        "values": [1, -5, 2**33, 2**70, 0.1, True, None, "ü", (), (1,), (1, 2, 3, 4), {3: "x"}],
        "more": [{1}, bytearray(b"a"), 1j, b"\xff", collections.Counter("aab")],
        "types": [library.Size([2, 3]), library.float16, library.device("cpu"), library.device("cuda", 1)],
    }


@pytest.mark.parametrize("zipped", [True, False])
def test_pytorch_reads_ours(zipped):
    ours, theirs = both(checkpoint)
    data = saved(rushlight, ours, _use_new_zipfile_serialization=zipped)
    same(ours, torch.load(io.BytesIO(data), weights_only=True))
    same(rushlight.load(io.BytesIO(data)), theirs)


@pytest.mark.parametrize("zipped", [True, False])
def test_we_read_theirs(zipped):
    _, theirs = both(checkpoint)
    data = saved(torch, theirs, _use_new_zipfile_serialization=zipped)
    back = rushlight.load(io.BytesIO(data))
    same(back, torch.load(io.BytesIO(data)))
    assert back["state"]._metadata == theirs["state"]._metadata
    assert back["state"]["w"] is back["state"]["again"]
    assert back["parameters"][1].tag == "x"


def test_empty_bytes_which_pytorch_itself_cannot_read_back():
    assert torch.load(io.BytesIO(saved(rushlight, b"")), weights_only=True) == b""
    assert rushlight.load(io.BytesIO(saved(torch, b""))) == b""


def test_the_zip_is_the_same_to_the_byte(tmp_path):
    ours, theirs = both(checkpoint)
    rushlight.save(ours, tmp_path / "ours.pth")
    torch.save(theirs, tmp_path / "them.pth")
    a, b = (tmp_path / "ours.pth").read_bytes(), (tmp_path / "them.pth").read_bytes()
    with zipfile.ZipFile(io.BytesIO(a)) as one, zipfile.ZipFile(io.BytesIO(b)) as two:
        assert one.read("ours/data.pkl") == two.read("them/data.pkl")
    a = a.replace(b"ours/", b"them/")
    # only the serialization id differs: its 40 digits, and its checksum in two places
    directory = b.index(b"PK\1\2")
    entry = b.rindex(b"PK\1\2")
    free = {
        *range(directory - 56, directory - 16),
        *range(directory - 12, directory - 8),
        *range(entry + 16, entry + 20),
    }
    assert len(a) == len(b)
    assert {i for i in range(len(a)) if a[i] != b[i]} <= free


def test_mmap_and_computed_offsets(tmp_path):
    ours, _ = both(checkpoint)
    rushlight.save(ours, tmp_path / "a.pth")
    torch.utils.serialization.config.load.calculate_storage_offsets = True
    try:
        same(ours, torch.load(tmp_path / "a.pth", mmap=True))
    finally:
        torch.utils.serialization.config.load.calculate_storage_offsets = False
    same(rushlight.load(tmp_path / "a.pth", mmap=True), torch.load(tmp_path / "a.pth"))


@pytest.mark.parametrize("dtype", [key for key, kind in kit.STORAGES.items() if kind != "UntypedStorage"])
def test_big_endian_files(dtype):
    count = 16 // getattr(torch, dtype).itemsize
    body = kit.tensor(kit.storage(kind=kit.STORAGES[dtype], count=count), size=(count,))
    data = kit.archive(body, extra=(("version", b"3\n"), ("byteorder", b"big")))
    ours, theirs = rushlight.load(io.BytesIO(data)), torch.load(io.BytesIO(data))
    assert bytes(ours.untyped_storage()) == bytes(theirs.untyped_storage())


@pytest.mark.parametrize("seed", [0, 1])
def test_random_trees_of_views(seed):
    import random

    rng = random.Random(seed)
    base = torch.randn(7, 5, 3)
    for _ in range(50):
        view = base.permute(rng.sample(range(3), 3))[rng.randrange(3) :, :: rng.randint(1, 2)]
        data = saved(torch, {"v": view, "e": view[0].expand(4, *view[0].shape)})
        same(rushlight.load(io.BytesIO(data)), torch.load(io.BytesIO(data)))


@pytest.mark.parametrize("location", ABSENT)
@pytest.mark.parametrize("where", [None, "location", {"cpu": "location"}], ids=str)
def test_locations_that_are_not_there(location, where):
    data = saved(torch, torch.zeros(2))
    if where is None:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            records = {name: file.read(name) for name in file.namelist()}
        old = b"X\3\0\0\0cpu"
        assert old in records["archive/data.pkl"]
        new = b"X" + len(location).to_bytes(4, "little") + location.encode()
        records["archive/data.pkl"] = records["archive/data.pkl"].replace(old, new)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            for name, value in records.items():
                file.writestr(name, value)
        data = buffer.getvalue()
    elif where == "location":
        where = location
    else:
        where = {"cpu": location}
    texts = []
    for library in (rushlight, torch):
        with pytest.raises(RuntimeError) as caught:
            library.load(io.BytesIO(data), map_location=where)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def failing(call):
    try:
        call()
    except (RuntimeError, ValueError, TypeError, AttributeError, OSError, pickle.UnpicklingError) as error:
        return type(error), str(error)
    return None


def test_errors_of_arguments_are_the_same(tmp_path):
    path = DATA / "civilnet_digits.pth"
    calls = [
        lambda t: t.load(path, pickle_module=pickle, weights_only=True),
        lambda t: t.load(tmp_path / "absent"),
        lambda t: t.load(tmp_path),
        lambda t: t.load(io.BytesIO(path.read_bytes()), mmap=True),
        lambda t: t.save(1, 5),
        lambda t: t.save(1, tmp_path / "absent" / "a.pth"),
        lambda t: t.load(object()),
        lambda t: t.serialization.add_safe_globals(5),
    ]
    for call in calls:
        ours, theirs = failing(lambda call=call: call(rushlight)), failing(lambda call=call: call(torch))
        assert ours == theirs


def test_refusals_say_what_pytorch_says(tmp_path):
    class_file = saved(torch, pathlib.PurePosixPath("x"))
    theirs = failing(lambda: torch.load(io.BytesIO(class_file)))
    ours = failing(lambda: rushlight.load(io.BytesIO(class_file)))
    assert ours[0] is theirs[0] is pickle.UnpicklingError
    sentence = "GLOBAL pathlib.PurePosixPath was not an allowed global by default. Please use "
    assert sentence in ours[1] and sentence in theirs[1]
    assert ours[1].startswith("Weights only load failed.") and theirs[1].startswith(
        "Weights only load failed."
    )


def test_a_training_checkpoint_with_tied_weights():
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4)
    ).double()
    model[2].weight = model[0].weight
    optimizer = torch.optim.Adam(model.parameters(), amsgrad=True)
    model(torch.randn(3, 4, dtype=torch.float64)).sum().backward()
    optimizer.step()
    obj = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "buffer": torch.nn.Buffer(torch.ones(2)),
    }
    for zipped in (True, False):
        data = saved(torch, obj, _use_new_zipfile_serialization=zipped)
        back = rushlight.load(io.BytesIO(data))
        same(back, torch.load(io.BytesIO(data)))
        first, third = back["model"]["0.weight"], back["model"]["2.weight"]
        assert rushlight._C._storage_id(first) == rushlight._C._storage_id(third)
        assert back["buffer"]._is_buffer and back["buffer"].persistent


def test_what_we_lack_is_named():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(RuntimeError, match="rushlight does not support .*nested tensors"):
        rushlight.load(io.BytesIO(saved(torch, nested)))
