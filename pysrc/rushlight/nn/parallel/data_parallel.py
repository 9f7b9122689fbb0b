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
    """Wrap a module for several devices.

    Here its calls are handed on to the one module. The module is held as ``module``, so that names in state
    dicts start with ``module.``, and programs that were written for several GPUs run unchanged. All of it
    runs where the module lies.

    Parameters
    ----------
    module : Module
        What is called.
    device_ids, output_device : optional
        Without effect.
    dim : int, default 0
        Without effect.

    Attributes
    ----------
    module : Module

    Notes
    -----
    Same as torch.nn.DataParallel: https://docs.pytorch.org/docs/2.13/generated/torch.nn.DataParallel.html

    Examples
    --------
    >>> model = nn.DataParallel(nn.Linear(3, 2))
    >>> model(torch.randn(4, 3)).shape
    torch.Size([4, 2])
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
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
    """Call a module on inputs; here it runs where it lies.

    Parameters
    ----------
    module : Module
        What is called.
    inputs : Tensor or tuple
        Its positional arguments.
    device_ids, output_device : optional
        Without effect.
    dim : int, default 0
        Without effect.
    module_kwargs : dict, optional
        Its keyword arguments.

    Returns
    -------
    Tensor
        What the module returns.

    Examples
    --------
    >>> nn.parallel.data_parallel(nn.ReLU(), torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
