"""Sequences of different lengths as one tensor."""

from collections.abc import Iterable

import rushlight
from rushlight import _missing

__all__ = ["pad_sequence", "unpad_sequence"]
__getattr__ = _missing.lacks(__name__)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack tensors (L_i, *) to one of (T, B, *), or (B, T, *) if ``batch_first``; T is the longest L_i.

    What is missing is ``padding_value``, at the 'right' or 'left' end. The dtype is that of the first one.
    Raises RuntimeError when there is no sequence, or when the other dims differ.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.pad_sequence.html
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for i, each in enumerate(sequences):
        if not isinstance(each, rushlight.Tensor):
            name = type(each).__name__
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {name}")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if sequences[0].dim() == 0:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest = max(each.size(0) for each in sequences)
    sizes = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = sequences[0].new_full((*sizes, *sequences[0].shape[1:]), padding_value)
    for i, each in enumerate(sequences):
        start = longest - each.size(0) if padding_side == "left" else 0
        out.select(0 if batch_first else 1, i).narrow(0, start, each.size(0)).copy_(each)
    return out


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Return the sequences of what pad_sequence() gave, by their lengths (B,), int64.

    As in PyTorch, the first two dims of the argument are exchanged in place unless ``batch_first``.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.unpad_sequence.html
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = rushlight.arange(padded_sequences.shape[1], device=lengths.device)
    return [each[places < length] for each, length in zip(padded_sequences, lengths, strict=True)]
