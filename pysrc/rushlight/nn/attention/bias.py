"""Causal masks that are known by their kind and sizes, and become tensors only where they must."""

from __future__ import annotations

from enum import IntEnum
from warnings import warn

import rushlight
from rushlight import _C
from rushlight._C import Tensor
from rushlight.backends._sdp import SDPAParams

from . import _raise_kernel_warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins: at the first row and key, or at the last ones.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.bias.CausalVariant.html
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask of seq_len_q rows and seq_len_kv keys, for scaled_dot_product_attention() alone.

    A variant that is no CausalVariant raises AssertionError.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.bias.CausalBias.html
    """

    def __init__(self, variant: Any, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if variant == CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
                stacklevel=2,
            )

    def _materialize(self, device=None):
        lower = self.variant == CausalVariant.LOWER_RIGHT
        seen = rushlight.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=rushlight.bool)
        return rushlight.tril(seen, diagonal=self.seq_len_kv - self.seq_len_q if lower else 0)

    @staticmethod
    def _dispatch(query, key, value, attn_mask, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        same = attn_mask.seq_len_q == attn_mask.seq_len_kv
        upper = same or attn_mask.variant == CausalVariant.UPPER_LEFT
        if not upper:
            _raise_kernel_warnings(SDPAParams(query, key, value, None, dropout_p, is_causal, enable_gqa))
        mask = None if upper else attn_mask._materialize(query.device)
        return _C._nn.scaled_dot_product_attention(
            query, key, value, mask, dropout_p, upper, scale=scale, enable_gqa=enable_gqa
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is rushlight.nn.functional.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self):
        return repr(self._materialize())


def _sizes(name, size):
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return size


def causal_upper_left(*size: Any) -> Any:
    """Return the mask by which row i sees keys 0 to i; AssertionError unless there are two sizes.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.bias.causal_upper_left.html
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *_sizes("causal_upper_left", size))


def causal_lower_right(*size: Any) -> Any:
    """Return the mask by which the last row sees all keys; AssertionError unless there are two sizes.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.attention.bias.causal_lower_right.html
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *_sizes("causal_lower_right", size))
