"""Samplers: in which order the indices of a dataset come."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import rushlight
from rushlight import _missing
from rushlight._C import Generator, empty, int64, multinomial, randint, randperm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

__all__ = [
    *("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler"),
    "WeightedRandomSampler",
]
__getattr__ = _missing.module_getattr(__name__)

_T_co = TypeVar("_T_co", covariant=True)


def _draw_seed(generator=None):
    """Draw a seed: one number of the generator, the default one without it."""
    return empty((), dtype=int64).random_(generator=generator).item()


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Sampler(Generic[_T_co]):
    """Represent the order in which the samples of a dataset are taken.

    The base class. A subclass defines ``__iter__()``, which gives indices or, for `batch_sampler`, lists of
    indices, and mostly ``__len__()``.

    Notes
    -----
    Same as torch.utils.data.Sampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.Sampler

    Examples
    --------
    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __init__(self, dataset):
    ...         self.dataset = dataset
    ...     def __iter__(self):
    ...         return iter(range(len(self.dataset) - 1, -1, -1))
    ...     def __len__(self):
    ...         return len(self.dataset)
    >>> data = [1, 2, 3]
    >>> list(torch.utils.data.DataLoader(data, sampler=Backwards(data)))
    [tensor([3]), tensor([2]), tensor([1])]
    """

    def __iter__(self) -> Any:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """Sample all indices of a dataset in order.

    Parameters
    ----------
    data_source : Dataset
        Dataset, which has a length.

    Notes
    -----
    Same as torch.utils.data.SequentialSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.SequentialSampler

    Examples
    --------
    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Sample the indices of a dataset in random order, with or without replacement.

    Parameters
    ----------
    data_source : Dataset
        Dataset, which has a length.
    replacement : bool, default False
        Draw each index from all: one may come again before another has come.
    num_samples : int, optional
        Number of indices; the length of the dataset if not given.
    generator : Generator, optional
        Source of random numbers. Without it each iteration has one of its own, seeded by the default one.

    Raises
    ------
    TypeError
        If `replacement` is no bool.
    ValueError
        If `num_samples` is no positive int.

    Notes
    -----
    Same as torch.utils.data.RandomSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.RandomSampler

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.RandomSampler(range(5), generator=generator))
    [4, 0, 1, 3, 2]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        count = self.num_samples
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={count}")

    @property
    def num_samples(self) -> Any:
        """How many indices an iteration gives: as many as there are now, if no number was given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(_draw_seed())
        if self.replacement:
            # 32 at a time, as PyTorch: the stream is the same for any number
            for start in range(0, self.num_samples // 32 * 32 + 1, 32):
                count = min(32, self.num_samples - start)
                yield from randint(high=n, size=(count,), dtype=int64, generator=generator).tolist()
            return
        rounds, rest = divmod(self.num_samples, n)
        for _ in range(rounds):
            yield from randperm(n, generator=generator).tolist()
        # drawn even for no index: it moves the generator on
        yield from randperm(n, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Sample given indices in random order, without replacement.

    Parameters
    ----------
    indices : sequence of ints
        Indices.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Notes
    -----
    Same as torch.utils.data.SubsetRandomSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.SubsetRandomSampler

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.SubsetRandomSampler([10, 20, 30], generator=generator))
    [30, 10, 20]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Sample indices at random with given weights, e.g. to balance classes.

    Parameters
    ----------
    weights : sequence of floats
        Weight of each index; they need not sum to 1.
    num_samples : int
        Number of indices.
    replacement : bool, default True
        Draw each index from all; without it none comes twice.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Raises
    ------
    ValueError
        If `num_samples` is no positive int, `replacement` no bool, or `weights` not of one dimension.

    Notes
    -----
    Same as torch.utils.data.WeightedRandomSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.WeightedRandomSampler

    Examples
    --------
    >>> generator = torch.Generator().manual_seed(0)
    >>> list(torch.utils.data.WeightedRandomSampler([1.0, 3.0], 8, generator=generator))
    [1, 1, 1, 1, 1, 1, 0, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not _is_count(num_samples):
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        weights = rushlight.as_tensor(weights, dtype=rushlight.double)
        if weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}"
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Group the indices of a sampler into batches.

    Parameters
    ----------
    sampler : Sampler or iterable
        Gives indices.
    batch_size : int
        Number of indices in a batch.
    drop_last : bool
        Leave out a last batch that is smaller.

    Raises
    ------
    ValueError
        If `batch_size` is no positive int or `drop_last` no bool.

    Notes
    -----
    Same as torch.utils.data.BatchSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.BatchSampler

    Examples
    --------
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=True))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        least = self.batch_size if self.drop_last else 1
        while len(batch := list(itertools.islice(indices, self.batch_size))) >= least:
            yield batch

    def __len__(self) -> int:
        count, rest = divmod(len(self.sampler), self.batch_size)
        return count if self.drop_last or not rest else count + 1
