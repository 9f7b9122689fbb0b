"""Sparse and quantized tensors, lazy bits and typed parts of PyTorch's files, beside PyTorch itself."""

import io
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
