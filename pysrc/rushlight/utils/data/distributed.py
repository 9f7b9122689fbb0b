"""The sampler of one of several processes that share a dataset."""

from __future__ import annotations

import math

from rushlight import _missing
from rushlight._C import Generator, randperm

from .sampler import Sampler, _T_co

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight.utils.data.dataset import Dataset

__all__ = ["DistributedSampler"]
__getattr__ = _missing.module_getattr(__name__)


class DistributedSampler(Sampler[_T_co]):
    """Sample the part of a dataset that belongs to one of several processes.

    Process `rank` takes every `num_replicas`-th index of an order that all share. Each takes as many: the
    first indices come again at the end, unless `drop_last`.

    Parameters
    ----------
    dataset : Dataset
        Dataset, which has a length.
    num_replicas : int
        Number of processes; must be given, there are no process groups.
    rank : int
        Number of this process, from 0; must be given.
    shuffle : bool, default True
        Shuffle by ``seed + epoch``; call set_epoch() before each epoch.
    seed : int, default 0
        Seed of the order, the same in all processes.
    drop_last : bool, default False
        Leave out indices at the end instead of repeating the first ones.

    Raises
    ------
    ValueError
        If `num_replicas` or `rank` is not given, or `rank` is not in [0, num_replicas).

    Notes
    -----
    Same as torch.utils.data.distributed.DistributedSampler:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.distributed.DistributedSampler

    Examples
    --------
    >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=0, shuffle=False))
    [0, 2, 4]
    >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples = whole if drop_last or not rest else whole + 1
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def _order(self):
        n = len(self.dataset)
        if not self.shuffle:
            return list(range(n))
        generator = Generator()
        generator.manual_seed(self.seed + self.epoch)
        return randperm(n, generator=generator).tolist()

    def __iter__(self) -> Any:
        indices = self._order()
        if not self.drop_last and indices:
            indices *= math.ceil(self.total_size / len(indices))
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(
                f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})"
            )
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, so that a shuffled dataset gets another order.

        Parameters
        ----------
        epoch : int
            Number of the epoch that comes next.
        """
        self.epoch = epoch
