"""DistributedDataParallel, which needs processes that communicate: to make one raises."""

from __future__ import annotations

from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Train a module in several processes: not in this version, which has no communication.

    Raises
    ------
    ValueError
        Always, as PyTorch does where no process group was initialized.

    Notes
    -----
    PyTorch's: https://docs.pytorch.org/docs/2.13/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        from rushlight.distributed import _NOT_INITIALIZED

        super().__init__()
        raise ValueError(_NOT_INITIALIZED)
