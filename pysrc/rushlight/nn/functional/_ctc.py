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
    """Compute the connectionist temporal classification (CTC) loss: of unaligned sequences of classes.

    It is minus the logarithm of the probability of all alignments of a target to its input.

    Parameters
    ----------
    log_probs : Tensor
        Log-probabilities, as log_softmax() returns them: (T, N, C) or (T, C).
    targets : Tensor
        Classes, without blanks: (N, S), or one after the other (sum of target_lengths).
    input_lengths : Tensor or tuple of ints
        Number of steps of each input, (N) or ().
    target_lengths : Tensor or tuple of ints
        Number of classes of each target, (N) or ().
    blank : int, default 0
        Class that is the blank.
    reduction : {'mean', 'sum', 'none'}, default 'mean'
        Whether to average the losses (each divided by the length of its target), to sum them or to return
        each.
    zero_infinity : bool, default False
        Return 0 in place of infinite losses, of targets that do not fit into their inputs.

    Returns
    -------
    Tensor
        A scalar; with 'none' the shape of input_lengths.

    Raises
    ------
    RuntimeError
        If shapes or lengths do not fit.
    IndexError
        If a class is out of bounds.

    Notes
    -----
    Same as torch.nn.functional.ctc_loss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.ctc_loss.html

    References ---------- A. Graves et al., "Connectionist temporal classification: Labelling unsegmented
    sequence data with recurrent neural networks", 2006, https://doi.org/10.1145/1143844.1143891

    Examples
    --------
    >>> log_probs = F.log_softmax(torch.zeros(4, 1, 3), dim=2)
    >>> F.ctc_loss(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor(0.8432)
    """
    number = _reduction.get_enum(reduction)
    both = (input_lengths, target_lengths)
    if all(isinstance(each, tuple | list) and len(each) > _MOST for each in both):
        input_lengths, target_lengths = (_C.tensor(each, dtype=_C.int64) for each in both)
    return _C.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
