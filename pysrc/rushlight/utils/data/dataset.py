"""Datasets: what gives a sample for an index, and what gives one sample after the other."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from typing import Generic, Iterable, TypeVar  # noqa: UP035 - as __mro__ of IterableDataset has it

from rushlight import _missing
from rushlight._C import Tensor, default_generator, randperm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import Generator

__all__ = [
    *("ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset"),
    *("TensorDataset", "random_split"),
]
__getattr__ = _missing.lacks(__name__)

_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """What gives a sample for an index: subclasses write ``__getitem__``, and mostly ``__len__``.

    A subclass may also have ``__getitems__(indices)``, which takes the list of a batch's indices and
    returns the list of its samples. `PyTorch's page
    <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Dataset>`__
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """What gives samples in its own order: subclasses write ``__iter__``.

    In a DataLoader with workers each worker iterates over its own copy; ``get_worker_info()`` tells a copy
    which part of the samples is its own. `PyTorch's page
    <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.IterableDataset>`__
    """

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is the tuple of all tensors at i; their first dimensions must have one size.

    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.TensorDataset>`__
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _samples(dataset, indices):
    """Return the list of a dataset's samples, by its __getitems__ where it has one."""
    together = getattr(dataset, "__getitems__", None)
    return together(indices) if callable(together) else [dataset[i] for i in indices]


class StackDataset(Dataset):
    """Sample i is the tuple, or for keywords the dict, of the samples i of several datasets of one length.

    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.StackDataset>`__
    """

    datasets: tuple | dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        self.datasets = args or kwargs
        if not self.datasets:
            raise ValueError("At least one dataset should be passed")
        parts = self._parts()
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def _parts(self):
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def _sample(self, parts):
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([part[index] for part in self._parts()])

    def __getitems__(self, indices):
        columns = [_samples(part, indices) for part in self._parts()]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        return [self._sample(parts) for parts in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The samples of several datasets one after the other.

    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.ConcatDataset>`__
    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Any) -> Any:
        """Return where each dataset ends."""
        return list(itertools.accumulate(map(len, sequence)))

    def __init__(self, datasets: Any) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]

    @property
    def cummulative_sizes(self) -> Any:
        """The name that ``cumulative_sizes`` once had."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """The samples of several IterableDatasets one after the other.

    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.ChainDataset>`__
    """

    def __init__(self, datasets: Any) -> None:
        super().__init__()
        self.datasets = datasets

    def _each(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Any:
        for dataset in self._each():
            yield from dataset

    def __len__(self) -> int:
        return sum(map(len, self._each()))


class Subset(Dataset[_T_co]):
    """The samples of a dataset at ``indices``.

    A subclass that writes ``__getitem__`` must write ``__getitems__`` too, else NotImplementedError is
    raised: batches are taken by the latter. `PyTorch's page
    <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Subset>`__
    """

    dataset: Dataset[_T_co]

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override "
                "__getitems__ to ensure DataLoader works correctly with your custom logic. "
                "A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def _from_fractions(fractions, total):
    """Return whole lengths for fractions of 1; what rounding down leaves goes to the first ones, one each."""
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths


def random_split(
    dataset: Dataset, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> Any:
    """Return a list of Subsets that share out a dataset at random.

    ``lengths`` are numbers of samples whose sum is the dataset's length (else ValueError), or fractions
    whose sum is 1.
    `PyTorch's page <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.random_split>`__
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _from_fractions(lengths, len(dataset))
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]
