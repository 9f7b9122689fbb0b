"""The layer of the cross entropy of a linear layer."""

from __future__ import annotations

import math

from rushlight import _homes
from rushlight.nn import functional as F

from ._loss_base import _WeightedLoss
from .linear import Linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


class LinearCrossEntropyLoss(_WeightedLoss):
    """Compute the cross entropy loss of the logits of a linear layer.

    It is `Linear` followed by `CrossEntropyLoss`, but with `options` the batch is taken in chunks, so that
    not all of the logits are there at once.

    Parameters
    ----------
    in_features : int
        Size of the last dimension of the input.
    num_classes : int
        Number of classes, C.
    out_features : tuple of ints, default ()
        Sizes d1, ..., dK, where there are several predictions for each example.
    bias : bool, default False
        Give the linear layer a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, to sum them or to return each.
    weight : Tensor, optional
        (C), weights of the classes.
    ignore_index : int, optional
        Class whose examples do not count.
    label_smoothing : float, default 0.0
        Mix the target with the uniform distribution; in [0, 1].
    options : LinearCrossEntropyOptions, optional
        How the batch is cut into chunks; all at once if not given.

    Attributes
    ----------
    linear : Linear
        With in_features inputs and ``num_classes * prod(out_features)`` outputs.

    Shape
    -----
    Input : (N, in_features) or (in_features)
    Target : (N, d1, ..., dK) of int64, or probabilities (N, C, d1, ..., dK)
    Output : a scalar; the shape of the class target with 'none'

    Raises
    ------
    RuntimeError
        If `weight` has another shape than (C), or `label_smoothing` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.LinearCrossEntropyLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LinearCrossEntropyLoss.html

    Examples
    --------
    >>> loss = nn.LinearCrossEntropyLoss(16, 1000)
    >>> loss(torch.randn(8, 16), torch.arange(8)).shape
    torch.Size([])
    >>> loss.linear
    Linear(in_features=16, out_features=1000, bias=False)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]
    num_classes: int
    out_features: tuple
    reduction: str
    ignore_index: int
    label_smoothing: float
    options: object

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            linear.weight.reshape(*shape, linear.in_features),
            target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


_homes.adopt("rushlight.nn.modules.loss", LinearCrossEntropyLoss)
