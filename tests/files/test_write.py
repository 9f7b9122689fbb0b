"""The writer: the same bytes for equal input, whole files or none, any object that can write."""

import collections
import io
import os
import pickle
import zipfile

import pytest

import rushlight as torch


def dumped(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def checkpoint(order):
    return {
        "s": {f"name {i}" for i in order},
        "w": torch.ones(3),
        "f": frozenset(order),
        "mixed": {1, "a", None},
    }


@pytest.mark.parametrize("zipped", [True, False])
def test_equal_input_gives_equal_bytes(zipped):
    one, two = (
        dumped(checkpoint(order), _use_new_zipfile_serialization=zipped) for order in ([1, 2, 3], [3, 2, 1])
    )
    assert one == two


class Sink:
    """A file that can only write."""

    def __init__(self):
        self.parts = []

    def write(self, data):
        self.parts.append(bytes(data))


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_that_can_only_write(zipped):
    sink = Sink()
    obj = {"a": torch.arange(5000), "b": torch.zeros(0)}
    torch.save(obj, sink, _use_new_zipfile_serialization=zipped)
    assert b"".join(sink.parts) == dumped(obj, _use_new_zipfile_serialization=zipped)


def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    for failure in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def full(*_, failure=failure):
            raise failure

        with monkeypatch.context() as patch:
            patch.setattr(torch._C, "_save_zip", full)
            with pytest.raises(type(failure)):
                torch.save("new", path)
    assert torch.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]


def test_batches_and_numbers_are_those_of_pickle():
    obj = [list(range(n)) for n in (0, 1, 2, 999, 1000, 1001, 2001)]
    obj += [{i: None for i in range(n)} for n in (0, 1, 2, 999, 1000, 1001, 2001)]
    obj += [2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64, 65, 2040) for d in (-1, 0, 1)]
    obj += [-(2**n) + d for n in (7, 8, 15, 16, 31, 32, 63, 64, 65, 2040) for d in (-1, 0, 1)]
    obj += [collections.OrderedDict((str(i), i) for i in range(n)) for n in (0, 1, 1000, 1001)]
    obj += ["x", "ü", "\ud800", 0.1, -0.0, True, None, (), (1,), (1, 2, 3, 4)]
    ring = []
    ring.append((ring,))
    obj.append(ring)
    with zipfile.ZipFile(io.BytesIO(dumped(obj))) as file:
        assert file.read("archive/data.pkl") == pickle.dumps(obj, protocol=2)


class Stated:
    def __reduce__(self):
        return Stated, (), None, None, iter(())

    def __eq__(self, other):
        return type(other) is Stated


def test_objects_that_describe_themselves():
    for obj in (
        Stated(),
        collections.deque([1, 2]),
        collections.defaultdict(int, a=1),
        range(3),
        len,
        Stated,
    ):
        back = torch.load(io.BytesIO(dumped({"x": obj})), weights_only=False)["x"]
        assert back == obj and type(back) is type(obj)


def test_an_object_with_a_wrong_description():
    class Wrong:
        def __reduce__(self):
            return 5

    with pytest.raises(pickle.PicklingError, match="__reduce__ must return a string or tuple"):
        torch.save(Wrong(), io.BytesIO())


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # once in a process
@pytest.mark.parametrize("zipped", [True, False])
def test_storages_that_know_their_dtype(zipped):
    tensor = torch.tensor([1.0, 2.0, 3.0])
    typed = torch.storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=torch.float32)
    data = dumped({"t": tensor, "s": typed}, _use_new_zipfile_serialization=zipped)
    for weights_only in (True, False):
        back = torch.load(io.BytesIO(data), weights_only=weights_only)
        assert isinstance(back["s"], torch.storage.FloatStorage) and back["s"].tolist() == [1.0, 2.0, 3.0]
        back["s"][0] = 9
        assert back["t"].tolist() == [9.0, 2.0, 3.0]
