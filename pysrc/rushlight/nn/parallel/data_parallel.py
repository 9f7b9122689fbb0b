"""DataParallel: here it hands everything on to its module, as PyTorch's does where there is no GPU."""

from rushlight.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Holds a module as ``module``, so that names in state dicts start with ``module.``, and calls it.

    Programs that were written for several GPUs run unchanged; all of it runs where the module lies.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list = []

    def __class_getitem__(cls, item):
        return cls

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Call the module on the inputs, a tensor or a tuple."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
