"""Samples and NumPy's answers: attention."""

import numpy as np

from samples.sample import WHOLE, S, but, fixed, mask, x


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
    S(fixed(np.ones((2, 3, 4))), fixed(np.ones((2, 0, 4))), fixed(np.ones((2, 0, 4)))),
    S(_q(0, 1, 3, 4), _q(0, 1, 2, 4), _q(0, 1, 2, 4)),
]
_FLASH = [
    *(s for s in _CALLS if not s.kwargs.get("enable_gqa")),
    S(_q(1, 1, 7, 4), _q(1, 1, 9, 4), _q(1, 1, 9, 3), 0.0, True, attn_mask=x(9), scale=0.3),
]
SAMPLES = {
    "scaled_dot_product_attention": but(WHOLE, _CALLS),
    "_scaled_dot_product_attention_math": but(WHOLE, _CALLS),
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


NUMPY = {
    "scaled_dot_product_attention": _kept,
    "_scaled_dot_product_attention_math": _attention,
}
