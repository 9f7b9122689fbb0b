"""Attention of more keys, rows and columns than a warp takes at once, and its gradients."""

import numpy as np
import pytest

import op_samples as samples
import rushlight as torch
import rushlight.nn.functional as F

DEVICES = [f"cuda:{i}" for i in range(min(torch.cuda.device_count(), 2))]
# batches, rows, keys, width, width of values; arguments
CALLS = {
    "many keys": ((2, 2), 3, 70, 4, 5, {}),
    "many rows, causal": ((1, 2), 40, 37, 3, 4, {"is_causal": True}),
    "wide": ((1, 1), 2, 5, 130, 140, {"scale": 0.1}),
    "a mask of numbers": ((2, 3), 5, 34, 4, 4, {"attn_mask": (3, 1, 34)}),
}


def draw(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed + sum(shape)).standard_normal(shape), dtype=torch.float32)


def results(call, dtype, device):
    batches, rows, keys, width, wide, kwargs = CALLS[call]
    dtype = getattr(torch, dtype)
    sizes = (rows, width), (keys, width), (keys, wide)
    leaves = [draw(*batches, *s, seed=i).to(dtype).to(device) for i, s in enumerate(sizes)]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    if "attn_mask" in kwargs:
        kwargs = {"attn_mask": draw(*kwargs["attn_mask"]).to(dtype).to(device)}
    out = F.scaled_dot_product_attention(*leaves, **kwargs)
    grad = draw(*out.shape, seed=9).to(dtype).to(device)
    return [out.detach(), *torch.autograd.grad(out, leaves, grad)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("call", CALLS)
def test_attention_and_gradients(call, dtype):
    expected = results(call, dtype, "cpu")
    for device in DEVICES if dtype == "float32" else DEVICES[:1]:
        for ours, theirs in zip(results(call, dtype, device), expected, strict=True):
            assert ours.device == torch.device(device) and ours.shape == theirs.shape
            found, wanted = ours.cpu().double().numpy(), theirs.double().numpy()
            np.testing.assert_allclose(found, wanted, **samples.tolerance(dtype))


def test_a_row_that_sees_no_key_is_zero():
    q, k, v = draw(1, 1, 3, 4), draw(1, 1, 40, 4), draw(1, 1, 40, 4)
    mask = torch.ones(3, 40, dtype=torch.bool)
    mask[1] = False
    found = F.scaled_dot_product_attention(*(t.to(DEVICES[0]) for t in (q, k, v, mask))).cpu()
    assert torch.equal(found[0, 0, 1], torch.zeros(4))
    wanted = F.scaled_dot_product_attention(q, k, v, mask)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)
