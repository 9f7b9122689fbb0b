"""flex_attention() beside the sums written out: what mods see, chunks, blocks, gradients, what is refused."""

import math
import warnings

import pytest

import rushlight as torch
import rushlight.nn.attention.flex_attention as flex
from rushlight.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b, h, q, kv):
    return q >= kv


def written_out(query, key, value, bias=None, seen=None):
    groups = query.size(1) // key.size(1)
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    scores = scores if bias is None else scores + bias
    scores = scores if seen is None else scores.masked_fill(~seen, -math.inf)
    shares = scores.softmax(-1)
    return torch.where(shares.isnan(), 0.0, shares) @ value


def draw(*shape, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=dtype)


@pytest.fixture(params=[1 << 22, 1, 700], ids=["whole", "by row", "by some rows"])
def chunk(request, monkeypatch):
    monkeypatch.setattr(flex, "_SCORES_AT_ONCE", request.param)


def test_mods_blocks_and_groups(chunk):
    query, key, value = draw(2, 4, 37, 8), draw(2, 2, 50, 8, seed=1), draw(2, 2, 50, 6, seed=2)
    table, document = draw(4, 90, seed=3), torch.arange(50).div(13, rounding_mode="floor").expand(2, 50)
    inputs = [t.requires_grad_() for t in (query, key, value, table)]
    mask = create_block_mask(
        lambda b, h, q, kv: (q - 3 >= kv) & (document[b][q] == document[b, kv]),
        2,
        4,
        37,
        50,
        BLOCK_SIZE=(8, 16),
    )
    out, aux = flex_attention(
        *inputs[:3],
        lambda score, b, h, q, kv: score + table[h, q - kv + 50],
        mask,
        enable_gqa=True,
        return_aux=AuxRequest(lse=True, max_scores=True),
    )
    q, kv = torch.arange(37)[:, None], torch.arange(50)
    seen = (q - 3 >= kv) & (document[0][q] == document[0][kv])
    expected = written_out(*inputs[:3], table[:, q - kv + 50], seen)
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    assert (out[:, :, :3] == 0).all() and aux.lse[:, :, :3].isneginf().all()
    assert (aux.max_scores <= aux.lse).all()
    got = torch.autograd.grad(out.sin().sum(), inputs)
    for mine, theirs in zip(got, torch.autograd.grad(expected.sin().sum(), inputs), strict=True):
        torch.testing.assert_close(mine, torch.nan_to_num(theirs), rtol=1e-10, atol=1e-10)


def test_mask_alone_is_fused(chunk):
    query, key, value = (draw(1, 2, 70, 8, seed=i).requires_grad_() for i in range(3))
    mask = create_block_mask(
        lambda b, h, q, kv: (q >= kv) & (q - kv < 20) & (q > 4), None, None, 70, 70, BLOCK_SIZE=16
    )
    out = flex_attention(query, key, value, block_mask=mask)
    seen = create_mask(mask.mask_mod, 1, 1, 70, 70)
    torch.testing.assert_close(out, written_out(query, key, value, seen=seen), rtol=1e-12, atol=1e-12)
    grads = torch.autograd.grad(out.sin().sum(), (query, key, value))
    assert all(g.isfinite().all() for g in grads)
    torch.testing.assert_close(flex_attention(query, key, value), written_out(query, key, value))


def test_a_double_backward(chunk):
    query, key, value = (draw(1, 1, 4, 2, seed=i).requires_grad_() for i in range(3))
    scale = draw(1, seed=4).requires_grad_()

    def run(query, key, value, scale):
        return flex_attention(query, key, value, lambda s, b, h, q, kv: torch.tanh(s / scale) * scale)

    assert torch.autograd.gradcheck(run, (query, key, value, scale))
    assert torch.autograd.gradgradcheck(run, (query, key, value, scale))


def test_keys_that_no_block_lists_are_not_computed():
    seen = []

    def score_mod(score, b, h, q, kv):
        seen.append(tuple(score.shape))
        return score

    mask = create_block_mask(
        lambda b, h, q, kv: (kv >= 32) & (kv < 48) & (q >= 0), 1, 1, 64, 64, BLOCK_SIZE=16
    )
    flex_attention(*[draw(1, 1, 64, 4)] * 3, score_mod, mask)
    assert seen == [(1, 1, 64, 16)]


def test_lists_of_blocks_count_without_a_function():
    counts = torch.tensor([[[1, 2]]], dtype=torch.int32)
    columns = torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32)
    mask = BlockMask.from_kv_blocks(counts, columns, BLOCK_SIZE=4)
    assert mask.shape == (1, 1, 8, 8) and mask.mask_mod is noop_mask
    query = draw(1, 1, 8, 4)
    seen = torch.tensor([[0, 1], [1, 1]]).bool().repeat_interleave(4, 0).repeat_interleave(4, 1)
    expected = written_out(query, query, query, seen=seen)
    torch.testing.assert_close(flex_attention(query, query, query, block_mask=mask), expected)
    torch.testing.assert_close(flex_attention(query, query, query, lambda s, *_: s, mask), expected)


def test_halves_and_autocast():
    query = draw(1, 2, 9, 8, dtype=torch.float32)
    half = query.bfloat16()
    out, aux = flex_attention(half, half, half, lambda s, *_: s, return_aux=AuxRequest(lse=True))
    assert out.dtype == torch.bfloat16 and aux.lse.dtype == torch.float32 and aux.max_scores is None
    with torch.autocast("cpu"):
        assert flex_attention(query, query, query, lambda s, *_: s).dtype == torch.bfloat16


def test_layout_follows_the_queries():
    query = draw(2, 5, 3, 4).transpose(1, 2)
    for score_mod in (None, lambda score, *_: score):
        out = flex_attention(query, query, query, score_mod)
        assert out.transpose(1, 2).is_contiguous() and out.shape == (2, 3, 5, 4)


def test_a_part_of_a_mask():
    query, key = draw(1, 1, 64, 4), draw(1, 1, 64, 4, seed=1)
    whole = create_block_mask(causal, 1, 1, 64, 64, BLOCK_SIZE=16)
    part = whole[:, :, 2]
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex_attention(query[:, :, 32:48], key, key, block_mask=part)
    part.mask_mod = lambda b, h, q, kv: q + 32 >= kv
    part.seq_lengths = (16, 64)
    got = flex_attention(query[:, :, 32:48], key, key, block_mask=part)
    torch.testing.assert_close(got, flex_attention(query, key, key, block_mask=whole)[:, :, 32:48])
    short = whole._adjust(40, 24)
    assert short.shape == (1, 1, 40, 24)
    got = flex_attention(query[:, :, :40], key[:, :, :24], key[:, :, :24], block_mask=short)
    torch.testing.assert_close(
        got,
        written_out(query[:, :, :40], key[:, :, :24], key[:, :, :24], seen=create_mask(causal, 1, 1, 40, 24)),
    )


def test_masks_of_masks():
    near = lambda b, h, q, kv: (q - kv).abs() < 3  # noqa: E731
    q, kv = torch.arange(8)[:, None], torch.arange(8)
    assert (
        create_mask(and_masks(causal, near), 1, 1, 8, 8)[0, 0] == ((q >= kv) & ((q - kv).abs() < 3))
    ).all()
    assert (create_mask(or_masks(causal, near), 1, 1, 8, 8)[0, 0] == ((q >= kv) | ((q - kv).abs() < 3))).all()
    assert create_mask(and_masks(), 2, 3, 4, 5).shape == (2, 3, 4, 5)
    with pytest.raises(RuntimeError, match="All inputs should be callable mask_mods"):
        or_masks(causal, 3)


def test_what_mods_may_not_do():
    query = draw(2, 3, 8, 4)
    row = draw(5)
    with pytest.raises(RuntimeError, match="one value for each position"):
        flex_attention(query, query, query, lambda s, b, h, q, kv: s[..., None] + row)
    with pytest.raises(ValueError, match="must only return Tensors"):
        flex_attention(query, query, query, lambda s, b, h, q, kv: 3.0)
    with pytest.raises(RuntimeError, match="[Bb]oolean"):
        flex_attention(query, query, query, lambda s, b, h, q, kv: s if q > 3 else -s)
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 2"):
        create_block_mask(lambda q, kv: q >= kv, 1, 1, 8, 8)
    with pytest.raises(AssertionError, match=r"mask.dtype must be torch.bool, got"):
        create_block_mask(lambda b, h, q, kv: q - kv, 1, 1, 8, 8)
    mask = create_block_mask(causal, 3, 1, 8, 8, BLOCK_SIZE=4)
    with pytest.raises(ValueError, match="does not fit queries of shape"):
        flex_attention(query, query, query, block_mask=mask)


def test_no_keys_and_no_queries():
    query, none = draw(1, 2, 3, 4), draw(1, 2, 0, 4)
    for score_mod in (None, lambda score, *_: score):
        assert (flex_attention(query, none, none, score_mod) == 0).all()
        assert flex_attention(none, query, query, score_mod).shape == (1, 2, 0, 4)


def test_return_lse_warns_once(monkeypatch):
    monkeypatch.setattr(flex, "_WARNINGS_SHOWN", set())
    query = draw(1, 1, 3, 4)
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        out, lse = flex_attention(query, query, query, return_lse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flex_attention(query, query, query, return_lse=True)
    assert lse.shape == (1, 1, 3)
    torch.testing.assert_close(lse, (query @ query.mT / 2).logsumexp(-1))


def test_a_node_of_a_tree():
    mask = create_block_mask(causal, 1, 2, 40, 40, BLOCK_SIZE=16, compute_dq_write_order=True)
    leaves, context = mask._flatten()
    again = BlockMask._unflatten(leaves, context)
    assert repr(again) == repr(mask) and again.dq_kv_order_spt is True
    assert [key.name for key, _ in mask._flatten_with_keys()[0]] == BlockMask._TENSOR_ATTRS[:-1]
    assert repr(mask.to("cpu")) == repr(mask)
