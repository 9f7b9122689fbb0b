"""DataParallel: here it hands everything on to its module, as PyTorch's does where there is no GPU."""

from __future__ import annotations

from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import Tensor, device

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Holds a module as ``module``, so that names in state dicts start with ``module.``, and calls it.

    Programs that were written for several GPUs run unchanged; all of it runs where the module lies.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | device] | None = None,
        output_device: int | device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list = []

    def __class_getitem__(cls, item):
        return cls

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[int | device] | None = None,
    output_device: int | device | None = None,
    dim: int = 0,
    module_kwargs: Any | None = None,
) -> Tensor:
    """Call the module on the inputs, a tensor or a tuple."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
