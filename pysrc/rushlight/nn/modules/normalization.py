"""Normalisation of each example by itself."""

from __future__ import annotations

import numbers

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from ._functions import CrossMapLRN2d as _cross_map_lrn2d
from .module import Module
from .utils import wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _register(module, names, device, dtype, **size) -> None:
    """Give the module a parameter for each name, or None where it is not wanted."""
    (shape,) = size.values()
    try:
        for name, wanted in names:
            value = Parameter(rushlight.empty(shape, device=device, dtype=dtype)) if wanted else None
            module.register_parameter(name, value)
    except TypeError as error:
        raise wrong_size(error, **size) from None


def _as_shape(normalized_shape):
    """Return a tuple: a number is the last dimension alone."""
    if isinstance(normalized_shape, numbers.Integral):
        return (normalized_shape,)
    try:
        return tuple(normalized_shape)
    except TypeError as error:
        raise wrong_size(error, normalized_shape=normalized_shape) from None


class LocalResponseNorm(Module):
    """Apply local response normalization across channels.

    Each channel is divided by what its neighbours amount to:
    ``y[c] = x[c] / (k + alpha / size * sum(x[i] ** 2)) ** beta``, summed over the `size` channels around c.

    Parameters
    ----------
    size : int
        Number of neighbouring channels.
    alpha : float, default 1e-4
        Weight of the squares.
    beta : float, default 0.75
        Exponent.
    k : float, default 1.0
        Added to the sum.

    Shape
    -----
    Input : (N, C, *), at least three dimensions
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of fewer than three dimensions.

    Notes
    -----
    Same as torch.nn.LocalResponseNorm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.LocalResponseNorm.html

    References
    ----------
    A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural Networks",
    2012, https://doi.org/10.1145/3065386

    Examples
    --------
    >>> layer = nn.LocalResponseNorm(2, alpha=1.0, k=0.0, beta=1.0)
    >>> layer(torch.ones(1, 3, 1)).flatten()
    tensor([2., 1., 1.])
    """

    __constants__ = ["size", "alpha", "beta", "k"]
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Apply local response normalization across the channels of images.

    Caffe's networks have it. The formula is that of `LocalResponseNorm`; near the first and the last channel
    the windows are cut.

    Parameters
    ----------
    size : int
        Number of neighbouring channels.
    alpha : float, default 1e-4
        Weight of the squares.
    beta : float, default 0.75
        Exponent.
    k : float, default 1
        Added to the sum.

    Shape
    -----
    Input : (N, C, H, W)
    Output : shape of the input

    Raises
    ------
    ValueError
        When called with an input of other dimensions.

    Notes
    -----
    Same as torch.nn.CrossMapLRN2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CrossMapLRN2d.html

    Examples
    --------
    >>> nn.CrossMapLRN2d(3)(torch.randn(2, 8, 4, 4)).shape
    torch.Size([2, 8, 4, 4])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return _cross_map_lrn2d.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """Apply layer normalization over the last dimensions of each example.

    They get mean 0 and variance 1, then a scale and a shift:
    ``y = (x - mean) / sqrt(var + eps) * weight + bias``, with mean and (biased) variance over the dimensions
    of `normalized_shape`. Nothing depends on the batch: training and evaluation are the same.

    Parameters
    ----------
    normalized_shape : int or sequence of ints
        Sizes of the last dimensions; one number for the last alone.
    eps : float, default 1e-5
        Added to the variance, so that nothing is divided by 0.
    elementwise_affine : bool, default True
        Learn a weight and a bias for each element of `normalized_shape`.
    bias : bool, default True
        Learn a bias where `elementwise_affine` is given.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight, bias : Parameter or None
        `normalized_shape`, 1 and 0 at the start.

    Shape
    -----
    Input : (*, *normalized_shape)
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if the last sizes of the input are not `normalized_shape`.

    Notes
    -----
    Same as torch.nn.LayerNorm: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LayerNorm.html

    References
    ----------
    J. Ba, J. Kiros, G. Hinton, "Layer Normalization", 2016, https://arxiv.org/abs/1607.06450

    Examples
    --------
    >>> layer = nn.LayerNorm(4)
    >>> layer(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    >>> nn.LayerNorm([3, 8, 8])(torch.randn(2, 3, 8, 8)).shape  # over channels and pixels
    torch.Size([2, 3, 8, 8])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        wanted = (("weight", elementwise_affine), ("bias", elementwise_affine and bias))
        _register(self, wanted, device, dtype, normalized_shape=self.normalized_shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Apply group normalization over the channels of each example.

    Each group of channels gets mean 0 and variance 1: ``y = (x - mean) / sqrt(var + eps) * weight + bias``,
    with mean and (biased) variance over the channels of a group and all their elements. Nothing depends on
    the batch, which may be small.

    Parameters
    ----------
    num_groups : int
        Groups into which the channels are cut: 1 is layer normalization, `num_channels` instance
        normalization.
    num_channels : int
        Number of channels, C.
    eps : float, default 1e-5
        Added to the variance.
    affine : bool, default True
        Learn a weight and a bias for each channel.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.
    bias : bool, default True
        Learn a bias where `affine` is given; only by keyword.

    Attributes
    ----------
    weight, bias : Parameter or None
        (C), 1 and 0 at the start.

    Shape
    -----
    Input : (N, C, *)
    Output : shape of the input

    Raises
    ------
    ValueError
        If `num_groups` does not divide `num_channels`.
    RuntimeError
        When called, if the input has not `num_channels` channels.

    Notes
    -----
    Same as torch.nn.GroupNorm: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GroupNorm.html

    References
    ----------
    Y. Wu, K. He, "Group Normalization", 2018, https://arxiv.org/abs/1803.08494

    Examples
    --------
    >>> layer = nn.GroupNorm(2, 6)
    >>> y = layer(torch.randn(20, 6, 10, 10))
    >>> torch.allclose(y.view(20, 2, 300).mean(2), torch.zeros(20, 2), atol=1e-5)
    True
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        try:
            divides = num_channels % num_groups == 0
        except TypeError as error:
            raise wrong_size(error, num_groups=num_groups, num_channels=num_channels) from None
        if not divides:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        wanted = (("weight", affine), ("bias", affine and bias))
        _register(self, wanted, device, dtype, num_channels=num_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Apply root mean square (RMS) normalization over the last dimensions.

    The output is ``x / sqrt(mean(x ** 2) + eps) * weight``. Unlike `LayerNorm` it subtracts no mean and has
    no bias.

    Parameters
    ----------
    normalized_shape : int or sequence of ints
        Sizes of the last dimensions; one number for the last alone.
    eps : float, optional
        Added to the mean square; ``torch.finfo(dtype).eps`` if not given.
    elementwise_affine : bool, default True
        Learn a weight for each element of `normalized_shape`.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter or None
        `normalized_shape`, 1 at the start.

    Shape
    -----
    Input : (*, *normalized_shape)
    Output : shape of the input

    Raises
    ------
    RuntimeError
        When called, if the last sizes of the input are not `normalized_shape`.

    Notes
    -----
    Same as torch.nn.RMSNorm: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RMSNorm.html

    References
    ----------
    B. Zhang, R. Sennrich, "Root Mean Square Layer Normalization", 2019, https://arxiv.org/abs/1910.07467

    Examples
    --------
    >>> nn.RMSNorm(2)(torch.tensor([[3.0, 4.0]])).detach()
    tensor([[0.8485, 1.1314]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        wanted = (("weight", elementwise_affine),)
        _register(self, wanted, device, dtype, normalized_shape=self.normalized_shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
