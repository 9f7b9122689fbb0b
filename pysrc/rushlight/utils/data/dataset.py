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
__getattr__ = _missing.module_getattr(__name__)

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Represent a dataset whose samples are taken by their index: a map-style dataset.

    The base class. A subclass defines ``__getitem__(index)`` and, for samplers, ``__len__()``. It may define
    ``__getitems__(indices)``, which returns the list of a batch's samples at once. ``a + b`` concatenates.

    Notes
    -----
    Same as torch.utils.data.Dataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Dataset

    Examples
    --------
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index, index**2
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [[tensor([0, 1]), tensor([0, 1])], [tensor([2, 3]), tensor([4, 9])]]
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> ConcatDataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Represent a dataset that gives its samples one after the other: a stream.

    The base class. A subclass defines ``__iter__()``. In a `DataLoader` with workers each has its own copy
    and iterates over all of it, unless ``__iter__`` asks get_worker_info() for its part. ``a + b`` chains.

    Notes
    -----
    Same as torch.utils.data.IterableDataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.IterableDataset

    Examples
    --------
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         info = torch.utils.data.get_worker_info()
    ...         first, step = (0, 1) if info is None else (info.id, info.num_workers)
    ...         return iter(range(first, 5, step))
    >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __add__(self, other: Dataset[_T_co]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Represent a dataset of tensors: sample i is the tuple of all tensors at index i.

    Parameters
    ----------
    *tensors : Tensor
        Tensors whose first dimensions have the same size.

    Raises
    ------
    AssertionError
        If these sizes differ.

    Notes
    -----
    Same as torch.utils.data.TensorDataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.TensorDataset

    Examples
    --------
    >>> dataset = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 1, 0]))
    >>> len(dataset)
    3
    >>> dataset[1]
    (tensor([2., 3.]), tensor(1))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _samples(dataset, indices):
    """Return the list of a dataset's samples, by its __getitems__ where it has one."""
    together = getattr(dataset, "__getitems__", None)
    return together(indices) if callable(together) else [dataset[i] for i in indices]


class StackDataset(Dataset):
    """Represent several datasets side by side: sample i is the tuple or dict of their samples i.

    Parameters
    ----------
    *args : Dataset
        Datasets of one length, for tuples.
    **kwargs : Dataset
        Datasets of one length by name, for dicts.

    Raises
    ------
    ValueError
        If there is no dataset, lengths differ, or both kinds are given.

    Notes
    -----
    Same as torch.utils.data.StackDataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.StackDataset

    Examples
    --------
    >>> dataset = torch.utils.data.StackDataset(image=["a", "b"], label=[0, 1])
    >>> dataset[1]
    {'image': 'b', 'label': 1}
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
    """Represent several map-style datasets one after the other, as one dataset.

    Parameters
    ----------
    datasets : iterable of Datasets
        Datasets, in their order.

    Raises
    ------
    AssertionError
        If there is none, or one is an `IterableDataset`.

    Notes
    -----
    Same as torch.utils.data.ConcatDataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.ConcatDataset

    Examples
    --------
    >>> dataset = torch.utils.data.ConcatDataset([[1, 2, 3], [10, 20]])
    >>> len(dataset), dataset[3]
    (5, 10)
    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Any) -> Any:
        """Return where each dataset ends."""
        return list(itertools.accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> _T_co:
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
    """Represent several IterableDatasets one after the other, as one dataset.

    Parameters
    ----------
    datasets : iterable of IterableDatasets
        Datasets, in their order.

    Raises
    ------
    AssertionError
        When iterated over, if one is no `IterableDataset`.

    Notes
    -----
    Same as torch.utils.data.ChainDataset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.ChainDataset

    Examples
    --------
    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __init__(self, *bounds):
    ...         self.bounds = bounds
    ...     def __iter__(self):
    ...         return iter(range(*self.bounds))
    >>> list(torch.utils.data.ChainDataset([Count(3), Count(10, 12)]))
    [0, 1, 2, 10, 11]
    """

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
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
    """Represent the samples of a dataset at given indices.

    A subclass that defines ``__getitem__`` defines ``__getitems__`` too: batches are taken by the latter.

    Parameters
    ----------
    dataset : Dataset
        Map-style dataset.
    indices : sequence of ints
        Indices of the samples.

    Raises
    ------
    NotImplementedError
        If a subclass defines ``__getitem__`` alone.

    Notes
    -----
    Same as torch.utils.data.Subset:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Subset

    Examples
    --------
    >>> subset = torch.utils.data.Subset(["a", "b", "c", "d"], [3, 1])
    >>> list(subset)
    ['d', 'b']
    """

    dataset: Dataset[_T_co]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
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

    def __getitem__(self, idx: Any) -> _T_co:
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
    dataset: Dataset[_T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[_T]]:
    """Split a dataset at random into parts that share no sample, e.g. for training and validation.

    Parameters
    ----------
    dataset : Dataset
        Map-style dataset.
    lengths : sequence of ints or floats
        Numbers of samples, which sum to the length of the dataset, or fractions, which sum to 1.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    list of Subsets
        The parts.

    Raises
    ------
    ValueError
        If the sum is another, or a fraction is not in [0, 1].

    Notes
    -----
    Same as torch.utils.data.random_split:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.random_split

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> train, valid = torch.utils.data.random_split(range(10), [0.8, 0.2], generator=generator)
    >>> len(train), len(valid)
    (8, 2)
    >>> list(valid)
    [6, 2]
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
