"""Sequences of different lengths as one tensor."""

from __future__ import annotations

from collections.abc import Iterable

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
    """Pack padded sequences (T, B, ...), or (B, T, ...) if ``batch_first``, whose lengths (B,) are given.

    Lengths are a list or an int64 tensor on the CPU, in decreasing order; unless ``enforce_sorted``, the
    sequences are sorted first. Raises RuntimeError for other lengths, and for those that do not fit the
    batch.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_padded_sequence.html
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
    """Return packed sequences as a padded tensor, in the order of their batch, and their lengths.

    The tensor is (T, B, ...), or (B, T, ...) if ``batch_first``; T is the longest length or ``total_length``.
    Raises ValueError where that is shorter.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_packed_sequence.html
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


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors (L_i, ...) of decreasing lengths, or of any if not ``enforce_sorted``.

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pack_sequence.html
    """
    lengths = rushlight.as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the list of tensors that were packed.

    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.unpack_sequence.html
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack tensors (L_i, *) to one of (T, B, *), or (B, T, *) if ``batch_first``; T is the longest L_i.

    What is missing is ``padding_value``, at the 'right' or 'left' end. The dtype is that of the first one.
    Raises RuntimeError when there is no sequence, or when the other dims differ.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_sequence.html
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    return _nn.pad_sequence(tuple(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of what pad_sequence() gave, by their lengths (B,), int64.

    As in PyTorch, the first two dims of the argument are exchanged in place unless ``batch_first``.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.unpad_sequence.html
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = rushlight.arange(padded_sequences.shape[1], device=lengths.device)
    return [each[places < length] for each, length in zip(padded_sequences, lengths, strict=True)]
