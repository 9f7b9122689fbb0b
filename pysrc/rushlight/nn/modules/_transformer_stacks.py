"""The encoder and the decoder: stacks of layers."""

from __future__ import annotations

import copy
import math
import warnings

import rushlight
from rushlight import _C

from ._multihead import _may_skip_history
from ._transformer_layers import (
    TransformerEncoderLayer,
    _canonical_masks,
    _get_activation_fn,  # noqa: F401
    _weights,
)
from .container import ModuleList
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """Zeros (sz, sz), and -inf above the diagonal."""
    return _C.full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether a mask is causal: what is_causal says, else whether it equals the causal one of that size."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = mask.size(-2) if size is None else size
    if mask.shape != (size, size):
        return False
    causal = _generate_square_subsequent_mask(size, device=mask.device, dtype=mask.dtype)
    return bool((mask == causal).all())


def _get_seq_len(src, batch_first):
    return src.size(1 if batch_first and src.dim() != 2 else 0)


def _get_clones(module, N):
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _why_not_nested(layer):
    """Why an encoder of such layers never packs what it computes without padding, or None."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, ".norm_first was True"),
        (
            not attention.batch_first,
            ".self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, ".self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, ".self_attn.num_heads is odd"),
    )
    return next(("encoder_layer" + text for holds, text in reasons if holds), None)


class TransformerEncoder(Module):
    """Apply a Transformer encoder: several layers one after the other.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        Layer that is copied; all copies start from the same values.
    num_layers : int
        How many copies.
    norm : Module, optional
        Applied to the last output.
    enable_nested_tensor : bool, default True
        In evaluation, with `src_key_padding_mask` and without `mask`, let padding at the ends of sequences
        become 0.
    mask_check : bool, default True
        Look whether the padding stands at the ends.

    Attributes
    ----------
    layers : ModuleList
        The copies.

    Shape
    -----
    src, mask, src_key_padding_mask, output : as those of `TransformerEncoderLayer`

    Notes
    -----
    A UserWarning tells why `enable_nested_tensor` has no effect for some layers, e.g. without `batch_first`.
    Same as torch.nn.TransformerEncoder:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerEncoder.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> layer = nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
    >>> encoder = nn.TransformerEncoder(layer, num_layers=3)
    >>> encoder(torch.randn(2, 10, 16)).shape
    torch.Size([2, 10, 16])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}",
                stacklevel=2,
            )
            self.use_nested_tensor = False

    def _lengths(self, src, mask, padding):
        """How many places at the front of each sequence count, where the rest becomes 0, else None."""
        first = self.layers[0]
        if (
            padding is None
            or mask is not None
            or not getattr(self, "use_nested_tensor", False)
            or first.training
            or src.dim() != 3
            or not rushlight.backends.mha.get_fastpath_enabled()
            or rushlight.is_autocast_enabled()
            or not _may_skip_history((src, *_weights(first)))
        ):
            return None
        if padding.shape != src.shape[:2]:
            raise RuntimeError("Mask size should match input size")
        seen = padding == 0
        lengths = seen.sum(1, keepdim=True)
        left = _C.arange(src.size(1), device=src.device) < lengths
        return lengths if not getattr(self, "mask_check", True) or bool((seen == left).all()) else None

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Return what the layers make of a sequence.

        Parameters
        ----------
        src : Tensor
            (S, N, E), (N, S, E) with `batch_first`, or (S, E).
        mask : Tensor, optional
            (S, S) or (N * nhead, S, S): True, or a number that is added to the scores such as -inf, where a
            key is not seen.
        src_key_padding_mask : Tensor, optional
            (N, S) or (S), likewise.
        is_causal : bool, optional
            Hint that `mask` is the causal mask; it is compared with it if not given.

        Returns
        -------
        Tensor
            Shaped as `src`.
        """
        mask, padding = _canonical_masks(mask, src_key_padding_mask, "mask", src.dtype)
        lengths = self._lengths(src, mask, padding)
        is_causal = _detect_is_causal_mask(
            mask, is_causal, _get_seq_len(src, self.layers[0].self_attn.batch_first)
        )
        if lengths is not None:
            padding = _C.arange(src.size(1), device=src.device) >= lengths
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if lengths is not None:
            output = output.masked_fill(padding.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """Apply a Transformer decoder: several layers one after the other.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        Layer that is copied; all copies start from the same values.
    num_layers : int
        How many copies.
    norm : Module, optional
        Applied to the last output.

    Attributes
    ----------
    layers : ModuleList
        The copies.

    Shape
    -----
    tgt, memory, masks, output : as those of `TransformerDecoderLayer`

    Notes
    -----
    Same as torch.nn.TransformerDecoder:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerDecoder.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> layer = nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32)
    >>> decoder = nn.TransformerDecoder(layer, num_layers=2)
    >>> decoder(torch.randn(7, 2, 16), torch.randn(10, 2, 16)).shape
    torch.Size([7, 2, 16])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return what the layers make of a sequence and of what the encoder made.

        Parameters
        ----------
        tgt : Tensor
            (T, N, E), (N, T, E) with `batch_first`, or (T, E).
        memory : Tensor
            What the encoder made: (S, N, E), (N, S, E) or (S, E).
        tgt_mask, memory_mask : Tensor, optional
            (T, T) and (T, S): True, or a number that is added to the scores such as -inf, where a key is not
            seen.
        tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
            (N, T) and (N, S), likewise.
        tgt_is_causal : bool, optional
            Hint that `tgt_mask` is the causal mask; it is compared with it if not given.
        memory_is_causal : bool, default False
            Hint that `memory_mask` is the causal mask.

        Returns
        -------
        Tensor
            Shaped as `tgt`.
        """
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)
