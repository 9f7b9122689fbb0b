"""Dropout."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        try:
            outside = p < 0 or p > 1
        except TypeError:
            raise TypeError(f"p should be of type float, got: {type(p).__name__}") from None
        if outside:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Apply dropout: in training, zero elements at random.

    Each element becomes 0 with probability `p`, independently. What is left is multiplied by ``1 / (1 - p)``,
    which keeps the mean. In evaluation (``layer.eval()``) the output is the input.

    Parameters
    ----------
    p : float, default 0.5
        Probability of an element to become 0.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.Dropout: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Dropout.html

    References
    ----------
    G. Hinton et al., "Improving neural networks by preventing co-adaptation of feature detectors", 2012,
    https://arxiv.org/abs/1207.0580

    Examples
    --------
    >>> layer = nn.Dropout(p=0.2)
    >>> layer(torch.ones(2, 5)).unique()
    tensor([0.0000, 1.2500])
    >>> layer.eval()(torch.ones(2, 5)).unique()
    tensor([1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Apply 1-D dropout: in training, zero whole channels of signals.

    Each channel becomes 0 with probability `p`, independently. Neighbours in a signal resemble each other,
    and `Dropout` of single elements hides little of it. What is left is multiplied by ``1 / (1 - p)``; in
    evaluation the output is the input.

    Parameters
    ----------
    p : float, default 0.5
        Probability of a channel to become 0.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : (N, C, L) or (C, L)
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].
    RuntimeError
        When called with an input of other dimensions.

    Notes
    -----
    Same as torch.nn.Dropout1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Dropout1d.html

    References
    ----------
    J. Tompson et al., "Efficient Object Localization Using Convolutional Networks", 2014,
    https://arxiv.org/abs/1411.4280

    Examples
    --------
    >>> out = nn.Dropout1d(p=0.2)(torch.ones(20, 16, 32))
    >>> out.amax(2).equal(out.amin(2))  # a channel is there or not
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Apply 2-D dropout: in training, zero whole channels of images.

    Each channel becomes 0 with probability `p`, independently. Neighbouring pixels resemble each other, and
    `Dropout` of single ones hides little of them. What is left is multiplied by ``1 / (1 - p)``; in
    evaluation the output is the input.

    Parameters
    ----------
    p : float, default 0.5
        Probability of a channel to become 0.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : (N, C, H, W); a 3-D input is taken for (N, C, L), with a UserWarning
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.Dropout2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Dropout2d.html

    References
    ----------
    J. Tompson et al., "Efficient Object Localization Using Convolutional Networks", 2014,
    https://arxiv.org/abs/1411.4280

    Examples
    --------
    >>> out = nn.Dropout2d(p=0.2)(torch.ones(20, 16, 8, 8))
    >>> out.amax((2, 3)).equal(out.amin((2, 3)))  # a channel is there or not
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Apply 3-D dropout: in training, zero whole channels of volumes.

    Each channel becomes 0 with probability `p`, independently. What is left is multiplied by ``1 / (1 - p)``;
    in evaluation the output is the input.

    Parameters
    ----------
    p : float, default 0.5
        Probability of a channel to become 0.
    inplace : bool, default False
        Write the result into the input.

    Shape
    -----
    Input : (N, C, D, H, W) or (C, D, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.Dropout3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Dropout3d.html

    References
    ----------
    J. Tompson et al., "Efficient Object Localization Using Convolutional Networks", 2014,
    https://arxiv.org/abs/1411.4280

    Examples
    --------
    >>> out = nn.Dropout3d(p=0.2)(torch.ones(20, 16, 4, 4, 4))
    >>> out.amax((2, 3, 4)).equal(out.amin((2, 3, 4)))  # a channel is there or not
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Apply alpha dropout, which keeps mean and variance.

    An input with mean 0 and variance 1 gives such an output. In training each element becomes, with
    probability `p`, the value that `SELU` gives to very negative inputs, and all are scaled and shifted. In
    evaluation the output is the input. It belongs behind `SELU`.

    Parameters
    ----------
    p : float, default 0.5
        Probability of an element to be dropped.
    inplace : bool, default False
        Without effect, as in PyTorch.

    Shape
    -----
    Input : any shape
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].

    Notes
    -----
    Same as torch.nn.AlphaDropout: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AlphaDropout.html

    References
    ----------
    G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-Normalizing Neural Networks", 2017,
    https://arxiv.org/abs/1706.02515

    Examples
    --------
    >>> out = nn.AlphaDropout(p=0.2)(torch.randn(100, 100))
    >>> abs(out.mean().item()) < 0.05, abs(out.std().item() - 1) < 0.05
    (True, True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Apply alpha dropout to whole channels.

    `AlphaDropout` says what is put in their place.

    Parameters
    ----------
    p : float, default 0.5
        Probability of a channel to be dropped.
    inplace : bool, default False
        Without effect, as in PyTorch.

    Shape
    -----
    Input : (N, C, *), at least two dimensions
    Output : shape of the input

    Raises
    ------
    ValueError
        If `p` is not in [0, 1].
    RuntimeError
        When called, if the input has fewer than two dimensions.

    Notes
    -----
    Same as torch.nn.FeatureAlphaDropout:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.FeatureAlphaDropout.html

    References
    ----------
    G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-Normalizing Neural Networks", 2017,
    https://arxiv.org/abs/1706.02515

    Examples
    --------
    >>> out = nn.FeatureAlphaDropout(p=0.2)(torch.ones(20, 16, 4, 32, 32))
    >>> out.amax((2, 3, 4)).equal(out.amin((2, 3, 4)))  # a channel is there or not
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
