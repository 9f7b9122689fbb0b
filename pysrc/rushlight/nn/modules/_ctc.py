"""The layer of connectionist temporal classification."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F

from ._loss_base import _Loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


class CTCLoss(_Loss):
    """Compute the connectionist temporal classification (CTC) loss.

    The sequences are not aligned with their targets: the loss is the negative logarithm of the summed
    probability of all ways in which the input, with blanks and repeated labels, can spell the target.

    Parameters
    ----------
    blank : int, default 0
        Label of the blank.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses, each divided by the length of its target, to sum them or to return
        each.
    zero_infinity : bool, default False
        Count an infinite loss, of an input too short for its target, as 0, with a gradient of 0.

    Shape
    -----
    log_probs : (T, N, C) or (T, C), T steps, logarithms of the probabilities of C labels
    targets : (N, S), (S), or all targets one after the other (sum of their lengths), integers without blanks
    input_lengths : (N) or (), integers or a tuple, at most T
    target_lengths : (N) or (), integers or a tuple, at most S
    Output : a scalar; (N) or () with 'none'

    Raises
    ------
    RuntimeError
        When called, if lengths or shapes do not fit, or `blank` is no label.

    Notes
    -----
    Same as torch.nn.CTCLoss: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CTCLoss.html

    References
    ----------
    A. Graves, S. Fernandez, F. Gomez, J. Schmidhuber, "Connectionist Temporal Classification: Labelling
    Unsegmented Sequence Data with Recurrent Neural Networks", 2006, https://doi.org/10.1145/1143844.1143891

    Examples
    --------
    >>> log_probs = torch.full((4, 1, 3), 1 / 3).log()  # 4 steps, blank and 2 labels
    >>> nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor(0.8432)
    """

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
