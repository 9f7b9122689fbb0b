"""Sparse and quantized tensors, lazy bits and typed parts of PyTorch's files, beside PyTorch itself."""

import io
import pathlib
import pickle
import warnings

import numpy as np
import pytest
import torch

import rushlight

warnings.simplefilter("ignore")


def loaded(value, **options):
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return rushlight.load(io.BytesIO(buffer.getvalue()))


def dense():
    torch.manual_seed(0)
    return torch.where(torch.rand(4, 6) < 0.4, torch.randn(4, 6), torch.zeros(4, 6))


MAKERS = {
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
    "bsr": lambda t: t.to_sparse_bsr((2, 3)),
    "bsc": lambda t: t.to_sparse_bsc((2, 3)),
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", MAKERS)
def test_sparse(kind, zipped):
    theirs = MAKERS[kind](dense())
    ours = loaded({"a": theirs, "b": [theirs]}, _use_new_zipfile_serialization=zipped)
    assert ours["a"] is ours["b"][0]
    ours = ours["a"]
    assert np.array_equal(ours.to_dense().numpy(), dense().numpy())
    assert (tuple(ours.shape), str(ours.dtype), str(ours.layout)) == (
        (4, 6),
        "torch.float32",
        str(theirs.layout),
    )
    assert ours._nnz() == theirs._nnz() and ours.values().tolist() == theirs.values().tolist()
    if kind in ("coo", "csr"):
        assert repr(ours) == repr(theirs)


def test_coordinates_may_repeat_and_values_have_dimensions():
    indices, values = torch.tensor([[0, 2, 0]]), torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    theirs = torch.sparse_coo_tensor(indices, values, (3, 2))
    ours = loaded(theirs)
    assert not ours.is_coalesced() and np.array_equal(ours.to_dense().numpy(), theirs.to_dense().numpy())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.complex64, torch.bool])
def test_sparse_dtypes(dtype):
    theirs = dense().to(dtype).to_sparse()
    assert loaded(theirs).to_dense().tolist() == theirs.to_dense().tolist()


def test_sparse_indices_are_checked():
    for indices in ([[0, 7]], [[-1, 0]]):
        bad = torch.sparse_coo_tensor(torch.tensor(indices), torch.ones(2), (3,), check_invariants=False)
        with pytest.raises(RuntimeError, match="index is out of range"):
            loaded(bad)
    for crow, col in (([0, 9, 2], [0, 1]), ([0, 1, 2], [0, 5]), ([0, 2, 2], [1, 0]), ([1, 1, 2], [0, 1])):
        parts = torch.tensor(crow), torch.tensor(col), torch.ones(2)
        bad = torch.sparse_csr_tensor(*parts, (2, 3), check_invariants=False)
        with pytest.raises(RuntimeError, match="a sparse tensor is malformed"):
            loaded(bad)


def test_quantized():
    values = torch.randn(3, 4)
    for dtype in (torch.qint8, torch.quint8, torch.qint32):
        theirs = torch.quantize_per_tensor(values, 0.1, 5, dtype)
        ours = loaded(theirs)
        assert ours.int_repr().tolist() == theirs.int_repr().tolist()
        assert np.allclose(ours.dequantize().numpy(), theirs.dequantize().numpy())
        assert (ours.q_scale(), ours.q_zero_point(), str(ours.dtype)) == (0.1, 5, str(dtype))
    scales, zeros = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64), torch.tensor([1, 2, 3])
    theirs = torch.quantize_per_channel(values, scales, zeros, 0, torch.qint8)
    ours = loaded(theirs)
    assert np.allclose(ours.dequantize().numpy(), theirs.dequantize().numpy())
    assert ours.q_per_channel_axis() == 0 and ours.q_per_channel_scales().tolist() == scales.tolist()


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
def test_conjugate_and_negative_bits(dtype):
    z = torch.tensor([[1 + 2j, -3j], [4, 0.5 - 1j]], dtype=dtype)
    lazy = [z.conj(), z.t().conj(), z.conj()[1], z.view(2, 2).conj().clone().conj()]
    for theirs, ours in zip(lazy, loaded(lazy), strict=True):
        assert ours.tolist() == theirs.tolist()
    negative = z.conj().imag
    assert negative.is_neg() and loaded(negative).tolist() == negative.tolist()


def test_layouts_on_their_own():
    kinds = [torch.strided, torch.sparse_coo, torch.sparse_csr, torch.sparse_bsc]
    assert [str(k) for k in loaded(kinds)] == [str(k) for k in kinds]
    assert loaded(torch.strided) is rushlight.strided


# ---- back again, and where the file is trusted ----


def saved(library, value, **options):
    buffer = io.BytesIO()
    library.save(value, buffer, **options)
    return io.BytesIO(buffer.getvalue())


def quantized(dtype=torch.qint8):
    return torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 5, dtype)


def by_channel(dtype=torch.qint8, zero=torch.int64):
    scales, zeros = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64), torch.tensor([1, 2, 3], dtype=zero)
    return torch.quantize_per_channel(torch.randn(3, 4), scales, zeros, 0, dtype)


SHARED = torch.randn(3, 4, dtype=torch.complex64)
VALUES = {
    **{kind: lambda make=make: make(dense()) for kind, make in MAKERS.items()},
    "twice": lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,)),
    "rows": lambda: torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 2), (3, 2)),
    "empty": lambda: torch.zeros(2, 3).to_sparse(),
    "qint8": quantized,
    "quint8": lambda: quantized(torch.quint8),
    "qint32": lambda: quantized(torch.qint32),
    "turned": lambda: quantized().t(),
    "channels": by_channel,
    "float zeros": lambda: by_channel(torch.quint8, torch.float32),
    "half bytes": lambda: by_channel(torch.quint4x2, torch.float32),
    "quarter bytes": lambda: by_channel(torch.quint2x4, torch.float32),
    "conj": lambda: SHARED.t().conj(),
    "neg": lambda: SHARED.conj().imag[1:],
    "scheme": lambda: [torch.per_tensor_affine, torch.per_channel_symmetric],
    "layout": lambda: torch.sparse_bsc,
    "meta": lambda: torch.ones(3, 2, device="meta").t(),
    "aliases": lambda: [torch.cfloat, torch.cdouble, torch.chalf],
}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", VALUES)
def test_both_ways(kind, zipped, trusted):
    """With a class of the user's in the file, Python's unpickler reads it instead of ours."""
    value = VALUES[kind]()
    options = {"_use_new_zipfile_serialization": zipped}
    extra = pathlib.PurePosixPath("x") if trusted else None
    data = saved(torch, [value, value, extra], **options)
    if trusted:
        with pytest.raises(pickle.UnpicklingError, match="PurePosixPath"):
            rushlight.load(data)
        data.seek(0)
    ours = rushlight.load(data, weights_only=not trusted)
    assert ours[0] is ours[1] and ours[2] == extra
    back = torch.load(saved(rushlight, ours[0], **options), weights_only=True)
    assert repr(back) == repr(value)
    if isinstance(value, torch.Tensor):
        assert back.dtype is value.dtype and back.layout is value.layout
        if value.is_quantized and "bytes" not in kind:
            assert repr(ours[0]) == repr(value)


def test_quantized_texts_are_pytorchs():
    for make in (quantized, by_channel, lambda: quantized(torch.qint32)):
        theirs = make()
        assert repr(loaded(theirs)) == repr(theirs)


@pytest.mark.parametrize("trusted", [False, True])
def test_what_is_not_built_is_refused_by_name(trusted):
    extra = pathlib.PurePosixPath("x") if trusted else None
    parts = [torch.ones(2), torch.ones(3)]
    for value, name in (
        (torch.nested.nested_tensor(parts), "nested tensors"),
        (torch.nested.nested_tensor(parts, layout=torch.jagged), "nested tensors"),
        (torch.nn.Parameter(dense().to_sparse()), "Parameters of sparse"),
        (torch.nn.Parameter(quantized(), requires_grad=False), "Parameters of sparse or quantized"),
    ):
        with pytest.raises(RuntimeError, match=f"rushlight does not support {name}"):
            rushlight.load(saved(torch, [extra, value]), weights_only=not trusted)


def test_bad_indices_are_refused_where_the_file_is_trusted_too():
    bad = torch.sparse_coo_tensor(torch.tensor([[0, 7]]), torch.ones(2), (3,), check_invariants=False)
    for zipped in (True, False):
        data = saved(torch, [pathlib.PurePosixPath("x"), bad], _use_new_zipfile_serialization=zipped)
        with pytest.raises(RuntimeError, match="an index is out of range"):
            rushlight.load(data, weights_only=False)


def test_parts_of_storages_share_memory_with_the_whole():
    """Slices of storages exist in the older format only; PyTorch reads them as we do."""
    from helpers import files as kit

    part = kit.storage(more=kit.many(kit.text("part"), kit.number(1), kit.number(2)))
    whole = kit.storage(more=kit.NONE)
    for extra in (kit.NONE, kit.name("pathlib", "PurePosixPath") + kit.many(kit.text("x")) + kit.REDUCE):
        data = kit.stream(kit.listing(part, kit.tensor(whole), kit.tensor(part, size=(2,)), extra))
        ours = rushlight.load(io.BytesIO(data), weights_only=extra == kit.NONE)
        theirs = torch.load(io.BytesIO(data), weights_only=extra == kit.NONE)
        assert list(ours[0]) == list(theirs[0]) and ours[2].tolist() == theirs[2].tolist()
        for found in (ours, theirs):
            found[0][1] = 7.0
            assert found[1][2] == found[2][1] == 7.0
        again = rushlight.load(saved(rushlight, ours[0]))
        assert list(again) == list(ours[0]) and again.dtype is rushlight.float32
