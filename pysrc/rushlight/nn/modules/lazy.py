"""Layers that learn the size of their input from the first one that they see."""

from __future__ import annotations

import rushlight
from rushlight import _homes
from rushlight.nn.parameter import UninitializedParameter

from ._lazy_base import LazyModuleMixin
from ._lazy_conv import (
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
    _LazyConv,
    _LazyConvTranspose,
    _LazyConvXdMixin,
)
from ._lazy_norm import (
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
    _LazyNormBase,
)
from .linear import Linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


class LazyLinear(LazyModuleMixin, Linear):
    """Apply a linear transformation; the first input tells `in_features`.

    After its first call the layer is a `Linear`; `load_state_dict` settles shapes, too.

    Parameters
    ----------
    out_features : int
        Size of the last dimension of the output.
    bias : bool, default True
        Add a learned bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight, bias : UninitializedParameter
        Parameters once the first input was seen.

    Notes
    -----
    Same as torch.nn.LazyLinear: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LazyLinear.html

    Examples
    --------
    >>> layer = nn.LazyLinear(5)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(torch.randn(2, 3)).shape
    torch.Size([2, 5])
    >>> layer
    Linear(in_features=3, out_features=5, bias=True)
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Device = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        given = input.shape[-1]
        if self.has_uninitialized_params():
            with rushlight.no_grad():
                self.in_features = given
                self.weight.materialize((self.out_features, given))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the weight came from a state dict
            known = self.weight.shape[-1]
            if given != known:
                raise AssertionError(
                    f"The in_features inferred from input: {given} is not equal to in_features from "
                    f"self.weight: {known}"
                )
            self.in_features = given


_homes.adopt(
    __name__,
    LazyModuleMixin,
    _LazyConvXdMixin,
    _LazyConv,
    _LazyConvTranspose,
    LazyConv1d,
    LazyConv2d,
    LazyConv3d,
    LazyConvTranspose1d,
    LazyConvTranspose2d,
    LazyConvTranspose3d,
    _LazyNormBase,
    LazyBatchNorm1d,
    LazyBatchNorm2d,
    LazyBatchNorm3d,
    LazyInstanceNorm1d,
    LazyInstanceNorm2d,
    LazyInstanceNorm3d,
)
