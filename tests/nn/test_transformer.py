"""Attention and Transformers by what must hold of them; tests/parity has their numbers beside PyTorch's."""

import pytest

import rushlight as torch
from rushlight import nn


def encoder(**options):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2)


def padding(*lengths):
    return torch.arange(6) >= torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("train", [False, True])
def test_nothing_is_seen_of_the_future(norm_first, train):
    with pytest.warns(UserWarning, match="norm_first was True") if norm_first else torch.enable_grad():
        net = encoder(norm_first=norm_first).train(train)
    x, mask = torch.randn(3, 6, 8), nn.Transformer.generate_square_subsequent_mask(6)
    other = x.clone()
    other[:, 4:] += 1.0
    for context in (torch.no_grad(), torch.enable_grad()):
        with context:
            a, b = net(x, mask, is_causal=True), net(other, mask)
        assert torch.allclose(a[:, :4], b[:, :4], atol=1e-6)
        assert not torch.allclose(a[:, 4:], b[:, 4:], atol=1e-3)


def test_padding_is_not_seen_and_gives_zeros_in_inference():
    net, x = encoder().eval(), torch.randn(3, 6, 8)
    other = x.masked_fill(padding(6, 2, 0)[..., None], 5.0)
    with torch.no_grad():
        a, b = (net(v, src_key_padding_mask=padding(6, 2, 0)) for v in (x, other))
        alone = net(x[1:2, :2])
    assert torch.equal(a, b)
    assert torch.allclose(a[1:2, :2], alone, atol=1e-6)
    assert (a[1, 2:] == 0).all() and (a[2] == 0).all() and not (a[0] == 0).any()
    given = net(x[:2], src_key_padding_mask=padding(6, 2))  # with gradients padding is computed as well
    assert torch.allclose(given[1, :2], a[1, :2], atol=1e-6) and not (given[1, 2:] == 0).any()


def test_groups_of_sequences_are_as_single_ones():
    """More sequences than a layer takes at once, with a mask for each."""
    net = encoder().eval()
    x, masks = torch.randn(40, 60, 8), torch.rand(80, 60, 60) < 0.2
    with torch.no_grad():
        whole = net(x, masks)
        parts = [net(x[i : i + 1], masks[2 * i : 2 * i + 2]) for i in range(40)]
    assert torch.allclose(whole, torch.cat(parts), atol=1e-5, equal_nan=True)


def test_a_hidden_query_is_nan_in_inference_and_zero_elsewhere():
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x, mask = torch.randn(2, 6, 8), torch.zeros(6, 6, dtype=torch.bool)
    mask[1] = True
    with torch.no_grad():
        inference, _ = attention(x, x, x, attn_mask=mask, need_weights=False)
    trained, _ = attention(x, x, x, attn_mask=mask, need_weights=False)
    assert inference[:, 1].isnan().all() and not inference[:, 2:].isnan().any()
    assert (trained[:, 1] == 0).all() and torch.allclose(trained[:, 2:], inference[:, 2:], atol=1e-6)


def test_weights_are_shares():
    attention = nn.MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True)
    query, key, value = torch.randn(4, 2, 8), torch.randn(6, 2, 3), torch.randn(6, 2, 5)
    output, weights = attention(query, key, value, key_padding_mask=padding(6, 2))
    assert output.shape == (4, 2, 8) and weights.shape == (2, 4, 8)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4)) and (weights[1, :, 2:6] == 0).all()


def test_the_private_operators_can_be_switched_off():
    mha = torch.backends.mha
    net, x = encoder().eval(), torch.randn(2, 6, 8)
    with torch.no_grad():
        fast = net(x, src_key_padding_mask=padding(6, 3))
        mha.set_fastpath_enabled(False)
        try:
            assert mha.get_fastpath_enabled() is False
            slow = net(x, src_key_padding_mask=padding(6, 3))
        finally:
            mha.set_fastpath_enabled(True)
    assert torch.allclose(fast[1, :3], slow[1, :3], atol=1e-6)
    assert (fast[1, 3:] == 0).all() and not (slow[1, 3:] == 0).any()
