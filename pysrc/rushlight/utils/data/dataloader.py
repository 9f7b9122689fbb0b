"""The DataLoader: batches of a dataset, one after the other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from rushlight import _missing, accelerator
from rushlight._utils import cpu_count

from . import _utils
from ._utils.pin_memory import pin_memory
from .dataset import IterableDataset, _T_co
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, _draw_seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Generator
    from rushlight.utils.data.dataset import Dataset

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]
_worker_init_fn_t = Callable[[int], None]

default_collate = _utils.collate.default_collate
default_convert = _utils.collate.default_convert
get_worker_info = _utils.worker.get_worker_info
_lacks = _missing.module_getattr(__name__)


def __getattr__(name):
    if name != "_MultiProcessingDataLoaderIter":
        return _lacks(name)
    from ._utils.processes import _MultiProcessingDataLoaderIter

    return _MultiProcessingDataLoaderIter


class _DatasetKind:
    """The two kinds of datasets, and what takes batches of them."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        fetch = _utils.fetch
        cls = fetch._MapDatasetFetcher if kind == _DatasetKind.Map else fetch._IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """The sampler of an IterableDataset, which knows itself what comes next and where it ends."""

    def __iter__(self):
        while True:
            yield None


# what a loader's iterators were made with: setting one later would change nothing, or half of it
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class DataLoader(Generic[_T_co]):
    """Load batches of a dataset, in this process or in worker processes.

    Iterating gives the batches: samples that the sampler chose, put together by `collate_fn`. Each iteration
    draws one number of the generator, and shuffling another one, where PyTorch does: orders are the same.

    Parameters
    ----------
    dataset : Dataset or IterableDataset
        Dataset; also anything with ``__getitem__`` and ``__len__``.
    batch_size : int, optional, default 1
        Number of samples in a batch; None gives samples instead of batches.
    shuffle : bool, optional
        Take the samples in another random order in each iteration; False if not given.
    sampler : Sampler or iterable, optional
        Order of the indices, in place of `shuffle`.
    batch_sampler : Sampler or iterable, optional
        Lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
    num_workers : int, default 0
        Number of worker processes; 0 loads in this one.
    collate_fn : callable, optional
        Makes a batch of a list of samples; default_collate() if not given. Without batches, it converts a
        sample.
    pin_memory : bool, default False
        Return tensors in memory from which a GPU copies faster, where there is a GPU.
    drop_last : bool, default False
        Leave out a last batch that is smaller.
    timeout : float, default 0
        Seconds to wait for a batch of a worker; 0 waits for ever.
    worker_init_fn : callable, optional
        Called in each worker with its number, before it loads.
    multiprocessing_context : str or context, optional
        How workers are started: 'fork', 'spawn', 'forkserver' or a context of ``multiprocessing``.
    generator : Generator, optional
        Source of the order and of the workers' seeds; the default generator if not given.
    prefetch_factor : int, optional
        Number of batches that each worker is ahead; 2 if not given and there are workers.
    persistent_workers : bool, default False
        Keep the workers from one iteration to the next.
    pin_memory_device : str, default ''
        Deprecated.
    in_order : bool, default True
        Return the batches in order; False returns those of workers as they come.

    Raises
    ------
    ValueError
        If arguments exclude each other, such as `sampler` and `shuffle`, or a number is out of bounds.
    RuntimeError
        When iterated over, if a worker ends or a batch takes longer than `timeout`.

    Notes
    -----
    Same as torch.utils.data.DataLoader:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.DataLoader

    Examples
    --------
    >>> x, y = torch.arange(10.0).reshape(5, 2), torch.tensor([0, 1, 0, 1, 0])
    >>> loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2, shuffle=True)
    >>> for inputs, targets in loader:
    ...     print(inputs.shape, targets.shape)
    torch.Size([2, 2]) torch.Size([2])
    torch.Size([2, 2]) torch.Size([2])
    torch.Size([1, 2]) torch.Size([1])
    >>> len(loader)
    3
    """

    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co] | Sequence[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last, generator)
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None  # what len() answered last
        self._iterator = None
        self.check_worker_number_rationality()

    def _choose_samplers(self, batch_size, shuffle, sampler, batch_sampler, drop_last, generator):
        iterable = isinstance(self.dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        from ._utils.processes import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> Any:
        """How worker processes are started: a context of multiprocessing, or None for the default one."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context: Any) -> None:
        if multiprocessing_context is not None:
            if not self.num_workers > 0:
                raise ValueError(
                    "multiprocessing_context can only be used with "
                    "multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            multiprocessing_context = _context(multiprocessing_context)
        self.__multiprocessing_context = multiprocessing_context

    def __setattr__(self, attr, val):
        if self.__initialized and attr in _FIXED:
            raise ValueError(
                f"{attr} attribute should not be set after {self.__class__.__name__} is initialized"
            )
        super().__setattr__(attr, val)

    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None or self._iterator._shutdown:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        """What each batch is fetched with: lists of indices, or without batches an index."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        count, rest = divmod(length, self.batch_size)
        return count if self.drop_last or not rest else count + 1

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors that this process may use."""
        most = cpu_count()
        if not self.num_workers or (most is not None and self.num_workers <= most):
            return
        cpuset = "" if hasattr(os, "sched_getaffinity") else " (`cpuset` is not taken into account)"
        suggestion = (
            f"Our suggested max number of worker in current system is {most}{cpuset}, which is smaller "
            "than what this DataLoader is going to create."
        )
        if most is None:
            suggestion = (
                "DataLoader is not able to compute a suggested max number of worker in current system."
            )
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} "
            "Please be aware that excessive worker creation might get DataLoader running slow "
            "or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=2,
        )


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch_factor is not None:
        if num_workers == 0:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle, sampler, batch_sampler):
    text = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
    if shuffle not in {False, None}:
        raise ValueError(text.format("shuffle", shuffle))
    if sampler is not None:
        raise ValueError(text.format("sampler", sampler))
    if batch_sampler is not None:
        raise ValueError(text.format("batch_sampler", batch_sampler))


def _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last):
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _context(wanted):
    """Return the context of multiprocessing that a start method names, or the one given."""
    import multiprocessing

    if isinstance(wanted, str):
        methods = multiprocessing.get_all_start_methods()
        if wanted not in methods:
            raise ValueError(
                "multiprocessing_context option "
                f"should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={wanted!r}"
            )
        return multiprocessing.get_context(wanted)
    if not isinstance(wanted, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context "
            "object or a string specifying the start method, but got "
            f"multiprocessing_context={wanted}"
        )
    return wanted


# ---- the iterators of a DataLoader: what all have, and the one that loads in this process ----
class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = _can_pin(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = _draw_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def __iter__(self):
        return self

    def _reset(self, loader, first_iter=False):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        data = self._next_data()
        if self._pin_memory:
            data = pin_memory(data)
        self._num_yielded += 1
        said = self._IterableDataset_len_called  # None for all but IterableDatasets
        if said is not None and self._num_yielded > said:
            self._warn_of_length(said)
        return data

    def _warn_of_length(self, said):
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {said}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


def _can_pin(loader):
    """Whether a loader is to pin and there is a device to pin for; warns where nothing will come of it."""
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=6,
        )
    if not accelerator.is_available():
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, "
            "then device pinned memory won't be used.",
            stacklevel=6,
        )
        return False
    return True


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads a batch when it is asked for."""

    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self):
        return self._dataset_fetcher.fetch(self._next_index())
