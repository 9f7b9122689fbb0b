"""Folding a batch normalisation into the layer before it."""

from __future__ import annotations

import copy

import rushlight
from rushlight._C import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check(layer, bn) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _check_statistics(bn) -> None:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def _folded_bias(bias, mean, scale, bn_bias, dtype, requires_grad):
    return Parameter(((bias - mean) * scale + bn_bias).to(dtype), requires_grad)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Fuse a convolution and the batch normalization after it into one convolution.

    Parameters
    ----------
    conv : Module
        Convolution, in evaluation mode.
    bn : Module
        Batch normalization, in evaluation mode, with running statistics.
    transpose : bool, default False
        Whether the convolution is a transposed one.

    Returns
    -------
    Module
        A new convolution that computes what both do.

    Raises
    ------
    AssertionError
        If one is in training mode or there are no running statistics.

    Notes
    -----
    Same as torch.nn.utils.fuse_conv_bn_eval:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.fuse_conv_bn_eval.html

    Examples
    --------
    >>> conv, bn = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval()
    >>> fused = nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> x = torch.randn(1, 1, 5, 5)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Fuse the weights of a convolution and of the batch normalization after it.

    Parameters
    ----------
    conv_w : Tensor
        Weight of the convolution.
    conv_b : Tensor or None
        Its bias.
    bn_rm : Tensor
        Running mean of the batch normalization.
    bn_rv : Tensor
        Its running variance.
    bn_eps : float
        Its eps.
    bn_w : Tensor or None
        Its weight.
    bn_b : Tensor or None
        Its bias.
    transpose : bool, default False
        Whether the convolution is a transposed one.

    Returns
    -------
    tuple of 2 Parameters
        Weight and bias of the fused convolution.

    Notes
    -----
    Same as torch.nn.utils.fuse_conv_bn_weights:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.fuse_conv_bn_weights.html

    Examples
    --------
    >>> conv, bn = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)
    >>> statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    >>> weight, bias = nn.utils.fuse_conv_bn_weights(conv.weight, conv.bias, *statistics)
    >>> weight.shape, bias.shape
    (torch.Size([2, 1, 3, 3]), torch.Size([2]))
    """
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = rushlight.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = rushlight.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = rushlight.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * rushlight.rsqrt(bn_rv + bn_eps)
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    weight = Parameter((conv_w * scale.reshape(shape)).to(conv_w.dtype), conv_w.requires_grad)
    return weight, _folded_bias(conv_b, bn_rm, scale, bn_b, bias_dtype, conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Fuse a linear layer and the batch normalization after it into one linear layer.

    Parameters
    ----------
    linear : Module
        Linear layer, in evaluation mode.
    bn : Module
        Batch normalization, in evaluation mode, with running statistics.

    Returns
    -------
    Module
        A new linear layer that computes what both do.

    Raises
    ------
    AssertionError
        If one is in training mode, there are no running statistics, or the sizes do not fit.

    Notes
    -----
    Same as torch.nn.utils.fuse_linear_bn_eval:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.fuse_linear_bn_eval.html

    Examples
    --------
    >>> linear, bn = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
    >>> fused = nn.utils.fuse_linear_bn_eval(linear, bn)
    >>> x = torch.randn(4, 3)
    >>> torch.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True
    """
    _check(linear, bn)
    fused = copy.deepcopy(linear)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    _check_statistics(bn)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Fuse the weights of a linear layer and of the batch normalization after it.

    Parameters
    ----------
    linear_w : Tensor
        Weight of the linear layer.
    linear_b : Tensor or None
        Its bias.
    bn_rm : Tensor
        Running mean of the batch normalization.
    bn_rv : Tensor
        Its running variance.
    bn_eps : float
        Its eps.
    bn_w : Tensor
        Its weight.
    bn_b : Tensor
        Its bias.

    Returns
    -------
    tuple of 2 Parameters
        Weight and bias of the fused layer.

    Notes
    -----
    Same as torch.nn.utils.fuse_linear_bn_weights:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.utils.fuse_linear_bn_weights.html

    Examples
    --------
    >>> linear, bn = nn.Linear(3, 2), nn.BatchNorm1d(2)
    >>> statistics = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    >>> weight, bias = nn.utils.fuse_linear_bn_weights(linear.weight, linear.bias, *statistics)
    >>> weight.shape, bias.shape
    (torch.Size([2, 3]), torch.Size([2]))
    """
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = rushlight.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * rushlight.rsqrt(bn_rv + bn_eps)
    weight = Parameter(linear_w * scale.unsqueeze(-1).to(linear_w.dtype), linear_w.requires_grad)
    return weight, _folded_bias(linear_b, bn_rm, scale, bn_b, bias_dtype, linear_b.requires_grad)
