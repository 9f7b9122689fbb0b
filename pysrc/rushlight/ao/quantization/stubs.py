"""Modules that mark where quantized numbers begin and end; a model computes the same with and without."""

from __future__ import annotations

from rushlight.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class QuantStub(_Stub):
    """Mark where numbers become quantized; here they pass.

    Parameters
    ----------
    qconfig : object, optional
        How to quantize, which becomes an attribute.

    Notes
    -----
    Same as torch.ao.quantization.QuantStub, before conversion:
    https://docs.pytorch.org/docs/2.13/generated/torch.ao.quantization.QuantStub.html

    Examples
    --------
    >>> from rushlight.ao.quantization import QuantStub
    >>> QuantStub()(torch.ones(2))
    tensor([1., 1.])
    """


class DeQuantStub(_Stub):
    """Mark where quantized numbers become floats again; here they pass.

    Parameters
    ----------
    qconfig : object, optional
        How to quantize, which becomes an attribute.

    Notes
    -----
    Same as torch.ao.quantization.DeQuantStub, before conversion:
    https://docs.pytorch.org/docs/2.13/generated/torch.ao.quantization.DeQuantStub.html

    Examples
    --------
    >>> from rushlight.ao.quantization import DeQuantStub
    >>> DeQuantStub()(torch.ones(2))
    tensor([1., 1.])
    """


class QuantWrapper(Module):
    """Put a module between a QuantStub and a DeQuantStub.

    Parameters
    ----------
    module : Module
        What stands between them; its ``qconfig`` is theirs.

    Attributes
    ----------
    quant : QuantStub
    dequant : DeQuantStub
    module : Module

    Notes
    -----
    Same as torch.ao.quantization.QuantWrapper:
    https://docs.pytorch.org/docs/2.13/generated/torch.ao.quantization.QuantWrapper.html
    """

    quant: QuantStub
    dequant: DeQuantStub
    module: Module

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        return self.dequant(self.module(self.quant(X)))
