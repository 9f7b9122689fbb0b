"""Sequences of different lengths as one tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import rushlight
from rushlight import _missing
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


# ---- packedSequence: sequences of decreasing lengths, step by step ----
_INSTANCES = "Instances of PackedSequence should never be created manually. "


class PackedSequence_(NamedTuple):
    data: rushlight.Tensor
    batch_sizes: rushlight.Tensor
    sorted_indices: rushlight.Tensor | None
    unsorted_indices: rushlight.Tensor | None


def bind(optional: Any, fn: Any) -> Any:
    """Return fn(optional), or None for None."""
    return None if optional is None else fn(optional)


def invert_permutation(permutation: Any) -> Any:
    """Invert a permutation; None gives None.

    Parameters
    ----------
    permutation : Tensor or None
        The numbers from 0 to N - 1 in some order, (N).

    Returns
    -------
    Tensor or None
        Where each number stands, (N).

    Examples
    --------
    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    output = rushlight.empty_like(permutation, memory_format=rushlight.contiguous_format)
    return output.scatter_(0, permutation, rushlight.arange(permutation.numel(), device=permutation.device))


class PackedSequence(PackedSequence_):
    """Hold packed sequences of different lengths, as recurrent layers take and return them.

    pack_padded_sequence() and pack_sequence() make them.

    Attributes
    ----------
    data : Tensor
        The first elements of all sequences, then the second ones, and so on, (sum of lengths, *).
    batch_sizes : Tensor
        How many sequences have a first element, a second one, and so on; int64, on the CPU.
    sorted_indices : Tensor or None
        Which sequence of the batch each one is, in decreasing order of their lengths.
    unsorted_indices : Tensor or None
        Where each sequence of the batch stands in that order.

    Notes
    -----
    Same as torch.nn.utils.rnn.PackedSequence:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.rnn.PackedSequence.html

    Examples
    --------
    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        parts = _packed_sequence_init_args(data, batch_sizes, sorted_indices, unsorted_indices)
        return super().__new__(cls, *parts)

    def pin_memory(self) -> Any:
        """Return a copy whose data and indices lie in pinned memory."""
        return self._with(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def _with(self, data, move):
        """The same sequences of other data; batch_sizes stays on the CPU."""
        indices = bind(self.sorted_indices, move), bind(self.unsorted_indices, move)
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return self with the data as ``data.to(...)`` gives it, and the indices on its device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        from rushlight.nn.modules._to import parse_to

        _, _, non_blocking, memory_format = parse_to(args, kwargs)
        options = {} if memory_format is None else {"memory_format": memory_format}
        return self._with(
            data, lambda indices: indices.to(data.device, non_blocking=bool(non_blocking), **options)
        )

    def _on(self, device, args, kwargs):
        """to(...), with ``device`` unless the arguments have a device of that type."""
        probe = rushlight.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        if probe.device.type != device:
            kwargs["device"] = device
        return self.to(*args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """Return self on a GPU."""
        return self._on("cuda", args, kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Any:
        """Return self on the CPU."""
        return self._on("cpu", args, kwargs)

    def double(self) -> Any:
        """Return self with data of float64."""
        return self.to(dtype=rushlight.float64)

    def float(self) -> Any:
        """Return self with data of float32."""
        return self.to(dtype=rushlight.float32)

    def half(self) -> Any:
        """Return self with data of float16."""
        return self.to(dtype=rushlight.float16)

    def long(self) -> Any:
        """Return self with data of int64."""
        return self.to(dtype=rushlight.int64)

    def int(self) -> Any:
        """Return self with data of int32."""
        return self.to(dtype=rushlight.int32)

    def short(self) -> Any:
        """Return self with data of int16."""
        return self.to(dtype=rushlight.int16)

    def char(self) -> Any:
        """Return self with data of int8."""
        return self.to(dtype=rushlight.int8)

    def byte(self) -> Any:
        """Return self with data of uint8."""
        return self.to(dtype=rushlight.uint8)

    @property
    def is_cuda(self) -> Any:
        """Does the data lie on a GPU?"""
        return self.data.is_cuda

    def is_pinned(self) -> Any:
        """Does the data lie in pinned memory?"""
        return self.data.is_pinned()


def _packed_sequence_init_args(data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
    """The four parts; without batch_sizes ``data`` is a pair of both, as older scripts have it."""
    if unsorted_indices is None:
        unsorted_indices = invert_permutation(sorted_indices)
    if batch_sizes is None:
        if not (isinstance(data, (list, tuple)) and len(data) == 2):
            raise AssertionError("Expected data to be a list or tuple of length 2")
        data, batch_sizes = data
    elif batch_sizes.device.type != "cpu":
        raise ValueError(
            f"batch_sizes should always be on CPU. {_INSTANCES}They should be instantiated by functions like "
            "pack_sequence and pack_padded_sequences in nn.utils.rnn. "
            "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
        )
    return data, batch_sizes, sorted_indices, unsorted_indices


def _packed_sequence_init(data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
    return PackedSequence(data, batch_sizes, sorted_indices, unsorted_indices)


__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


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
