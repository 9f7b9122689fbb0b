"""The layer of connectionist temporal classification."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F

from ._loss_base import _Loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


class CTCLoss(_Loss):
    """Loss of log-probabilities (T, N, C) or (T, C) and targets without alignment: functional.ctc_loss()."""

    __constants__ = ["blank", "reduction"]
    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


_homes.adopt("rushlight.nn.modules.loss", CTCLoss)
