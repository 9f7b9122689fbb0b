"""Other memory for a tensor: set_(), resize_(), storages that shrink, buffers, files, view(dtype)."""

import array
import copy
import gc
import mmap
import pickle
import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight import _C


@pytest.fixture(autouse=True)
def _no_leaks():
    gc.collect()
    before = _C._live()
    yield
    gc.collect()
    assert _C._live() == before


# ---- sizes ----
def test_a_tensor_keeps_what_a_storage_gives_up():
    x = torch.arange(1000.0)
    storage = x.untyped_storage()
    for size in (0, 8, 4000, 12, 8000, 0):
        assert storage.resize_(size).nbytes() == size
        assert x.tolist() == list(range(1000))
        x[999] = 999
    assert torch.empty(0).set_(storage).numel() == 0
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 0"):
        x.as_strided((2,), (1,))


def test_what_shrank_is_shared_whole():
    x = torch.arange(1000.0)
    x.untyped_storage().resize_(4).share_memory_()
    assert x.sum().item() == 499500


def test_views_stay_in_memory_that_grew():
    x = torch.arange(4.0)
    v, w = x[1:3], x.view(2, 2)
    x.resize_(10000)
    x.fill_(7)
    assert v.tolist() == [7, 7] and w.tolist() == [[7, 7], [7, 7]] and x.numel() == 10000
    assert v.untyped_storage()._cdata == x.untyped_storage()._cdata


@pytest.mark.parametrize("size", [(1 << 62,), (1 << 62, 1 << 62), (1 << 40, 1 << 21), (-1,), (3, -5)])
def test_sizes_that_cannot_be(size):
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError):
        x.resize_(size)
    with pytest.raises(RuntimeError):
        x.set_(x.untyped_storage(), 0, size)
    with pytest.raises(RuntimeError):
        torch.empty_strided(size, (1,) * len(size))
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "place",
    [
        (-1, (1,), (1,)),
        (0, (2,), (-1,)),
        (1 << 62, (2,), (1,)),
        (0, (2,), (1 << 62,)),
        (0, (2, 2), (1,)),
        (0, (2,) * 65, (1,) * 65),
        (1 << 64, (2,), (1,)),
        (0, (1 << 64,), (1,)),
    ],
)
def test_places_that_cannot_be(place):
    x = torch.arange(4.0)
    with pytest.raises((RuntimeError, OverflowError, ValueError, TypeError)):
        torch.empty(0).set_(x.untyped_storage(), *place)
    assert x.tolist() == [0, 1, 2, 3]


def test_nothing_may_begin_anywhere():
    x = torch.arange(4.0)
    y = torch.empty(0).set_(x.untyped_storage(), 100, (0, 5))
    assert y.shape == (0, 5) and y.storage_offset() == 100 and y.tolist() == []


def test_set_counts_as_a_write():
    x, y = torch.zeros(3), torch.arange(3.0)
    z = (x.requires_grad_() * 1).sum()
    before = y._version
    w = torch.ones(3)
    product = w.requires_grad_() * x
    with torch.no_grad():
        x.set_(y)
    assert x._version == 1 and y._version == before
    z.backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_strangers_cannot_change_a_size_while_it_is_read():
    """A sequence that resizes what it is asked about."""
    x = torch.arange(4.0)

    class Sly:
        def __index__(self):
            x.resize_(1)
            return 4

    assert x.resize_([Sly()]).shape == (4,)
    assert x[:1].tolist() == [0]


def test_kernels_beside_a_resize():
    x = torch.ones(1 << 20)
    refused, stop = [], threading.Event()

    def work():
        while not stop.is_set():
            assert x.sum().item() == 1 << 20

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        try:
            x.untyped_storage().resize_(4 << 20)
        except RuntimeError as error:
            refused.append(str(error))
    stop.set()
    thread.join()
    assert all("in use elsewhere" in text for text in refused)


# ---- UntypedStorage ----
def test_a_slice_shares_memory_and_keeps_it():
    s = torch.arange(10, dtype=torch.uint8).untyped_storage()
    part = s[2:5]
    part[0] = 99
    assert s[2] == 99
    del s
    assert part.tolist() == [99, 3, 4]


def test_copies_and_pickles():
    s = torch.arange(5, dtype=torch.uint8).untyped_storage()
    for other in (copy.copy(s), copy.deepcopy(s), s.clone(), pickle.loads(pickle.dumps(s))):
        assert other.tolist() == s.tolist() and other._cdata != s._cdata
    one, two = copy.deepcopy((s, s))
    assert one is two


def test_bytes_go_round():
    s = torch.UntypedStorage.from_buffer(b"\x01\x02\x03\x04", "big", dtype=torch.int32)
    assert bytes(s) == b"\x04\x03\x02\x01" and torch.empty(0, dtype=torch.int32).set_(s).item() == 0x01020304
    s.byteswap(torch.int16)
    assert bytes(s) == b"\x03\x04\x01\x02"
    complex_numbers = torch.UntypedStorage.from_buffer(bytes(range(8)), "big", dtype=torch.complex64)
    assert list(complex_numbers) == [3, 2, 1, 0, 7, 6, 5, 4]


def test_one_memory_is_one_storage():
    x = torch.zeros(3)
    s, same, other = x.untyped_storage(), x[1:].untyped_storage(), torch.zeros(3).untyped_storage()
    assert s == same and hash(s) == hash(same) and s != other and len({s, same, other}) == 2
    assert s != 3 and torch.UntypedStorage(0).data_ptr() == 0


# ---- buffers ----
@pytest.mark.parametrize(
    "make", [bytearray, lambda b: array.array("B", b), lambda b: np.frombuffer(b, "u1").copy()]
)
def test_a_buffer_is_held_as_long_as_its_tensor(make):
    buffer = make(bytes(range(16)))
    t = torch.frombuffer(buffer, dtype=torch.int32, offset=4)
    view = memoryview(buffer).cast("B")
    view[4:8] = b"\x2a\0\0\0"
    assert t[0].item() == 42
    t[1] = 1
    assert view[8] == 1
    view.release()
    if isinstance(buffer, bytearray):
        with pytest.raises(BufferError):
            buffer.extend(b"x")
        del t
        buffer.extend(b"x")


def test_elements_between_words_are_copied():
    t = torch.frombuffer(bytearray(range(9)), dtype=torch.int32, offset=1)
    assert t.tolist() == [0x04030201, 0x08070605] and t.data_ptr() % 4 == 0


def test_a_buffer_that_only_reads_warns():
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        assert torch.frombuffer(b"ab", dtype=torch.uint8).tolist() == [97, 98]


@pytest.mark.parametrize(
    "count, offset", [(1 << 62, 0), (2, 1 << 62), (-(1 << 62), 0), (1, -(1 << 62)), (1 << 62, 3)]
)
def test_counts_that_cannot_be(count, offset):
    buffer = bytearray(16)
    try:
        assert torch.frombuffer(buffer, dtype=torch.int64, count=count, offset=offset).numel() == 2
    except ValueError:
        pass
    buffer.extend(b"nobody holds it")


def test_maps_of_python_are_buffers():
    with mmap.mmap(-1, 64) as m:
        t = torch.frombuffer(m, dtype=torch.float32)
        t.fill_(1)
        assert m[:4] == b"\0\0\x80\x3f"
        del t


# ---- files ----
def test_a_shared_file_takes_what_is_written(tmp_path):
    path = str(tmp_path / "numbers")
    t = torch.from_file(path, shared=True, size=4)
    t.copy_(torch.arange(4.0))
    assert t.untyped_storage().filename == path and np.fromfile(path, "f4").tolist() == [0, 1, 2, 3]
    other = torch.from_file(path, shared=False, size=3)
    other.fill_(9)
    assert other.untyped_storage().filename is None and np.fromfile(path, "f4").tolist() == [0, 1, 2, 3]
    assert torch.from_file(path, size=2, dtype=torch.float32).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.from_file(path, size=5)
    with pytest.raises(RuntimeError, match="not resizable"):
        t.resize_(100)


@pytest.mark.parametrize("size", [-1, 1 << 62, 1 << 50])
def test_files_of_sizes_that_cannot_be(tmp_path, size):
    path = tmp_path / "numbers"
    path.write_bytes(b"1234")
    with pytest.raises((RuntimeError, OverflowError)):
        torch.from_file(str(path), size=size)
    assert path.read_bytes() == b"1234"


# ---- view(dtype) ----
def test_other_dtypes_see_the_same_bytes():
    x = torch.arange(6, dtype=torch.int32).view(2, 3)
    small, large = x.view(torch.int16), torch.zeros(2, 4, dtype=torch.int16).view(torch.int64)
    assert small.shape == (2, 6) and small.stride() == (6, 1) and large.shape == (2, 1)
    small[0, 0] = 7
    assert x[0, 0].item() == 7 and x._version == small._version == 1
    assert x[1:].view(torch.uint8).storage_offset() == 12
    assert x.t()[:, :1].view(torch.float32).stride() == (1, 3)


def test_other_dtypes_have_no_history():
    x = torch.ones(2, 4, requires_grad=True)
    for dtype in (torch.int32, torch.float32, torch.float64):
        seen = x.view(dtype)
        assert not seen.requires_grad and seen.grad_fn is None and seen._base is None


@pytest.mark.parametrize("shape", [(0,), (0, 4), (1, 4)])
def test_other_dtypes_of_few_elements(shape):
    x = torch.zeros(shape, dtype=torch.int16)
    assert x.view(torch.int32).numel() * 2 == x.numel() and x.view(torch.int8).numel() == 2 * x.numel()


# ---- subclasses ----
def test_constructors_keep_the_class():
    class Mine(torch.Tensor):
        pass

    for made in (Mine([1.0, 2.0]), Mine(2, 3), Mine(torch.ones(2)), Mine()):
        assert type(made) is Mine
    assert type(torch.FloatTensor([1])) is torch.Tensor
