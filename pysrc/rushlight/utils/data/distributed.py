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
__getattr__ = _missing.lacks(__name__)


class DistributedSampler(Sampler[_T_co]):
    """The indices of process ``rank`` of ``num_replicas``: every num_replicas-th, of one order for all.

    ``shuffle`` makes that order from seed + epoch: call ``set_epoch`` before each epoch. All processes get as
    many: the first indices come twice, or with ``drop_last`` the last ones are left out. ValueError when
    there is no such rank, or when a number is not given: there are no process groups that know it.
    `PyTorch's page
    <https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.distributed.DistributedSampler>`__
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
        """Say which epoch comes next: another order of a shuffled dataset."""
        self.epoch = epoch
