"""Connectionist temporal classification."""

from __future__ import annotations

from rushlight import _C

from .. import _reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

_MOST = 64  # numbers of an int[] argument


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the sum of all alignments of targets to log_probs (T, N, C) or (T, C).

    ``targets``, whole numbers, are (N, S), or one after the other (sum of target_lengths). Both lengths are
    (N) or (), as tensors, or both as tuples. ``'mean'`` divides each loss by the length of its target first.
    A target longer than its input can be has an infinite loss, or 0 with ``zero_infinity``.
    The gradient is that of what log_softmax() made log_probs of; it has no derivative of its own.
    Raises RuntimeError for lengths that do not fit, IndexError for a class that is out of bounds.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.ctc_loss.html
    """
    number = _reduction.get_enum(reduction)
    both = (input_lengths, target_lengths)
    if all(isinstance(each, tuple | list) and len(each) > _MOST for each in both):
        input_lengths, target_lengths = (_C.tensor(each, dtype=_C.int64) for each in both)
    return _C.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
