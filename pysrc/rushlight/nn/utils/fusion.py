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
    """A copy of the convolution that does what both do; both are in eval mode and stay as they are."""
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
    """The weight and the bias of the fused convolution."""
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = rushlight.zeros_like(bn_rm) if conv_b is None else conv_b
    bn_w = rushlight.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = rushlight.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = bn_w * rushlight.rsqrt(bn_rv + bn_eps)
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    weight = Parameter((conv_w * scale.reshape(shape)).to(conv_w.dtype), conv_w.requires_grad)
    return weight, _folded_bias(conv_b, bn_rm, scale, bn_b, bias_dtype, conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the Linear that does what both do; both are in eval mode and stay as they are."""
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
    """The weight and the bias of the fused Linear."""
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = rushlight.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * rushlight.rsqrt(bn_rv + bn_eps)
    weight = Parameter(linear_w * scale.unsqueeze(-1).to(linear_w.dtype), linear_w.requires_grad)
    return weight, _folded_bias(linear_b, bn_rm, scale, bn_b, bias_dtype, linear_b.requires_grad)
