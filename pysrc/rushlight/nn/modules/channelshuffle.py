"""Channels in another order."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Shuffle channels between groups: take one channel of each group in turn.

    Parameters
    ----------
    groups : int
        Number of groups, G.

    Shape
    -----
    Input : (N, C, *), where G divides C
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if `groups` is not positive or does not divide the channels.

    Notes
    -----
    Same as torch.nn.ChannelShuffle:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ChannelShuffle.html

    References
    ----------
    X. Zhang, X. Zhou, M. Lin, J. Sun, "ShuffleNet", 2017, https://arxiv.org/abs/1707.01083

    Examples
    --------
    >>> nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]
    groups: int

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
