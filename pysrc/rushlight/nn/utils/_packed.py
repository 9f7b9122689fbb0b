"""PackedSequence: sequences of decreasing lengths, step by step."""

from __future__ import annotations

from typing import NamedTuple

import rushlight
from rushlight._homes import adopt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        from rushlight.nn.modules._parse_to import parse_to

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


adopt(
    "rushlight.nn.utils.rnn",
    *(PackedSequence_, PackedSequence, bind, invert_permutation),
    *(_packed_sequence_init_args, _packed_sequence_init),
)
