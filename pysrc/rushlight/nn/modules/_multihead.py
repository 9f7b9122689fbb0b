"""MultiheadAttention, which stands in torch.nn.modules.activation."""

from __future__ import annotations

import rushlight
from rushlight import _C, _homes
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from ._sizes import wrong_size
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

_DEVICES = ("cpu", "cuda")


def _may_skip_history(tensors):
    """Whether inference's private operators may take these: no class is asked, no gradient wanted."""
    present = [t for t in tensors if t is not None]
    if _C._has_torch_function(present) or any(t.device.type not in _DEVICES for t in present):
        return False
    return not (_C.is_grad_enabled() and any(t.requires_grad for t in present))


class MultiheadAttention(Module):
    """Apply multi-head attention.

    Each query takes the mean of the values, weighted by the likeness of their keys. Queries, keys and values
    are projected into `num_heads` subspaces of ``head_dim = embed_dim / num_heads`` features; in each,
    ``softmax(q @ k.T / sqrt(head_dim)) @ v``; the results are concatenated and projected.

    Parameters
    ----------
    embed_dim : int
        Features of query and output, E.
    num_heads : int
        Number of heads; divides `embed_dim`.
    dropout : float, default 0.0
        Probability of dropout on the weights of attention, in training.
    bias : bool, default True
        Give the projections biases.
    add_bias_kv : bool, default False
        Learn one more key and value for all sequences.
    add_zero_attn : bool, default False
        Add a key and a value of zeros.
    kdim : int, optional
        Features of the key; `embed_dim` if not given.
    vdim : int, optional
        Features of the value; `embed_dim` if not given.
    batch_first : bool, default False
        Batches come first: (N, L, E) instead of (L, N, E).
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    in_proj_weight : Parameter or None
        (3 * E, E), the projections of query, key and value, where all have E features, else None.
    q_proj_weight, k_proj_weight, v_proj_weight : Parameter or None
        (E, E), (E, kdim) and (E, vdim), where they have not.
    in_proj_bias : Parameter or None
        (3 * E).
    out_proj : Linear
        From E to E features.

    Shape
    -----
    query : (L, N, E), (N, L, E) with `batch_first`, or (L, E)
    key : (S, N, kdim), (N, S, kdim) or (S, kdim)
    value : (S, N, vdim), (N, S, vdim) or (S, vdim)
    key_padding_mask : (N, S) or (S), bool, True where a key is not seen, or float, added to the scores
    attn_mask : (L, S) or (N * num_heads, L, S), likewise
    Output : shape of `query`, and the weights of attention: (N, L, S), the mean over the heads,
        (N, num_heads, L, S) with ``average_attn_weights=False``, or None with ``need_weights=False``

    Raises
    ------
    ValueError
        If `embed_dim` or `num_heads` is not positive.
    AssertionError
        If `num_heads` does not divide `embed_dim`, or, when called, if shapes do not fit.
    RuntimeError
        When called, if the shape of `attn_mask` does not fit.

    Notes
    -----
    ``need_weights=False`` is faster. In evaluation, where no gradient is wanted, self-attention over a batch
    that comes first takes one fused operator; a row that sees no key is NaN there.
    Same as torch.nn.MultiheadAttention:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.MultiheadAttention.html

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> attention = nn.MultiheadAttention(embed_dim=16, num_heads=4, batch_first=True)
    >>> query, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    >>> output, weights = attention(query, memory, memory)
    >>> output.shape, weights.shape
    (torch.Size([2, 5, 16]), torch.Size([2, 5, 7]))
    """

    __constants__ = ["batch_first"]
    bias_k: rushlight.Tensor | None
    bias_v: rushlight.Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: Any = None,
        vdim: Any = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        try:
            empty = embed_dim <= 0 or num_heads <= 0
        except TypeError as error:
            raise wrong_size(error, embed_dim=embed_dim, num_heads=num_heads) from None
        if empty:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        made = {"device": device, "dtype": dtype}
        self._register_projections(bias, made)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            one = Parameter(rushlight.empty((1, 1, embed_dim), **made)) if add_bias_kv else None
            setattr(self, name, one)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _register_projections(self, bias, made) -> None:
        size, packed = self.embed_dim, self._qkv_same_embed_dim
        shapes = {
            "q_proj_weight": None if packed else (size, size),
            "k_proj_weight": None if packed else (size, self.kdim),
            "v_proj_weight": None if packed else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if packed else None,
            "in_proj_bias": (3 * size,) if bias else None,
        }
        # those that are there come first, which state_dict and parameters() show
        for name in sorted(shapes, key=lambda name: (name == "in_proj_bias", shapes[name] is None)):
            shape = shapes[name]
            self.register_parameter(name, shape and Parameter(rushlight.empty(shape, **made)))

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)  # which pickles of the first versions lack
        super().__setstate__(state)

    def _fast_path(self, query, key, value, masks) -> bool:
        """Whether the private operator of inference takes this call; masks are as they were given."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if (
            self.training
            or not self.batch_first
            or query is not key
            or key is not value
            or query.dim() != 3
            or weight is None
            or bias is None
            or not self._qkv_same_embed_dim
            or self.num_heads % 2 != 0
            or self.bias_k is not None
            or self.bias_v is not None
            or self.add_zero_attn
            or not query.dtype == weight.dtype == bias.dtype
        ):
            return False
        if any(mask is not None and mask.is_floating_point() for mask in masks):
            return False
        if not rushlight.backends.mha.get_fastpath_enabled() or rushlight.is_autocast_enabled():
            return False
        return _may_skip_history((query, weight, bias, self.out_proj.weight, self.out_proj.bias))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the output and the weights of attention.

        Parameters
        ----------
        query, key, value : Tensor
            Shaped as the class says.
        key_padding_mask : Tensor, optional
            (N, S) or (S): True, or a number that is added to the scores such as -inf, where a key is not
            seen.
        need_weights : bool, default True
            Return the weights; False is faster.
        attn_mask : Tensor, optional
            (L, S) or (N * num_heads, L, S), likewise for each query.
        average_attn_weights : bool, default True
            Return the mean of the weights over the heads instead of all.
        is_causal : bool, default False
            Hint that `attn_mask`, which must be given, is the causal mask.

        Returns
        -------
        (Tensor, Tensor or None)
            Output and weights, shaped as the class says.
        """
        fast = self._fast_path(query, key, value, (key_padding_mask, attn_mask))
        is_batched = query.dim() == 3
        key_padding_mask = F._canonical_mask(
            key_padding_mask, "key_padding_mask", F._none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = F._canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if fast:
            mask, mask_type = self.merge_masks(attn_mask, key_padding_mask, query)
            return rushlight._native_multi_head_attention(
                query,
                key,
                value,
                self.embed_dim,
                self.num_heads,
                self.in_proj_weight,
                self.in_proj_bias,
                self.out_proj.weight,
                self.out_proj.bias,
                mask,
                need_weights,
                average_attn_weights,
                mask_type,
            )
        turn = self.batch_first and is_batched
        if turn:
            same_key, same_value = key is query, value is key
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(1, 0) if turn else output, weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks as one for query (N, L, E), and its type.

        None and None; a padding mask as it is and 1; else a mask (N, num_heads, L, L) and 2.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


_homes.adopt("rushlight.nn.modules.activation", MultiheadAttention)
