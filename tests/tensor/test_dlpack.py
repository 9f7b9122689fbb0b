"""DLPack: what capsules say, how long memory lives, what strangers' capsules may claim."""

import ctypes
import gc
import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight import _C

NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Described(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Described), ("owner", ctypes.c_void_p), ("deleter", Deleter)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("owner", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", Described),
    ]


class Capsule:
    """A stranger's capsule, and how often its deleter was called."""

    def __init__(self, shape=(2,), strides=None, version=None, shift=0, **fields):
        self.deleted = 0
        self.memory = ctypes.create_string_buffer(bytes(range(128)), 160)
        start = -(-ctypes.addressof(self.memory) // 16) * 16 + shift
        self.shape, self.strides = ((ctypes.c_int64 * 8)(*(n or ())) for n in (shape, strides))
        self.described = Plain() if version is None else Versioned(version=version)
        tensor = self.described.tensor
        tensor.data, tensor.device, tensor.ndim = start, (1, 0), len(shape)
        tensor.code, tensor.bits, tensor.lanes = 2, 32, 1
        tensor.shape = self.shape
        tensor.strides = self.strides if strides is not None else None
        for name, value in fields.items():
            setattr(tensor, name, value)
        self.deleter = self.described.deleter = Deleter(self._delete)
        self.capsule = _new(ctypes.addressof(self.described), NAMES[version is not None], None)

    def _delete(self, address):
        assert address == ctypes.addressof(self.described)
        self.deleted += 1


def described(capsule):
    name = _name(capsule)
    kind = Versioned if name == NAMES[True] else Plain
    return kind.from_address(_pointer(capsule, name)).tensor


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_what_a_capsule_says(version):
    x = torch.arange(12, dtype=torch.int16).view(3, 4)[1:, ::2]
    capsule = x.__dlpack__(max_version=version)
    said = described(capsule)
    assert _name(capsule) == NAMES[version is not None]
    assert said.data == x.data_ptr() and tuple(said.device) == (1, 0)
    assert (said.code, said.bits, said.lanes, said.byte_offset) == (0, 16, 1, 0)
    assert said.shape[: said.ndim] == [2, 2] and said.strides[: said.ndim] == [4, 2]


DTYPES = "uint8 int8 int16 int32 int64 float16 float32 float64 bool complex64 complex128 uint16 uint32 uint64"


@pytest.mark.parametrize("dtype", DTYPES.split())
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3,), (2, 3)])
def test_numpy_both_ways(dtype, shape):
    array = np.ones(shape, dtype=getattr(np, dtype if dtype != "bool" else "bool_"))
    tensor = torch.from_dlpack(array)
    assert tensor.dtype is getattr(torch, dtype) and tuple(tensor.shape) == shape
    back = np.from_dlpack(tensor)
    assert back.dtype == array.dtype and back.shape == shape and (back == array).all()
    if tensor.numel():
        array[...] = 0
        assert not tensor.any() if dtype in ("bool", "uint8") else tensor.tolist() == array.tolist()
        assert (back == array).all() and np.shares_memory(back, array)


def test_strides_and_writes_go_both_ways():
    x = torch.arange(12.0).view(3, 4).t()[::2]
    a = np.from_dlpack(x)
    assert a.strides == (8, 16) and a.tolist() == x.tolist()
    x[0, 0] = 50
    assert a[0, 0] == 50
    y = torch.from_dlpack(np.arange(12.0).reshape(3, 4).T[1:])
    assert y.stride() == (1, 4) and y[0].tolist() == [1, 5, 9]


def test_memory_lives_as_long_as_somebody_looks():
    gc.collect()
    before = _C._live()
    x = torch.arange(1000.0)
    capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0))]
    shared = torch.from_dlpack(capsules[0])
    array = np.from_dlpack(shared)
    del x, shared, capsules
    gc.collect()
    assert array.sum() == 499500 and _C._live()["storages"] > before["storages"]
    del array
    gc.collect()
    assert _C._live() == before


@pytest.mark.parametrize("version", [None, (1, 0), (1, 7), (0, 5)])
def test_a_deleter_runs_once_when_the_last_tensor_goes(version):
    stranger = Capsule(version=version)
    x = torch.from_dlpack(stranger.capsule)
    view = x[1:]
    assert _name(stranger.capsule) == b"used_" + NAMES[version is not None]
    del x
    assert stranger.deleted == 0 and len(view) == 1
    del view
    assert stranger.deleted == 1


def test_a_capsule_can_be_taken_once():
    stranger = Capsule()
    kept = torch.from_dlpack(stranger.capsule)
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        torch.from_dlpack(stranger.capsule)
    assert stranger.deleted == 0 and kept.numel() == 2


def test_memory_between_elements_is_copied():
    stranger = Capsule(shift=1)
    x = torch.from_dlpack(stranger.capsule)
    assert stranger.deleted == 1
    assert x.view(torch.uint8)[1].item() - x.view(torch.uint8)[0].item() == 1


REFUSED = {
    "negative stride": {"strides": (-1,)},
    "negative size": {"shape": (-1,)},
    "sizes beyond int64": {"shape": (1 << 62, 1 << 62)},
    "bytes beyond all memory": {"shape": (1 << 60,)},
    "strides beyond all memory": {"strides": (1 << 61,)},
    "a huge stride of nothing": {"shape": (0, 1 << 62, 1 << 62)},
    "dimensions below 0": {"ndim": -1},
    "too many dimensions": {"ndim": 65},
    "elements without memory": {"data": None},
    "sizes without memory": {"shape": (2,), "ndim": 1, "no_shape": True},
    "lanes": {"lanes": 4},
    "bits": {"bits": 7},
    "no bits": {"bits": 0},
    "code": {"code": 99},
    "device": {"device": (99, 0)},
    "index of a device": {"device": (1, -5)},
    "offset": {"byte_offset": 8},
    "version": {"version": (2, 0)},
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_and_stays_with_its_owner(what):
    fields = dict(REFUSED[what])
    empty = fields.pop("no_shape", False)
    stranger = Capsule(**fields)
    if empty:
        stranger.described.tensor.shape = None
    with pytest.raises((BufferError, RuntimeError, ValueError)):
        torch.from_dlpack(stranger.capsule)
    assert stranger.deleted == 0 and not _name(stranger.capsule).startswith(b"used_")


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_failing_allocations_leak_nothing(version):
    gc.collect()
    before = _C._live()
    for n in itertools.count():
        stranger = Capsule(version=version, shift=n % 2)
        x = torch.zeros(3)
        _C._fail_alloc(n)
        try:
            kept = torch.from_dlpack(stranger.capsule), x.__dlpack__(max_version=version)
        except RuntimeError:
            kept = None
        finally:
            _C._fail_alloc(-1)
        if kept:
            break
        taken = _name(stranger.capsule).startswith(b"used_")
        assert stranger.deleted == taken
    assert n > 1
    del kept, x
    gc.collect()
    assert _C._live() == before and stranger.deleted == 1


class Old:
    """A producer that knows fewer arguments."""

    def __init__(self, known):
        self.known, self.asked = known, []

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **asked):
        self.asked.append(set(asked))
        if not asked.keys() <= self.known:
            raise TypeError("unknown")
        return torch.arange(3.0).__dlpack__()


@pytest.mark.parametrize("known", [set(), {"dl_device"}, {"copy"}, {"max_version"}, {"max_version", "copy"}])
def test_older_producers(known):
    old = Old(known)
    assert torch.from_dlpack(old).tolist() == [0, 1, 2]
    assert old.asked[0] == {"max_version"} and len(old.asked) == 2 - ("max_version" in known)
    assert torch.from_dlpack(Old(known | {"max_version", "copy"}), copy=True).tolist() == [0, 1, 2]


def test_a_lent_weight_is_always_read_anew():
    w, x = torch.zeros(64, 48), torch.ones(1, 48)
    a = np.from_dlpack(w)
    if not a.flags.writeable:  # as NumPy 1 has it
        a = w.numpy()
    for i in range(3):
        a[:] = i
        assert _C._nn.linear(x, w)[0, 0].item() == 48 * i
    borrowed = np.zeros((64, 48), np.float32)
    v = torch.from_dlpack(borrowed)
    for i in range(3):
        borrowed[:] = i
        assert _C._nn.linear(x, v)[0, 0].item() == 48 * i


def test_lent_memory_stays_where_it_is():
    x = torch.zeros(3)
    capsule = x.__dlpack__()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(1000)
    assert described(capsule).data == x.data_ptr()


def test_a_capsule_that_is_taken_while_another_takes_it():
    """What Python runs in between cannot take a capsule twice."""
    stranger = Capsule()

    class Producer:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            self.first = torch.from_dlpack(stranger.capsule)
            return stranger.capsule

    with pytest.raises(RuntimeError, match="consumed only once"):
        torch.from_dlpack(Producer())
    gc.collect()
    assert stranger.deleted == 1
