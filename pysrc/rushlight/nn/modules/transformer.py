"""Transformers: encoders and decoders."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F
from rushlight.nn.init import xavier_uniform_

from ._transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    _get_activation_fn,  # noqa: F401
)
from ._transformer_stacks import (
    TransformerDecoder,
    TransformerEncoder,
    _detect_is_causal_mask,
    _generate_square_subsequent_mask,
    _get_clones,
    _get_seq_len,
    _why_not_nested,
)
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


_homes.adopt(
    __name__,
    _generate_square_subsequent_mask,
    _detect_is_causal_mask,
    _get_seq_len,
    _get_clones,
    _why_not_nested,
    TransformerEncoder,
    TransformerDecoder,
)
