"""Sequences of different lengths as one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import rushlight
from rushlight import _missing
from rushlight._C import _nn

from ._packed import (  # noqa: F401
    PackedSequence,
    PackedSequence_,
    _packed_sequence_init,
    _packed_sequence_init_args,
    bind,
    invert_permutation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpad_sequence",
    "pack_sequence",
    "unpack_sequence",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences of different lengths for a recurrent layer, which then skips the padding.

    Parameters
    ----------
    input : Tensor
        Padded sequences, (T, B, *) or, with `batch_first`, (B, T, *).
    lengths : Tensor or list of ints
        Lengths of the sequences, (B); a tensor is on the CPU.
    batch_first : bool, default False
        Whether the batch is the first dimension.
    enforce_sorted : bool, default True
        The lengths are in decreasing order; with False the sequences are sorted first.

    Returns
    -------
    PackedSequence
        The packed sequences.

    Raises
    ------
    RuntimeError
        If the lengths are not in decreasing order or do not fit.

    Notes
    -----
    Same as torch.nn.utils.rnn.pack_padded_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_padded_sequence.html

    Examples
    --------
    >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> packed = nn.utils.rnn.pack_padded_sequence(padded, [3, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    if isinstance(lengths, rushlight.Tensor):
        lengths = lengths.to(dtype=rushlight.int64)
    else:
        lengths = rushlight.as_tensor(lengths, dtype=rushlight.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = rushlight.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = rushlight._VF._pack_padded_sequence(input, lengths, batch_first)
    return _packed_sequence_init(data, batch_sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences: the inverse of pack_padded_sequence(), e.g. for the output of a recurrent layer.

    Parameters
    ----------
    sequence : PackedSequence
        Packed sequences.
    batch_first : bool, default False
        Whether the batch is the first dimension of the result or the second.
    padding_value : float, default 0.0
        What is put where a sequence is shorter.
    total_length : int, optional
        Length to pad to; the largest length if not given.

    Returns
    -------
    tuple of 2 Tensors
        The padded sequences, (T, B, *) or (B, T, *), and their lengths, (B).

    Raises
    ------
    ValueError
        If `total_length` is less than the largest length.

    Notes
    -----
    Same as torch.nn.utils.rnn.pad_packed_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_packed_sequence.html

    Examples
    --------
    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = rushlight._VF._pad_packed_sequence(
        sequence.data,
        sequence.batch_sizes,
        batch_first,
        padding_value,
        longest if total_length is None else total_length,
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences of different lengths for a recurrent layer.

    Parameters
    ----------
    sequences : list of Tensors
        Sequences, (L_i, *).
    enforce_sorted : bool, default True
        The lengths are in decreasing order; with False the sequences are sorted first.

    Returns
    -------
    PackedSequence
        The packed sequences.

    Raises
    ------
    RuntimeError
        If the lengths are not in decreasing order.

    Notes
    -----
    Same as torch.nn.utils.rnn.pack_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_sequence.html

    Examples
    --------
    >>> sequences = [torch.ones(2, 4), torch.ones(3, 4)]
    >>> packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    >>> output, _ = nn.RNN(4, 5)(packed)
    >>> output.data.shape
    torch.Size([5, 5])
    """
    lengths = rushlight.as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Unpack packed sequences into a list of tensors: the inverse of pack_sequence().

    Parameters
    ----------
    packed_sequences : PackedSequence
        Packed sequences.

    Returns
    -------
    list of Tensors
        The sequences.

    Notes
    -----
    Same as torch.nn.utils.rnn.unpack_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.unpack_sequence.html

    Examples
    --------
    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
    >>> nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2, 3]), tensor([4])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad sequences of different lengths and stack them.

    Parameters
    ----------
    sequences : list of Tensors
        Sequences, (L_i, *), equal in all other dimensions.
    batch_first : bool, default False
        Whether the batch is the first dimension of the result or the second.
    padding_value : float, default 0.0
        What is put where a sequence is shorter.
    padding_side : {'right', 'left'}, default 'right'
        At which end.

    Returns
    -------
    Tensor
        (T, B, *) or (B, T, *), where T is the largest length.

    Raises
    ------
    RuntimeError
        If there is no sequence, or other dimensions differ.

    Notes
    -----
    Same as torch.nn.utils.rnn.pad_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_sequence.html

    Examples
    --------
    >>> a, b = torch.tensor([1, 2, 3]), torch.tensor([4])
    >>> nn.utils.rnn.pad_sequence([a, b], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return _nn.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Split padded sequences into a list of tensors: what pad_sequence() was made of.

    Parameters
    ----------
    padded_sequences : Tensor
        (T, B, *) or, with `batch_first`, (B, T, *). Without it the first two dimensions are exchanged in
        place.
    lengths : Tensor
        Lengths of the sequences, (B).
    batch_first : bool, default False
        Whether the batch is the first dimension.

    Returns
    -------
    list of Tensors
        The sequences.

    Notes
    -----
    Same as torch.nn.utils.rnn.unpad_sequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.unpad_sequence.html

    Examples
    --------
    >>> padded = torch.tensor([[1, 2, 3], [4, 0, 0]])
    >>> nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 1]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4])]
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = rushlight.arange(padded_sequences.shape[1], device=lengths.device)
    return [each[places < length] for each, length in zip(padded_sequences, lengths, strict=True)]
