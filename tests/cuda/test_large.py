"""Tensors whose elements lie 2^31 or 2^32 elements apart, in 2^33 bytes of which hardly any are touched."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = "cuda:0"
WIDTH = 960
# what an int cannot count; what an unsigned one cannot
APART = {torch.float32: 1 << 31, torch.bfloat16: 1 << 32}


def rows(dtype):
    """(two rows on the CPU, the same on a device, far from each other)"""
    values = torch.randn(2, WIDTH, generator=torch.Generator().manual_seed(1)).to(dtype)
    memory = torch.empty(APART[dtype] + WIDTH, device=DEVICE, dtype=dtype)
    far = memory.as_strided((2, WIDTH), (APART[dtype], 1))
    far.copy_(values)
    return values, far


def index(*values, like):
    return torch.tensor(values, device=like.device)


def numbers(*shape, like):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2)).to(like)


READ = {
    "copy": lambda x: x.clone(),
    "transposed": lambda x: x.t().contiguous(),
    "mul": lambda x: x * x[1],
    "compare": lambda x: x > 0.5,
    "to float16": lambda x: x.to(torch.float16),
    "where": lambda x: torch.where(x > 0, x, x.flip(0)),
    "sum": lambda x: x.sum(),
    "sum of columns": lambda x: x.sum(0),
    "sum of rows": lambda x: x.sum(1),
    "argmax": lambda x: x.argmax(0),
    "var": lambda x: x.var(1),
    "softmax of columns": lambda x: x.softmax(0),
    "softmax of rows": lambda x: x.softmax(1),
    "cumsum of columns": lambda x: x.cumsum(0),
    "cumsum of rows": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(1)[0],
    "cat": lambda x: torch.cat([x, x]),
    "roll": lambda x: x.roll(1, 0),
    "pad": lambda x: F.pad(x[:, None], (1, 2), mode="reflect"),
    "layer_norm": lambda x: F.layer_norm(x, (WIDTH,)),
    "batch_norm": lambda x: F.batch_norm(x.view(2, 4, -1), None, None, training=True),
    "group_norm": lambda x: F.group_norm(x.view(2, 4, -1), 2),
    "matmul": lambda x: x @ numbers(WIDTH, 7, like=x),
    "matmul from the right": lambda x: numbers(7, 2, like=x) @ x,
    "linear": lambda x: F.linear(x, numbers(3, WIDTH, like=x)),
    "conv1d": lambda x: F.conv1d(x.view(2, 4, -1), numbers(8, 4, 3, like=x), padding=1),
    "conv2d": lambda x: F.conv2d(x.view(2, 4, 12, 20), numbers(8, 2, 3, 3, like=x), groups=2),
    "max_pool2d": lambda x: F.max_pool2d(x.view(2, 4, 12, 20), 3, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x.view(2, 4, 12, 20), 2),
    "interpolate": lambda x: F.interpolate(x.view(2, 4, 12, 20), scale_factor=1.5, mode="bilinear"),
    "cross_entropy": lambda x: F.cross_entropy(x, index(3, WIDTH - 1, like=x)),
    "index_select": lambda x: x.index_select(0, index(1, 0, 1, like=x)),
    "index": lambda x: x[index(1, 0, like=x), index(5, WIDTH - 1, like=x)],
    "gather": lambda x: x.gather(0, index(1, 0, like=x)[:, None].expand(2, WIDTH)),
    "take_along_dim": lambda x: x.gather(1, index(7, 3, like=x)[:, None]),
    "embedding": lambda x: F.embedding(index(1, 0, 1, like=x), x),
    "masked_select": lambda x: x[x > 1],
    "nonzero": lambda x: (x > 1).nonzero(),
    "attention": lambda x: F.scaled_dot_product_attention(*[x.view(2, 4, 12, 20)] * 3),
}


def assert_same(far, near):
    assert far.dtype == near.dtype
    close = 3e-2 if near.dtype == torch.bfloat16 else 1e-4
    torch.testing.assert_close(far.cpu(), near, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", APART)
@pytest.mark.parametrize("name", READ)
def test_reading(name, dtype):
    near, far = rows(dtype)
    assert_same(READ[name](far), READ[name](near))


WRITTEN = {
    "fill": lambda x: x.fill_(3),
    "add": lambda x: x.add_(1.5),
    "exp": lambda x: torch.exp(x.abs(), out=x),
    "column": lambda x: x[:, 5].zero_(),
    "index_fill": lambda x: x.index_fill_(0, index(1, like=x), 2.0),
    "index_add": lambda x: x.index_add_(0, index(1, 1, like=x), numbers(2, WIDTH, like=x)),
    "index_put": lambda x: x.index_put_((index(1, 0, like=x), index(4, 2, like=x)), numbers(2, like=x)),
    "scatter": lambda x: x.scatter_(0, index(1, 0, like=x)[:, None], numbers(2, 1, like=x)),
    "scatter_add": lambda x: x.scatter_add_(1, index(9, 2, like=x)[:, None], numbers(2, 1, like=x)),
    "masked_fill": lambda x: x.masked_fill_(x > 0, -1.0),
    "addmm": lambda x: x.addmm_(numbers(2, 3, like=x), numbers(3, WIDTH, like=x)),
    "lists": lambda x: torch._foreach_mul_([x, x[1]], 2.0),
    "clipped": lambda x: torch.nn.utils.clip_grads_with_norm_([holder(x)], 1.0, x.norm()),
}


def holder(grad):
    leaf = grad.detach().requires_grad_()
    leaf.grad = grad
    return leaf


@pytest.mark.parametrize("dtype", APART)
@pytest.mark.parametrize("name", WRITTEN)
def test_writing(name, dtype):
    near, far = rows(dtype)
    before = far.clone()
    WRITTEN[name](near)
    WRITTEN[name](far)
    assert_same(far, near)
    assert not torch.equal(far, before)


@pytest.mark.parametrize("dtype", APART)
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW])
def test_steps(make, dtype):
    results = []
    for x in rows(dtype):
        x.requires_grad_()
        optimizer = make([x], lr=0.1)
        (x * numbers(2, WIDTH, like=x)).sum().backward()
        optimizer.step()
        results.append(x.detach())
    assert_same(*reversed(results))


def test_rows_of_a_very_tall_matrix():
    width = 512
    tall = torch.empty((1 << 31) // width + 8, width, device=DEVICE)
    values = torch.randn(3, width)
    tall[-3:] = values
    last = torch.tensor([tall.shape[0] - 1, tall.shape[0] - 3], device=DEVICE)
    expected = values[torch.tensor([2, 0])]
    for found in (
        F.embedding(last, tall),
        tall[last],
        tall.index_select(0, last),
        tall[-3:][torch.tensor([2, 0], device=DEVICE)],
        tall.gather(0, last[:, None].expand(2, width)),
        tall.view(-1).take(last[:, None] * width + torch.arange(width, device=DEVICE)),
    ):
        assert torch.equal(found.cpu(), expected)
    tall.index_add_(0, last, torch.ones(2, width, device=DEVICE))
    assert torch.equal(tall[-1].cpu(), values[2] + 1)
