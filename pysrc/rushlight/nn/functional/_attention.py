"""Attention, as PyTorch names it beside the layers."""

from rushlight._C import _nn

scaled_dot_product_attention = _nn.scaled_dot_product_attention
