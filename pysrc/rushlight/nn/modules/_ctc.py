"""The layer of connectionist temporal classification."""

from rushlight import _homes
from rushlight.nn import functional as F

from ._loss_base import _Loss


class CTCLoss(_Loss):
    """Loss of log-probabilities (T, N, C) or (T, C) and targets without alignment: functional.ctc_loss()."""

    __constants__ = ["blank", "reduction"]
    blank: int
    zero_infinity: bool

    def __init__(self, blank=0, reduction="mean", zero_infinity=False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
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
