"""Dtypes that nothing computes with: stored, viewed, copied, shown, converted; refused elsewhere."""

import copy
import math
import pickle

import numpy as np
import pytest

import rushlight as torch

COMPLEX = ("complex32", "complex64", "complex128")
UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu")
FIXED = ("float4_e2m1fn_x2", "qint8", "quint8", "qint32", "quint4x2", "quint2x4")
BITS = ("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16")
CONVERTED = COMPLEX + UNSIGNED + FLOAT8 + FIXED + BITS


def bits_of(t):
    return bytes(torch._C._storage_bytes(t.contiguous()))


def from_bytes(data, dtype):
    memory = torch.from_numpy(np.frombuffer(data, np.uint8).copy()).clone()
    return torch._C._flat_tensor(memory.untyped_storage(), dtype)


def some(dtype, n=12):
    dtype = getattr(torch, dtype)
    return from_bytes(np.random.default_rng(3).bytes(n * dtype.itemsize), dtype)


@pytest.mark.parametrize("name", CONVERTED)
def test_what_moves_elements_works(name):
    t = some(name)
    size = t.dtype.itemsize
    rows = [bits_of(t)[i * size : (i + 1) * size] for i in range(12)]
    assert bits_of(t.clone()) == b"".join(rows)
    assert bits_of(t.view(3, 4).t()) == b"".join(rows[r * 4 + c] for c in range(4) for r in range(3))
    assert bits_of(t[2:9:3]) == rows[2] + rows[5] + rows[8]
    assert bits_of(torch.cat((t[:2], t[10:]))) == b"".join((*rows[:2], *rows[10:]))
    assert bits_of(torch.stack((t[0], t[1]))) == rows[0] + rows[1]
    assert bits_of(t[torch.tensor([3, -1])]) == rows[3] + rows[11]
    assert bits_of(t[:1].expand(3)) == rows[0] * 3
    assert bits_of(torch.zeros(3, dtype=t.dtype)) == bytes(3 * size)
    assert bits_of(torch.zeros_like(t)) == bytes(12 * size)
    target = torch.empty(12, dtype=t.dtype)
    target.copy_(t)
    target[1] = t[0]
    assert bits_of(target) == rows[0] * 2 + b"".join(rows[2:])
    assert target.dtype is t.dtype and str(t.dtype) == f"torch.{name}" and t.element_size() == size
    assert bits_of(copy.deepcopy(t)) == bits_of(pickle.loads(pickle.dumps(t))) == b"".join(rows)
    assert repr(t).startswith("tensor([") and len(t.tolist()) == 12


@pytest.mark.parametrize("name", CONVERTED)
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + x,
        lambda x: x * 2,
        lambda x: torch.ones(12) + x,
        lambda x: torch.exp(x),
        lambda x: x.sum(),
        lambda x: x.mean(),
        lambda x: x == x,
        lambda x: torch.where(x, x, x),
        lambda x: torch.where(torch.ones(12, dtype=torch.bool), torch.ones(12), x),
        lambda x: torch.zeros(12).masked_fill(torch.ones(12, dtype=torch.bool), x[0]),
        lambda x: torch.nn.functional.relu(x),
        lambda x: torch.nn.functional.linear(x, x),
        lambda x: torch.softmax(x, 0),
        lambda x: x.fill_(1),
        lambda x: torch.zeros(2).fill_(x[0]),
        lambda x: torch.arange(3, dtype=x.dtype),
        lambda x: torch.full((2,), 3, dtype=x.dtype),
        lambda x: torch.ones(2, dtype=x.dtype),
        lambda x: torch.rand(2, dtype=x.dtype),
        lambda x: x.sort(),
        lambda x: x.argmax(),
        lambda x: x.cumsum(0),
        lambda x: torch.ones(12).sum(0, dtype=x.dtype),
        lambda x: torch.set_default_dtype(x.dtype),
    ],
)
def test_what_computes_refuses(name, use):
    with pytest.raises((NotImplementedError, TypeError)) as caught:
        use(some(name))
    assert "not implemented for '" in str(caught.value) or "only floating-point types" in str(caught.value)


def test_indices_are_none_of_these():
    for name in CONVERTED:
        with pytest.raises(IndexError, match="tensors used as indices"):
            torch.zeros(3)[some(name)]


@pytest.mark.parametrize("name", FIXED + BITS)
def test_what_has_no_numbers_converts_to_nothing(name):
    for convert in (
        lambda t: t.to(torch.float32),
        lambda t: torch.ones(12).to(t.dtype),
        lambda t: t.nonzero(),
    ):
        with pytest.raises(NotImplementedError, match='"copy_" not implemented for'):
            convert(some(name))
    with pytest.raises(NotImplementedError, match="cannot be stored"):
        torch.tensor([1], dtype=getattr(torch, name))


def test_complex_numbers():
    values = [1.5 + 2j, 0j, complex(-3, -0.5), complex(math.inf, -math.inf)]
    for name in COMPLEX:
        t = torch.tensor(values, dtype=getattr(torch, name))
        assert t.tolist() == values and t.is_complex() and t.dtype.is_complex and not t.is_floating_point()
        assert t.to(torch.float32).tolist() == [1.5, 0.0, -3.0, math.inf]
        assert t.to(torch.bool).tolist() == [True, False, True, True]
        assert torch.tensor([1, 2]).to(t.dtype).tolist() == [1, 2]
        assert t[0].item() == 1.5 + 2j and t.requires_grad_().requires_grad
    assert torch.tensor(2j).dtype is torch.complex64
    assert repr(torch.tensor([1.5 + 2j, -0.25 - 1j])) == "tensor([ 1.5000+2.j, -0.2500-1.j])"
    assert repr(torch.tensor(1j, dtype=torch.complex128)) == "tensor(0.+1.j, dtype=torch.complex128)"
    array = np.array([1 + 2j, 3], dtype=np.complex64)
    assert torch.from_numpy(array).tolist() == array.tolist()
    assert np.array_equal(torch.from_numpy(array).numpy(), array)


def test_unsigned_numbers():
    for name, most in zip(UNSIGNED, (2**16 - 1, 2**32 - 1, 2**64 - 1), strict=True):
        dtype = getattr(torch, name)
        t = torch.tensor([0, 1, most], dtype=dtype)
        assert t.tolist() == [0, 1, most] and not dtype.is_signed and t.numpy().dtype == np.dtype(name)
        assert t.to(torch.float64).tolist() == [0, 1, float(most)]
        assert torch.tensor([-1, 5]).to(dtype).tolist() == [most, 5]
        for wrong in (-1, most + 1):
            with pytest.raises((RuntimeError, OverflowError, ValueError)):
                torch.tensor([wrong], dtype=dtype)
    assert torch.tensor([2.0**63]).to(torch.uint64).tolist() == [2**63]


# the first numbers beyond each limit, and ties, which go to the even code
FLOATS = {
    "float8_e5m2": [
        (0.0, 0),
        (-0.0, 0x80),
        (1.0, 0x3C),
        (57344.0, 0x7B),
        (61440.0, 0x7C),
        (2.0**-17, 0),
        (2.0**-16, 1),
    ],
    "float8_e4m3fn": [
        (0.0, 0),
        (-1.0, 0xB8),
        (448.0, 0x7E),
        (1e6, 0x7E),
        (2.0**-9, 1),
        (2.0**-10, 0),
        (1.0625, 0x38),
    ],
    "float8_e5m2fnuz": [(0.0, 0), (-0.0, 0), (1.0, 0x40), (57344.0, 0x7F), (65536.0, 0x80), (-(2.0**-30), 0)],
    "float8_e4m3fnuz": [(0.0, 0), (-1.0, 0xC0), (240.0, 0x7F), (248.0, 0x80), (2.0**-10, 1)],
    "float8_e8m0fnu": [(1.0, 127), (1.5, 128), (1.49, 127), (-4.0, 129), (math.inf, 255), (0.0, 0)],
}


@pytest.mark.parametrize("name", FLOAT8)
def test_small_floats(name):
    dtype = getattr(torch, name)
    values, codes = zip(*FLOATS[name], strict=True)
    assert list(bits_of(torch.tensor(values).to(dtype))) == list(codes)
    every = from_bytes(bytes(range(256)), dtype)
    wide = every.to(torch.float32)
    assert bits_of(wide.to(dtype))[:123] == bytes(range(123))
    assert every.tolist()[:123] == sorted(every.tolist()[:123]) and every.is_floating_point()
    assert sum(map(math.isnan, every.tolist())) == {"float8_e5m2": 6, "float8_e4m3fn": 2}.get(name, 1)
    assert bits_of(torch.tensor([math.nan]).to(dtype))[0] in (0x7F, 0x80, 0xFF)


def test_what_the_types_say():
    with pytest.raises(RuntimeError, match="Bits types are undefined"):
        assert torch.bits8.is_signed
    with pytest.raises(RuntimeError, match="not supported for quantized types"):
        assert torch.qint8.is_signed
    assert torch.float4_e2m1fn_x2.is_floating_point and torch.float8_e5m2.is_signed
    assert not torch.float8_e8m0fnu.is_signed and torch.complex32.itemsize == 4
    assert torch.zeros(1, dtype=torch.float8_e5m2).type() == "torch.Float8_e5m2Tensor"
    for name in ("qint8", "uint16", "bits8"):
        with pytest.raises(RuntimeError, match="can require gradients"):
            torch.zeros(1, dtype=getattr(torch, name)).requires_grad_()
