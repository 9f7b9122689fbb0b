"""Conversions and texts of the dtypes that nothing computes with, bit for bit beside PyTorch."""

import io
import warnings

import numpy as np
import pytest
import torch

import rushlight

CONVERTED = [
    *("complex32", "complex64", "complex128", "uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn"),
    *("float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu"),
]
PLAIN = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool"]
SMALL = [n for n in CONVERTED if n.startswith("float8")]


def torch_bytes(t):
    return t.contiguous().view(torch.uint8).numpy().tobytes()


def our_bytes(t):
    return bytes(rushlight._C._storage_bytes(t.contiguous()))


def both(array):
    return torch.from_numpy(array.copy()), rushlight.from_numpy(array.copy())


def numbers(dtype):
    rng = np.random.default_rng(0)
    if dtype == "int64":
        edges = [0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**62, -(2**63)]
        return np.array([*edges, *rng.integers(-1000, 1000, 200)])
    edges = [0.0, -0.0, 1, -1, 240, 247, 248, 448, 463, 464, 465, 480, 57344, 61440, 61441, 65504]
    edges += [2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-16, 1.5 * 2.0**-17, 2.0**-127, 2.0**-128, 1e-40]
    return np.array([*edges, *rng.standard_normal(300), *rng.uniform(-60000, 60000, 300)]).astype(dtype)


@pytest.mark.parametrize("target", CONVERTED)
@pytest.mark.parametrize("source", ["float64", "float32", "int64"])
def test_into(source, target):
    values = numbers(source)
    if target in ("uint16", "uint32", "uint64") and source != "int64":
        values = np.abs(values)  # a negative float has no defined unsigned value in C
    theirs, ours = both(values)
    converted = theirs.to(getattr(torch, target)), ours.to(getattr(rushlight, target))
    assert torch_bytes(converted[0]) == our_bytes(converted[1])


def file_of(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def same_as(t):
    return rushlight.load(io.BytesIO(file_of([t])))[0]


def without_nan(t):
    wide = t.to(torch.complex128)
    return t[torch.isfinite(wide.real) & torch.isfinite(wide.imag)]


@pytest.mark.parametrize("source", CONVERTED)
def test_out_of(source):
    dtype = getattr(torch, source)
    raw = np.random.default_rng(1).integers(0, 256, 300 * dtype.itemsize).astype(np.uint8)
    raw = np.arange(256, dtype=np.uint8) if source in SMALL else raw
    theirs = without_nan(torch.from_numpy(raw).view(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the imaginary part is discarded
        for target in (*CONVERTED, *(("float16", "float32", "float64", "bool") if "c" in source else PLAIN)):
            if target in ("uint16", "uint32", "uint64") and not source.startswith("uint"):
                continue
            ours = same_as(theirs).to(getattr(rushlight, target))
            assert torch_bytes(theirs.to(getattr(torch, target))) == our_bytes(ours), target


@pytest.mark.parametrize("name", [n for n in CONVERTED if n != "float8_e8m0fnu"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 3, 2), (0, 2), (1200,)])
def test_texts(name, shape):
    values = np.random.default_rng(2).uniform(0, 9, shape) * 10
    for scale in (1, 1e4) if name[0] == "c" else (1,):
        array = values * scale + (1j * values[..., ::-1] if values.ndim else 2j) if name[0] == "c" else values
        theirs = torch.from_numpy(np.asarray(array)).to(getattr(torch, name))
        assert repr(same_as(theirs)) == repr(theirs)
        assert same_as(theirs).tolist() == theirs.tolist()


@pytest.mark.parametrize("name", [*CONVERTED, *PLAIN, "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"])
def test_every_dtype_of_a_file(name):
    dtype = getattr(torch, name)
    raw = torch.from_numpy(np.random.default_rng(3).integers(0, 2, 24 * dtype.itemsize).astype(np.uint8))
    theirs = raw.view(dtype).view(4, 6).t()[1:]
    ours = same_as(theirs)
    assert (ours.stride(), ours.storage_offset()) == (theirs.stride(), theirs.storage_offset())
    assert our_bytes(ours) == torch_bytes(theirs) and str(ours.dtype) == str(theirs.dtype)
