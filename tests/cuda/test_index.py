"""Indexing, masks and padding beyond the samples: sizes over one tile, gradients, wrong indices."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = f"cuda:{min(torch.cuda.device_count(), 2) - 1}"


def there(x):
    return x.detach().to(DEVICE).requires_grad_(x.requires_grad)


def assert_gradients_agree(function, *inputs):
    """function(*inputs) and its gradients are those of the CPU."""
    copies = [there(x) for x in inputs]
    ours, theirs = function(*copies), function(*inputs)
    assert torch.allclose(ours.cpu(), theirs, atol=1e-5)
    weights = torch.rand(theirs.shape)
    (theirs * weights).sum().backward()
    (ours * weights.to(DEVICE)).sum().backward()
    for x, y in zip(inputs, copies, strict=True):
        if x.requires_grad:
            assert torch.allclose(y.grad.cpu(), x.grad, atol=1e-5)
            x.grad = None


def test_masks_pick_and_fill():
    x = torch.randn(4, 5, 6)
    mask, rows = x > 0, x[..., 0] > 0
    there_x = x.to(DEVICE)
    for key in (mask, rows, (slice(None), mask[0, :, 0], 2), (slice(None), slice(None), mask[0, 0])):
        key = key if isinstance(key, tuple) else (key,)
        moved = tuple(k.to(DEVICE) if isinstance(k, torch.Tensor) else k for k in key)
        assert torch.equal(there_x[moved].cpu(), x[key])
        assert torch.equal(there_x[key].cpu(), x[key])  # indices of the CPU follow
    copy = there_x.clone()
    x[mask], copy[mask.to(DEVICE)] = 7.0, 7.0
    x[rows], copy[rows.to(DEVICE)] = torch.arange(6.0), torch.arange(6.0, device=DEVICE)
    assert torch.equal(copy.cpu(), x)
    with pytest.raises(IndexError, match=r"The shape of the mask \[3\] at index 0 does not match"):
        there_x[torch.ones(3, dtype=torch.bool, device=DEVICE)]


def test_lists_and_truths_index():
    x = torch.randn(4, 5, 6)
    for key in (True, False, [1, -1], ([1, 2], slice(None), [0, 3]), (Ellipsis, [5, 5, 0])):
        assert torch.equal(x.to(DEVICE)[key].cpu(), x[key])


@pytest.mark.parametrize("n", [1, 255, 2049, 9000])
def test_elements_that_are_not_zero(n):
    x = torch.where(torch.rand(2, n) > 0.6, torch.randn(2, n), torch.zeros(2, n))
    y = x.to(DEVICE)
    assert torch.equal(y.nonzero().cpu(), x.nonzero())
    assert torch.equal(y.t().nonzero().cpu(), x.t().nonzero())
    assert torch.equal(y.t()[y.t() > 0].cpu(), x.t()[x.t() > 0])
    mask, source = x > 0, torch.arange(2.0 * n)
    poured = y.masked_scatter(mask.to(DEVICE), source.to(DEVICE))
    assert torch.equal(poured.cpu(), x.masked_scatter(mask, source))


def test_places_among_more_tiles_than_threads():
    places = torch.tensor([0, 5000, 524287, 524288, 524290, 540000])
    x = torch.zeros(540001, dtype=torch.bool)
    x[places] = True
    assert torch.equal(x.to(DEVICE).nonzero()[:, 0].cpu(), places)


def test_the_last_of_several_wins():
    index = torch.randint(7, (3000,))
    values = torch.arange(3000.0)
    x, y = torch.zeros(7), torch.zeros(7, device=DEVICE)
    x[index], y[index.to(DEVICE)] = values, values.to(DEVICE)
    assert torch.equal(y.cpu(), x)
    assert torch.equal(y.cpu(), torch.zeros(7).scatter(0, index, values))
    assert torch.equal(torch.zeros(7, device=DEVICE).scatter(0, index.to(DEVICE), values.to(DEVICE)).cpu(), x)
    rows, block = torch.tensor([2, 2, 0, 2]), torch.randn(4, 300)
    copied = torch.zeros(3, 300, device=DEVICE).index_copy_(0, rows.to(DEVICE), block.to(DEVICE))
    assert torch.equal(copied.cpu(), torch.zeros(3, 300).index_copy_(0, rows, block))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64, torch.bfloat16, torch.float64])
def test_sums_of_many(dtype):
    index, values = torch.randint(5, (700,)), torch.randint(0, 2, (700,)).to(dtype)
    x, y = torch.zeros(5, dtype=dtype), torch.zeros(5, dtype=dtype, device=DEVICE)
    x.scatter_add_(0, index, values)
    y.scatter_add_(0, index.to(DEVICE), values.to(DEVICE))
    assert torch.equal(y.cpu(), x)


def test_gradients_through_indices():
    index = torch.tensor([[0, 3], [1, 1]])
    x = torch.randn(4, 5, requires_grad=True)
    assert_gradients_agree(lambda x, i: x[i], x, index)
    assert_gradients_agree(lambda x, i: x.gather(1, i), x, index)
    assert_gradients_agree(lambda x, i: x.index_select(0, i.flatten()), x, index)
    assert_gradients_agree(lambda x, i: F.embedding(i, x, padding_idx=1), x, index)
    assert_gradients_agree(lambda x, i: F.embedding(i, x, scale_grad_by_freq=True), x, index)
    assert_gradients_agree(lambda x, m: x.masked_fill(m, 2.0), x, torch.rand(4, 5) > 0.5)
    assert_gradients_agree(lambda x, y: torch.cat([x, y, x], 1), x, torch.randn(4, 2, requires_grad=True))
    assert_gradients_agree(lambda x: x.roll((1, 2), (0, 1)).flip(1).repeat(2, 1).tril(1), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    "shape, pad",
    [
        ((2, 3, 7), (3, 4)),
        ((2, 3, 5, 6), (2, 3, 4, 1)),
        ((1, 2, 4, 5, 6), (1, 2, 3, 0, 2, 3)),
        ((2, 3, 5, 6), (-1, 3, 2, -2)),
        ((1, 1, 300), (150, 20)),
    ],
)
def test_padding_and_its_gradient(mode, shape, pad):
    assert_gradients_agree(lambda x: F.pad(x, pad, mode), torch.randn(shape, requires_grad=True))


def test_an_index_out_of_range_is_said_at_the_next_wait():
    x = torch.randn(4).to(DEVICE)
    for call in (
        lambda i: x[i],
        lambda i: x.gather(0, i),
        lambda i: x.scatter(0, i, x[:1]),
        lambda i: x.index_add(0, i, x[:1]),
        lambda i: F.embedding(i, x.reshape(2, 2)),
    ):
        call(torch.tensor([9], device=DEVICE))
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            x.cpu()
        assert x.cpu().isfinite().all()


@pytest.mark.parametrize(
    "pick", [torch.take, lambda x, i: torch.gather(x, 0, i), lambda x, i: x.index_select(0, i)]
)
def test_an_index_on_the_cpu_is_not_read_as_memory_of_the_device(pick):
    with pytest.raises(RuntimeError, match="got index is on cpu, different from other tensors on cuda:0"):
        pick(torch.ones(3, device="cuda")[0], torch.tensor(0)).cpu()
