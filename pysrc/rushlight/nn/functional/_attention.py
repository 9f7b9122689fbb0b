"""Attention, and that of several heads with the projections around it."""

from __future__ import annotations

import math
import warnings

from rushlight import _C
from rushlight._C import _nn

from ._dropout import dropout
from ._linear import linear

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


scaled_dot_product_attention = _nn.scaled_dot_product_attention


# ---- attention of several heads, with the projections around it ----
# ---- masks ----
def _none_or_dtype(input):
    """The dtype of a tensor; None of None."""
    if input is None or isinstance(input, _C.Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """A mask as numbers that are added to the scores: -inf in target_type where a boolean one is True."""
    if mask is None:
        return None
    numbers = mask.is_floating_point()
    if not numbers and mask.dtype is not _C.bool:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type not in (None, mask.dtype):
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. "
            "Use same type for both instead.",
            stacklevel=2,
        )
    if numbers:
        return mask
    return _C.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _check_key_padding_mask(key_padding_mask, src_len, bsz):
    for dim, size in enumerate((bsz, src_len)):
        found = key_padding_mask.shape[dim]
        if found != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {found}")


def _check_attn_mask(attn_mask, batch, heads, length, sources):
    sizes = {2: (length, sources), 3: (batch * heads, length, sources)}
    dims = attn_mask.dim()
    if dims not in sizes:
        raise RuntimeError(f"attn_mask's dimension {dims} is not supported")
    if attn_mask.shape != sizes[dims]:
        raise RuntimeError(
            f"The shape of the {dims}D attn_mask is {attn_mask.shape}, but should be {sizes[dims]}."
        )


def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Check how many dimensions all have; answer whether they have one of the batch."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    given = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"{given} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"{given} `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is None:
        return dims == 3
    if attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"{given} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
        )
    whole = (num_heads, query.shape[0], key.shape[0])
    if dims == 2 and attn_mask.dim() == 3 and attn_mask.shape != whole:
        raise AssertionError(f"Expected `attn_mask` shape to be {whole} but got {attn_mask.shape}")
    return dims == 3


# ---- projections ----
def _parts(weight, bias, sizes):
    """The rows of a packed weight, and of its bias."""
    return zip(weight.split(sizes), [None] * len(sizes) if bias is None else bias.split(sizes))


def _project_packed(q, k, v, w, b):
    """As _in_projection_packed; parts of one product are views of it."""
    size = q.size(-1)
    if k is not v:
        # as chunk does, which takes any number of rows
        sizes = [part.size(0) for part in w.chunk(3)]
        return [linear(x, *own) for x, own in zip((q, k, v), _parts(w, b, sizes))]
    if q is k:
        return linear(q, w, b).split(size, -1)
    first, rest = _parts(w, b, [size, 2 * size])
    return [linear(q, *first), *linear(k, *rest).split(size, -1)]


def _in_projection_packed(q, k, v, w, b=None):
    """Return the three projections by a weight w (3E, E) that holds those of query, key and value in turn."""
    return [x.contiguous() for x in _project_packed(q, k, v, w, b)]


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """Return the three projections by weights (Eq, Eq), (Eq, Ek), (Eq, Ev)."""
    size = q.size(-1)
    named = (("query", q, w_q), ("key", k, w_k), ("value", v, w_v))
    for name, x, weight in named:
        expected = (size, x.size(-1))
        if weight.shape != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")
    biases = (b_q, b_k, b_v)
    for (name, _, _), bias in zip(named, biases):
        if bias is not None and bias.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    return tuple(linear(x, weight, bias) for (_, x, weight), bias in zip(named, biases))


def _projections(query, key, value, packed, bias, separate):
    if separate is None:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return _project_packed(query, key, value, packed, bias)
    for name, weight in zip("qkv", separate):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *separate, *biases)


# ---- keys and values ----
def _check_static(name, static, batch_heads, head_dim):
    for dim, size in ((0, batch_heads), (2, head_dim)):
        if static.size(dim) != size:
            raise AssertionError(f"expecting {name}.size({dim}) of {size}, but got {static.size(dim)}")


def _check_biases(bias_k, bias_v, statics):
    """Whether a bias is appended to keys and values."""
    if bias_k is None and bias_v is None:
        return False
    if bias_k is None or bias_v is None:
        given, lacking = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {lacking} is None")
    for name, static in zip(("key", "value"), statics):
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    return True


def _one_more(*masks):
    """The masks for one more key, which all may see."""
    return [None if mask is None else _nn.pad(mask, (0, 1)) for mask in masks]


def _heads(x, batch, heads, head_dim):
    """(L, N, E) as (N, heads, L, head_dim)."""
    return x.view(x.shape[0], batch, heads, head_dim).permute(1, 2, 0, 3)


def _append_zeros(x):
    batch, heads, _, head_dim = x.shape
    return _C.cat([x, _C.zeros((batch, heads, 1, head_dim), dtype=x.dtype, device=x.device)], 2)


def _merge_masks(attn_mask, key_padding_mask, batch, heads, sources):
    """Both masks as one that broadcasts to (N, heads, L, S), or None."""
    if attn_mask is not None:
        size = attn_mask.size(0) if attn_mask.dim() == 3 else 1
        shape = (batch, heads) if size == batch * heads else (1, 1)
        attn_mask = attn_mask.view(*shape, *attn_mask.shape[-2:])
    if key_padding_mask is None:
        return attn_mask
    _check_key_padding_mask(key_padding_mask, sources, batch)
    key_padding_mask = key_padding_mask.view(batch, 1, 1, sources)
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask


def _attend_with_weights(q, k, v, mask, dropout_p):
    """What is attended to, and the weights (N, heads, L, S) it was added up with."""
    scores = (q * math.sqrt(1.0 / q.size(-1))).matmul(k.transpose(-2, -1))
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return weights.matmul(v), weights


def _causal_or_mask(attn_mask, key_padding_mask, need_weights, is_causal, dtype):
    """The mask as numbers, and whether attention may go by the hint instead: only without all else."""
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return attn_mask, is_causal and key_padding_mask is None


def _check_sizes(query, key, value, embed_dim, num_heads, separate):
    found = query.size(-1)
    if found != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {found}")
    if found // num_heads * num_heads != found:
        raise AssertionError(f"embed_dim {found} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


_POSITIONAL = 13  # arguments without a default, which a class that answers is given by position


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Apply multi-head attention, with the projections around it: what nn.MultiheadAttention computes.

    Without a batch all tensors lack the dimension N. A mask is True, or -inf, where a key is not seen.

    Parameters
    ----------
    query : Tensor
        (L, N, E).
    key : Tensor
        (S, N, E); with separate weights (S, N, E_k).
    value : Tensor
        (S, N, E); with separate weights (S, N, E_v).
    embed_dim_to_check : int
        E.
    num_heads : int
        Number of heads; it divides E.
    in_proj_weight : Tensor or None
        (3 * E, E), the projections of query, key and value in turn.
    in_proj_bias : Tensor or None
        (3 * E), their biases.
    bias_k : Tensor or None
        (1, 1, E), a key to append; with `bias_v` only.
    bias_v : Tensor or None
        (1, 1, E), its value.
    add_zero_attn : bool
        Append a key and a value of zeros.
    dropout_p : float
        Probability of a weight to become 0 in training.
    out_proj_weight : Tensor
        (E, E), the projection of the output.
    out_proj_bias : Tensor or None
        (E), its bias.
    training : bool, default True
        Apply dropout.
    key_padding_mask : Tensor, optional
        (N, S), keys that are not seen.
    need_weights : bool, default True
        Return the attention weights.
    attn_mask : Tensor, optional
        (L, S) or (N * num_heads, L, S), keys that a query does not see.
    use_separate_proj_weight : bool, default False
        Project by the three weights below instead of `in_proj_weight`.
    q_proj_weight : Tensor, optional
        (E, E).
    k_proj_weight : Tensor, optional
        (E, E_k).
    v_proj_weight : Tensor, optional
        (E, E_v).
    static_k : Tensor, optional
        (N * num_heads, S, E / num_heads), in place of the projected keys.
    static_v : Tensor, optional
        (N * num_heads, S, E / num_heads), in place of the projected values.
    average_attn_weights : bool, default True
        Average the weights over the heads.
    is_causal : bool, default False
        Hint that `attn_mask` is the causal mask.

    Returns
    -------
    tuple of (Tensor, Tensor or None)
        The output (L, N, E), and the weights (N, L, S), or (N, num_heads, L, S) if they are not averaged.

    Raises
    ------
    AssertionError
        If sizes do not fit.
    RuntimeError
        If a mask does not fit, or `is_causal` comes without `attn_mask`.

    Notes
    -----
    Same as torch.nn.functional.multi_head_attention_forward:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.multi_head_attention_forward.html

    References
    ----------
    A. Vaswani et al., "Attention is all you need", 2017, https://arxiv.org/abs/1706.03762

    Examples
    --------
    >>> x, eye = torch.ones(3, 2, 4), torch.eye(4)
    >>> output, weights = F.multi_head_attention_forward(
    ...     x, x, x, 4, 2, eye.repeat(3, 1), None, None, None, False, 0.0, eye, None
    ... )
    >>> output.shape, weights.shape
    (torch.Size([3, 2, 4]), torch.Size([2, 3, 3]))
    >>> weights[0, 0]
    tensor([0.3333, 0.3333, 0.3333])
    """
    given = locals()
    asked = (query, key, value, in_proj_weight, in_proj_bias, bias_k, bias_v, out_proj_weight, out_proj_bias)
    if _C._has_torch_function(asked):
        options = {name: given[name] for name in list(given)[_POSITIONAL:]}
        first = tuple(given.values())[:_POSITIONAL]
        return _C._handle_torch_function(multi_head_attention_forward, asked, first, options)
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        alike = query is key, key is value
        query = query.unsqueeze(1)
        key = query if alike[0] else key.unsqueeze(1)
        value = key if alike[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, embed_dim = query.shape
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    attn_mask, is_causal = _causal_or_mask(attn_mask, key_padding_mask, need_weights, is_causal, query.dtype)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projections(query, key, value, in_proj_weight, in_proj_bias, separate)
    if attn_mask is not None:
        _check_attn_mask(attn_mask, batch, num_heads, length, key.shape[0])
    if _check_biases(bias_k, bias_v, (static_k, static_v)):
        k, v = (_C.cat([x, bias.repeat(1, batch, 1)]) for x, bias in ((k, bias_k), (v, bias_v)))
        attn_mask, key_padding_mask = _one_more(attn_mask, key_padding_mask)
    head_dim = embed_dim // num_heads
    heads = [_heads(x, batch, num_heads, head_dim) for x in (q, k, v)]
    for place, (name, static) in enumerate((("static_k", static_k), ("static_v", static_v)), 1):
        if static is not None:
            _check_static(name, static, batch * num_heads, head_dim)
            heads[place] = static.reshape(batch, num_heads, -1, head_dim)
    q, k, v = heads
    if add_zero_attn:
        k, v = _append_zeros(k), _append_zeros(v)
        attn_mask, key_padding_mask = _one_more(attn_mask, key_padding_mask)
    mask = _merge_masks(attn_mask, key_padding_mask, batch, num_heads, k.size(2))
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        output, weights = _attend_with_weights(q, k, v, mask, dropout_p)
        if average_attn_weights:
            weights = weights.mean(1)
    else:
        output, weights = _nn.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal), None
    output = linear(
        output.permute(2, 0, 1, 3).reshape(length, batch, embed_dim), out_proj_weight, out_proj_bias
    )
    if is_batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)
