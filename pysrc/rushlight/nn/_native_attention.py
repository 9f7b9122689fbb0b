"""PyTorch's private operators for attention where nobody wants a gradient, and their numbers.

A mask counts as True wherever it is not 0, and a row that sees no key is NaN.
"""

import math

from rushlight import _C, _missing
from rushlight._C import _nn

__getattr__ = _missing.module_getattr(__name__)


def _check(query, key, value, embed_dim, num_head):
    if query.dim() != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.dim()}-D tensor")
    if query.size(-1) != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.size(-1)}")
    if query.shape != key.shape or key.shape != value.shape:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    if embed_dim % num_head != 0:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")


def _hidden(mask, mask_type, batch, heads, length):
    """The mask as a boolean one that broadcasts to (N, heads, L, L): True where a key is not seen."""
    if mask is None:
        return None
    shapes = ((length, length), (batch, length), (batch, heads, length, length))
    names = ("(L, L)", "(B, L)")
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type not in (0, 1, 2):
        raise RuntimeError(
            "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)"
        )
    if mask.shape != shapes[mask_type]:
        fits = "match input shape" if mask_type == 2 else f"be {names[mask_type]}"
        raise RuntimeError(f"For mask_type == {mask_type} mask shape should {fits}")
    mask = mask.bool()
    return mask[:, None, None] if mask_type == 1 else mask


def _attend(q, k, v, hidden):
    if hidden is None:
        return _nn.scaled_dot_product_attention(q, k, v)
    output = _nn.scaled_dot_product_attention(q, k, v, ~hidden)
    blind = hidden.all(-1, keepdim=True)
    if blind.is_meta or blind.any():
        output = output.masked_fill(blind, math.nan)
    return output


def _attend_with_weights(q, k, v, hidden):
    scores = (q * (1.0 / math.sqrt(q.size(-1)))).matmul(k.transpose(-2, -1))
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    weights = scores.softmax(-1)
    return weights.matmul(v), weights


def _project(query, key, value, weight, bias):
    """The projections of all three; by one product where they are one tensor."""
    if query is key is value:
        return _nn.linear(query, weight, bias).chunk(3, -1)
    sides = zip((query, key, value), weight.chunk(3), bias.chunk(3))
    return [_nn.linear(x, own, its_bias) for x, own, its_bias in sides]


def _self_attention(parts, num_head, proj_weight, proj_bias, hidden, need_weights):
    """What the heads make of the projections (N, L, E), and the weights (N, num_head, L, L) or None."""
    batch, length, size = parts[0].shape
    q, k, v = (part.view(batch, length, num_head, -1).transpose(1, 2) for part in parts)
    if need_weights:
        output, weights = _attend_with_weights(q, k, v, hidden)
    else:
        output, weights = _attend(q, k, v, hidden), None
    output = output.transpose(1, 2).reshape(batch, length, size)
    return _nn.linear(output, proj_weight, proj_bias), weights


def _native_multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    """Self-attention of query (N, L, E), key and value the same: the output, and the weights or None."""
    _check(query, key, value, embed_dim, num_head)
    if query.numel() == 0:
        return query.new_empty(query.shape), None
    parts = _project(query, key, value, qkv_weight, qkv_bias)
    hidden = _hidden(mask, mask_type, query.size(0), num_head, query.size(1))
    output, weights = _self_attention(parts, num_head, proj_weight, proj_bias, hidden, need_weights)
    return output, weights.mean(1) if need_weights and average_attn_weights else weights


_ROWS = 256  # for each thread: what a layer makes of so many stays in its cache from one step to the next


def _groups(src, hidden):
    """A few sequences at a time, with the masks that are theirs."""
    batch, length, _ = src.shape
    some = max(_ROWS * _C.get_num_threads() // length, 1)
    if some >= batch:
        return [(src, hidden)]
    parts = src.split(some)
    own = hidden is not None and hidden.dim() == 4
    return zip(parts, hidden.split(some) if own else [hidden] * len(parts))


def _transformer_encoder_layer_fwd(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    """A layer of an encoder over src (N, L, E), without dropout."""
    _check(src, src, src, embed_dim, num_heads)

    def first(x):
        return _C.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x):
        return _C.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    def layer(x, hidden):
        y = first(x) if norm_first else x
        parts = _project(y, y, y, qkv_weight, qkv_bias)
        x = _self_attention(parts, num_heads, proj_weight, proj_bias, hidden, False)[0].add_(x)
        x = x if norm_first else first(x)
        inner = _nn.linear(second(x) if norm_first else x, ffn_weight_1, ffn_bias_1)
        inner = _nn.gelu_(inner) if use_gelu else inner.relu_()
        x = _nn.linear(inner, ffn_weight_2, ffn_bias_2).add_(x)
        return x if norm_first else second(x)

    if src.numel() == 0:
        return src.new_empty(src.shape)
    hidden = _hidden(mask, mask_type, src.size(0), num_heads, src.size(1))
    made = [layer(*group) for group in _groups(src, hidden)]
    return made[0] if len(made) == 1 else _C.cat(made)
