"""Samples and NumPy's answers: attention."""

import numpy as np

from op_samples.pytorch import dense_aten
from op_samples.sample import WHOLE, S, but, fixed, mask, x
from rushlight import _C

_HALVES = ("float16", "bfloat16")


def _q(*shape):
    return x(*shape, low=-2, high=2)


_HOLES = np.array([[True, False, True, True, False], [False] * 5, [True] * 5])
_CALLS = [
    S(_q(2, 3, 4), _q(2, 5, 4), _q(2, 5, 4)),
    S(_q(3, 4), _q(5, 4), _q(5, 6), is_causal=True),
    S(_q(2, 2, 5, 4), _q(2, 2, 3, 4), _q(2, 2, 3, 4), is_causal=True),
    S(_q(2, 2, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), scale=-0.75),
    S(_q(2, 2, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), fixed(_HOLES)),
    S(_q(2, 2, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), x(3, 5)),
    S(_q(2, 3, 4), _q(2, 5, 4), _q(2, 5, 6), x(2, 1, 5)),
    S(_q(2, 4, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), mask(2, 1, 1, 5), enable_gqa=True),
]
# PyTorch looks at the dtype only where there is something to compute.
_EMPTY = [
    S(*(fixed(np.ones(s)) for s in (rows, keys, keys)))
    for rows, keys in (((2, 3, 4), (2, 0, 4)), ((0, 1, 3, 4), (0, 1, 2, 4)), ((1, 2, 0, 4), (1, 2, 3, 4)))
]
_FLASH = [
    *(S(_q(2, 2, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), 0.0, causal) for causal in (False, True)),
    S(_q(2, 2, 3, 4), _q(2, 2, 5, 4), _q(2, 2, 5, 4), attn_mask=fixed(_HOLES.astype(bool))),
    S(_q(1, 1, 7, 4), _q(1, 1, 9, 4), _q(1, 1, 9, 4), 0.0, True, attn_mask=mask(1, 9), scale=0.3),
    S(_q(0, 1, 3, 4), _q(0, 1, 2, 4), _q(0, 1, 2, 4)),
]
SAMPLES = {
    "scaled_dot_product_attention": [*but(WHOLE, _CALLS), *_EMPTY],
    "_scaled_dot_product_attention_math": [*but(WHOLE, _CALLS), *_EMPTY],
    "flash_attention": _FLASH,
}
BACKWARD = {
    "flash_attention_backward": [
        S(*(_q(*s) for s in (rows, rows, keys, keys, rows)), x(*rows[:-1], low=1, high=4), 0.0, causal)
        for rows, keys, causal in (
            ((1, 2, 3, 4), (1, 2, 5, 4), False),
            ((2, 1, 9, 4), (2, 1, 9, 4), False),
            ((1, 1, 0, 4), (1, 1, 5, 4), True),
        )
    ],
}


def _weights(q, k, mask, causal, scale):
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = scores + mask
    most = scores.max(-1, keepdims=True, initial=-1e300)
    e = np.exp(scores - most)
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def _attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    groups = q.shape[-3] // k.shape[-3] if enable_gqa else 1
    weights = _weights(q, k.repeat(groups, -3) if groups > 1 else k, mask, is_causal, scale)
    return weights @ (v.repeat(groups, -3) if groups > 1 else v), weights


def _kept(q, k, v, mask=None, **kwargs):
    if mask is not None and mask.dtype == bool:
        mask = np.where(mask, 0, -np.inf)
    return _attention(q, k, v, mask, **kwargs)[0]


def _logsumexp(q, k, v, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    """Attention, and the logarithm of the sum that each row is divided by."""
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if attn_mask is not None:
        scores = scores + (np.where(attn_mask, 0, -np.inf) if attn_mask.dtype == bool else attn_mask)
    total = np.exp(scores).sum(-1)
    weights = np.exp(scores) / np.where(total == 0, 1, total)[..., None]
    return weights @ v, np.log(np.where(total == 0, 1, total))


def _consistent(grad, q, k, v, out, logsumexp):
    """The gradient operator is defined where these are those of the forward pass."""
    return grad, q, k, v, *_C._scaled_dot_product_flash_attention_for_cpu(q, k, v)


DOMAIN = {"flash_attention_backward": _consistent}
NUMPY = {
    "flash_attention": _logsumexp,
    "scaled_dot_product_attention": _kept,
    "_scaled_dot_product_attention_math": _attention,
}


def _flash(torch):
    """PyTorch's, which takes the last dimension for dense and masks to be added."""
    run = dense_aten("_scaled_dot_product_flash_attention_for_cpu")(torch)

    def flash(query, *args, attn_mask=None, **kwargs):
        if attn_mask is not None:
            zeros = torch.zeros(attn_mask.shape, dtype=query.dtype)
            attn_mask = zeros.masked_fill(~attn_mask, -np.inf)
        return run(query, *args, attn_mask=attn_mask, **kwargs)

    return flash


PYTORCH = {
    "flash_attention": _flash,
    "flash_attention_backward": dense_aten("_scaled_dot_product_flash_attention_for_cpu_backward"),
}
WIDER = {("flash_attention_backward", dtype) for dtype in _HALVES}
