"""Softmax over many classes of which few are frequent."""

from __future__ import annotations

from collections import namedtuple

import rushlight
from rushlight.nn import functional as F

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


def _check_cutoffs(cutoffs, n_classes):
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rises = all(low < high for low, high in zip(cutoffs, cutoffs[1:]))
    if not rises or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
            "each value is between 1 and n_classes-1"
        )


def _check_dims(input, target):
    dims = target.dim()
    if dims > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if dims == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != dims + 1:
        raise RuntimeError(
            f"{dims}D target tensor expects {dims + 1}D input tensors, "
            f"but found inputs with size {input.size()}"
        )


class AdaptiveLogSoftmaxWithLoss(Module):
    """Compute an adaptive softmax over many classes, and its loss.

    It is quick where few of the classes are frequent. Classes are numbered by their frequency, highest first.
    The head holds the classes below ``cutoffs[0]`` and one place for each further cluster; cluster i holds
    those from ``cutoffs[i - 1]`` on, in ``in_features // div_value ** i`` features. Only clusters that the
    target names are computed.

    Parameters
    ----------
    in_features : int
        Size of the last dimension of the input.
    n_classes : int
        Number of classes.
    cutoffs : sequence of ints
        Where clusters begin, rising, each from 1 to ``n_classes - 1``.
    div_value : float, default 4.0
        By how much the features of each cluster shrink.
    head_bias : bool, default False
        Give the head a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    head : Linear
        To the classes below ``cutoffs[0]`` and the clusters.
    tail : ModuleList
        The clusters, two linear layers each.

    Shape
    -----
    Input : (N, in_features) or (in_features)
    Target : (N) or (), of int64
    Output : the log-probability of each target, shaped as it, and the loss, a scalar: a named tuple
        (output, loss)

    Raises
    ------
    ValueError
        If `cutoffs` is not such a sequence.
    RuntimeError
        When called, if shapes do not fit, or a class is not in [0, n_classes).

    Notes
    -----
    Same as torch.nn.AdaptiveLogSoftmaxWithLoss:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveLogSoftmaxWithLoss.html

    References
    ----------
    E. Grave, A. Joulin, M. Cisse, D. Grangier, H. Jegou, "Efficient softmax approximation for GPUs", 2016,
    https://arxiv.org/abs/1609.04309

    Examples
    --------
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(16, 1000, cutoffs=[10, 100])
    >>> output, loss = layer(torch.randn(8, 16), torch.arange(8) * 100)
    >>> output.shape, loss.shape
    (torch.Size([8]), torch.Size([]))
    >>> layer.log_prob(torch.randn(2, 16)).shape
    torch.Size([2, 1000])
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for nth, (low, high) in enumerate(self._clusters(), 1):
            width = int(in_features // div_value**nth)
            narrow = Linear(in_features, width, bias=False, **made)
            self.tail.append(Sequential(narrow, Linear(width, high - low, bias=False, **made)))

    def _clusters(self):
        """The first class of each cluster of the tail, and the one behind its last."""
        return zip(self.cutoffs, self.cutoffs[1:])

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        self.head.reset_parameters()
        for narrow, wide in self.tail:
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        _check_dims(input_, target_)
        batch = target_.dim() > 0
        input, target = (input_, target_) if batch else (input_.unsqueeze(0), target_.unsqueeze(0))
        output = input.new_zeros(target.size(0))
        place = target.clone()  # in the head: a class, or a cluster
        found = int(((target >= 0) & (target < self.shortlist_size)).sum())
        for nth, (low, high) in enumerate(self._clusters()):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            found += rows.numel()
            place.index_fill_(0, rows, self.shortlist_size + nth)
            logs = F.log_softmax(self.tail[nth](input.index_select(0, rows)), dim=1)
            own = (target.index_select(0, rows) - low).unsqueeze(1)
            output.index_copy_(0, rows, logs.gather(1, own).squeeze(1))
        if found != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], "
                f"but values in range [{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, place.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batch else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        """The log-probabilities of all classes, where the head has answered."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for nth, cluster in enumerate(self.tail):
            at = self.shortlist_size + nth
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, at : at + 1])
        return rushlight.cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes.

        Parameters
        ----------
        input : Tensor
            (N, in_features).

        Returns
        -------
        Tensor
            (N, n_classes).
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the likeliest class of each row, as ``log_prob(input).argmax(1)`` but quicker.

        Clusters are computed only for rows whose likeliest place in the head is one.

        Parameters
        ----------
        input : Tensor
            (N, in_features).

        Returns
        -------
        Tensor
            (N), int64.
        """
        head = self.head(input)
        chosen = rushlight.argmax(head, dim=1)
        rare = chosen >= self.shortlist_size
        if rare.all() and rare.numel():
            return rushlight.argmax(self._get_full_log_prob(input, head), dim=1)
        if rare.any():
            chosen[rare] = rushlight.argmax(self._get_full_log_prob(input[rare], head[rare]), dim=1)
        return chosen
