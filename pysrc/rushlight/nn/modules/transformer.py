"""Transformer layers, their stacks, and the whole model."""

from __future__ import annotations

import copy
import math
import warnings

import rushlight
from rushlight import _C
from rushlight.nn import functional as F
from rushlight.nn.init import xavier_uniform_

from .activation import GELU, MultiheadAttention, ReLU, _may_skip_history
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


# ---- the layers of Transformers, which stand in torch.nn.modules.transformer ----
def _canonical_masks(mask, padding, name, dtype):
    """A mask and a padding mask as numbers that are added to the scores."""
    padding = F._canonical_mask(padding, "src_key_padding_mask", F._none_or_dtype(mask), name, dtype)
    return F._canonical_mask(mask, name, None, "", dtype, check_other=False), padding


def _get_activation_fn(activation):
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _relu_or_gelu(activation):
    """1 for relu, 2 for gelu, 0 for anything else."""
    kinds = ((F.relu, ReLU), (F.gelu, GELU))
    return next(
        (n for n, (f, kind) in enumerate(kinds, 1) if activation is f or isinstance(activation, kind)), 0
    )


def _weights(layer):
    """The tensors of an encoder layer that its private operator takes."""
    attention = layer.self_attn
    owners = (attention.out_proj, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    return (
        attention.in_proj_weight,
        attention.in_proj_bias,
        *(tensor for owner in owners for tensor in (owner.weight, owner.bias)),
    )


class TransformerEncoderLayer(Module):
    """Apply one layer of a Transformer encoder.

    Self-attention and a feedforward network are each added to what goes into them, with a layer normalization
    behind the sum, or before with `norm_first`::

        x = norm1(x + dropout(self_attn(x)))
        x = norm2(x + dropout(linear2(dropout(activation(linear1(x))))))

    Parameters
    ----------
    d_model : int
        Features of each element of the sequences, E.
    nhead : int
        Heads of attention; divides `d_model`.
    dim_feedforward : int, default 2048
        Features between the two linear layers.
    dropout : float, default 0.1
        Probability of dropout, in training.
    activation : str or callable, default relu
        Between the linear layers: 'relu', 'gelu' or a function of a tensor.
    layer_norm_eps : float, default 1e-5
        eps of the layer normalizations.
    batch_first : bool, default False
        Batches come first: (N, S, E) instead of (S, N, E).
    norm_first : bool, default False
        Normalize before attention and linear layers instead of behind their sums.
    bias : bool, default True
        Give linear layers and normalizations a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Shape
    -----
    src : (S, N, E), (N, S, E) with `batch_first`, or (S, E)
    src_mask : (S, S) or (N * nhead, S, S), bool, True where a key is not seen, or float, added to the scores
    src_key_padding_mask : (N, S) or (S), likewise
    Output : shape of `src`

    Raises
    ------
    AssertionError
        If `nhead` does not divide `d_model`, or, when called, if the input has not `d_model` features.
    RuntimeError
        If `activation` is another word, or, when called, if the shape of a mask does not fit.

    Notes
    -----
    In evaluation, where no gradient is wanted, a batch that comes first takes one fused operator; a row that
    sees no key is NaN there.
    Same as torch.nn.TransformerEncoderLayer:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerEncoderLayer.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> layer = nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
    >>> layer(torch.randn(2, 10, 16)).shape
    torch.Size([2, 10, 16])
    >>> causal = nn.Transformer.generate_square_subsequent_mask(10)
    >>> layer(torch.randn(2, 10, 16), src_mask=causal, is_causal=True).shape
    torch.Size([2, 10, 16])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        made = {"bias": bias, "device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **made)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = _relu_or_gelu(activation)
        self.activation = activation

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _fast_path(self, src):
        """The weights for the private operator, where it takes this call, else None."""
        attention = self.self_attn
        if (
            self.training
            or src.dim() != 3
            or not attention.batch_first
            or attention.in_proj_bias is None
            or not attention._qkv_same_embed_dim
            or not self.activation_relu_or_gelu
            or self.norm1.eps != self.norm2.eps
            or attention.num_heads % 2 == 1
            or not rushlight.backends.mha.get_fastpath_enabled()
            or rushlight.is_autocast_enabled()
            or any(module._forward_hooks or module._forward_pre_hooks for module in self.modules())
        ):
            return None
        weights = _weights(self)
        return weights if _may_skip_history((src, *weights)) else None

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return what the layer makes of a sequence.

        Parameters
        ----------
        src : Tensor
            (S, N, E), (N, S, E) with `batch_first`, or (S, E).
        src_mask : Tensor, optional
            (S, S) or (N * nhead, S, S): True, or a number that is added to the scores such as -inf, where a
            key is not seen.
        src_key_padding_mask : Tensor, optional
            (N, S) or (S), likewise.
        is_causal : bool, default False
            Hint that `src_mask` is the causal mask.

        Returns
        -------
        Tensor
            Shaped as `src`.
        """
        src_mask, padding = _canonical_masks(src_mask, src_key_padding_mask, "src_mask", src.dtype)
        weights = self._fast_path(src)
        if weights is not None:
            return rushlight._transformer_encoder_layer_fwd(
                src,
                self.self_attn.embed_dim,
                self.self_attn.num_heads,
                *weights[:4],
                self.activation_relu_or_gelu == 2,
                self.norm_first,
                self.norm1.eps,
                *weights[4:],
                *self.self_attn.merge_masks(src_mask, padding, src),
            )
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, **masks, need_weights=False)[0])

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Apply one layer of a Transformer decoder.

    Self-attention, attention to what the encoder made, and a feedforward network are each added to what goes
    into them, with a layer normalization behind the sum, or before with `norm_first`.

    Parameters
    ----------
    d_model : int
        Features of each element of the sequences, E.
    nhead : int
        Heads of attention; divides `d_model`.
    dim_feedforward : int, default 2048
        Features between the two linear layers.
    dropout : float, default 0.1
        Probability of dropout, in training.
    activation : str or callable, default relu
        Between the linear layers: 'relu', 'gelu' or a function of a tensor.
    layer_norm_eps : float, default 1e-5
        eps of the layer normalizations.
    batch_first : bool, default False
        Batches come first: (N, S, E) instead of (S, N, E).
    norm_first : bool, default False
        Normalize before attention and linear layers instead of behind their sums.
    bias : bool, default True
        Give linear layers and normalizations a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Shape
    -----
    tgt : (T, N, E), (N, T, E) with `batch_first`, or (T, E)
    memory : what the encoder made, (S, N, E), (N, S, E) or (S, E)
    tgt_mask, memory_mask : (T, T) and (T, S), or with N * nhead before, bool, True where a key is not seen,
        or float, added to the scores
    tgt_key_padding_mask, memory_key_padding_mask : (N, T) and (N, S), likewise
    Output : shape of `tgt`

    Raises
    ------
    AssertionError
        If `nhead` does not divide `d_model`, or, when called, if the input has not `d_model` features.
    RuntimeError
        If `activation` is another word, or, when called, if the shape of a mask does not fit.

    Notes
    -----
    Same as torch.nn.TransformerDecoderLayer:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.TransformerDecoderLayer.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> layer = nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32)
    >>> memory, tgt = torch.randn(10, 2, 16), torch.randn(7, 2, 16)
    >>> layer(tgt, memory).shape
    torch.Size([7, 2, 16])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        made = {"bias": bias, "device": device, "dtype": dtype}
        super().__init__()
        attention = {"dropout": dropout, "batch_first": batch_first, **made}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, LayerNorm(d_model, eps=layer_norm_eps, **made))
        for name in ("dropout1", "dropout2", "dropout3"):
            setattr(self, name, Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state):
        state.setdefault("activation", F.relu)
        super().__setstate__(state)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return what the layer makes of a sequence and of what the encoder made.

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
        tgt_is_causal, memory_is_causal : bool, default False
            Hints that `tgt_mask` and `memory_mask` are causal masks.

        Returns
        -------
        Tensor
            Shaped as `tgt`.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, **masks, need_weights=False)[0])

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, mem, mem, **masks, need_weights=False)[0])

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


# ---- the encoder and the decoder: stacks of layers ----
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


class Transformer(Module):
    """Apply a Transformer, an encoder and a decoder, to two sequences.

    Encoder and decoder have several layers each and a normalization behind them. All matrices are drawn from
    ``init.xavier_uniform_``. Embeddings and positions are up to you.

    Parameters
    ----------
    d_model : int, default 512
        Features of each element of the sequences, E.
    nhead : int, default 8
        Heads of attention; divides `d_model`.
    num_encoder_layers : int, default 6
        Layers of the encoder.
    num_decoder_layers : int, default 6
        Layers of the decoder.
    dim_feedforward : int, default 2048
        Features between the two linear layers of each layer.
    dropout : float, default 0.1
        Probability of dropout, in training.
    activation : str or callable, default relu
        'relu', 'gelu' or a function of a tensor.
    custom_encoder, custom_decoder : Module, optional
        Taken instead of what would be built.
    layer_norm_eps : float, default 1e-5
        eps of the layer normalizations.
    batch_first : bool, default False
        Batches come first: (N, S, E) instead of (S, N, E).
    norm_first : bool, default False
        Normalize before attention and linear layers instead of behind their sums.
    bias : bool, default True
        Give linear layers and normalizations a bias.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    encoder, decoder : Module
        `TransformerEncoder` and `TransformerDecoder`, unless others were given.

    Shape
    -----
    src : (S, N, E), (N, S, E) with `batch_first`, or (S, E)
    tgt : (T, N, E), (N, T, E) or (T, E)
    Masks : as those of `TransformerDecoderLayer`, with `src_mask` and `src_key_padding_mask` for the encoder
    Output : shape of `tgt`

    Raises
    ------
    AssertionError
        If `nhead` does not divide `d_model`.
    RuntimeError
        When called, if src and tgt have different batches or not `d_model` features.

    Notes
    -----
    Same as torch.nn.Transformer: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Transformer.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> model = nn.Transformer(16, nhead=4, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(torch.randn(2, 10, 16), torch.randn(2, 7, 16)).shape
    torch.Size([2, 7, 16])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        sizes = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
        )
        kinds = (
            ("encoder", custom_encoder, TransformerEncoderLayer, TransformerEncoder, num_encoder_layers),
            ("decoder", custom_decoder, TransformerDecoderLayer, TransformerDecoder, num_decoder_layers),
        )
        for name, custom, layer, stack, count in kinds:
            if custom is None:
                one, norm = layer(*sizes, **made), LayerNorm(d_model, eps=layer_norm_eps, **made)
                custom = stack(one, count, norm)
            setattr(self, name, custom)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return what the decoder makes of one sequence and of what the encoder makes of another.

        Parameters
        ----------
        src : Tensor
            (S, N, E), (N, S, E) with `batch_first`, or (S, E), for the encoder.
        tgt : Tensor
            (T, N, E), (N, T, E) or (T, E), for the decoder.
        src_mask, tgt_mask, memory_mask : Tensor, optional
            (S, S), (T, T) and (T, S): True, or a number that is added to the scores such as -inf, where a key
            is not seen.
        src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask : Tensor, optional
            (N, S), (N, T) and (N, S), likewise.
        src_is_causal, tgt_is_causal : bool, optional
            Hints that masks are causal; they are compared with the causal mask if not given.
        memory_is_causal : bool, default False
            Hint that `memory_mask` is the causal mask.

        Returns
        -------
        Tensor
            Shaped as `tgt`.

        Raises
        ------
        RuntimeError
            If src and tgt have different batches or not `d_model` features.
        """
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Device = None, dtype: dtype | None = None) -> Tensor:
        """Return the causal mask (sz, sz): 0, and -inf where a key lies behind the query.

        Examples
        --------
        >>> nn.Transformer.generate_square_subsequent_mask(3)
        tensor([[0., -inf, -inf],
                [0., 0., -inf],
                [0., 0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, dtype=dtype, device=device)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
