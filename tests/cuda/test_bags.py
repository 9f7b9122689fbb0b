"""Rows of tables: bags and their gradients, norms, and numbers of rows and places that there are not."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = f"cuda:{min(torch.cuda.device_count(), 2) - 1}"
SUM, MEAN, MAX = range(3)


def assert_bags_agree(table, index, offsets, weights=None, **kwargs):
    """The bags and the gradients are those of the CPU in double precision."""
    inputs = [None if x is None else x.double().clone().requires_grad_() for x in (table, weights)]
    copies = [None if x is None else x.to(DEVICE).requires_grad_() for x in (table, weights)]
    theirs = F.embedding_bag(index, inputs[0], offsets, per_sample_weights=inputs[1], **kwargs)
    ours = F.embedding_bag(
        index.to(DEVICE), copies[0], offsets.to(DEVICE), per_sample_weights=copies[1], **kwargs
    )
    rough = {torch.float64: 1e-9, torch.float32: 1e-4}.get(table.dtype, 3e-2)
    assert torch.allclose(ours.cpu().double(), theirs, rtol=rough, atol=rough)
    grad = torch.randint(1, 4, theirs.shape).to(table.dtype)
    theirs.backward(grad.double())
    ours.backward(grad.to(DEVICE))
    for x, y in zip(inputs, copies, strict=True):
        if x is not None:
            assert torch.allclose(y.grad.cpu().double(), x.grad, rtol=rough, atol=rough)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_any_kind(dtype, mode):
    index, table = torch.randint(9, (300,)), torch.randn(9, 40).to(dtype)
    offsets = torch.tensor([0, 3, 3, 90, 91, 300])
    assert_bags_agree(table, index, offsets, mode=mode)
    assert_bags_agree(table, index.int(), offsets.int(), mode=mode)
    assert_bags_agree(table, index, offsets, mode=mode, padding_idx=-2)
    assert_bags_agree(table, index, offsets, mode=mode, include_last_offset=True, padding_idx=3)
    assert_bags_agree(table[:, ::3], index[::2], offsets[:4], mode=mode)
    if mode == "sum":
        weights = torch.randn(300).to(dtype)
        assert_bags_agree(table, index, offsets, weights, mode="sum")
        assert_bags_agree(table, index, offsets, weights, mode="sum", padding_idx=0, include_last_offset=True)


def test_what_comes_with_bags():
    table, index = torch.randn(5, 6), torch.tensor([1, 4, 1, 0, 2, 2, 4])
    offsets = torch.tensor([0, 3, 3, 5])
    for mode in (SUM, MEAN, MAX):
        for last in (False, True):
            for padding in (-1, 2):
                args = (False, mode, False, None, last, padding)
                ours = torch._embedding_bag(table.to(DEVICE), index.to(DEVICE), offsets.to(DEVICE), *args)
                for one, other in zip(ours, torch._embedding_bag(table, index, offsets, *args), strict=True):
                    assert one.dtype == other.dtype
                    assert torch.allclose(one.cpu().double(), other.double(), atol=1e-5)


def test_gradients_by_how_often_rows_come():
    index = torch.tensor([2, 2, 2, 0, 1, 1])
    table = torch.randn(4, 3).to(DEVICE).requires_grad_()
    offsets = torch.tensor([0, 2], device=DEVICE)
    F.embedding_bag(index.to(DEVICE), table, offsets, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert torch.allclose(table.grad.cpu(), torch.tensor([1.0, 1, 1, 0]).reshape(4, 1).expand(4, 3))


def test_layers_of_bags_train():
    torch.manual_seed(0)
    layer = torch.nn.EmbeddingBag(20, 8, mode="mean", padding_idx=3)
    copy = torch.nn.EmbeddingBag(20, 8, mode="mean", padding_idx=3)
    copy.load_state_dict(layer.state_dict())
    copy.to(DEVICE)
    for _ in range(3):
        index = torch.randint(20, (6, 5))
        for model, where in ((layer, "cpu"), (copy, DEVICE)):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            optimizer.zero_grad()
            model(index.to(where)).square().sum().backward()
            optimizer.step()
    assert torch.allclose(copy.weight.cpu(), layer.weight, atol=1e-5)


@pytest.mark.parametrize("order", [2.0, 1.0, 0.0, 3.0, float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_rows_scaled_to_a_norm(order, dtype):
    table, index = torch.randn(30, 70).to(dtype), torch.randint(30, (5, 6))
    most = 0.3 if order == float("-inf") else 4.0
    ours = torch.embedding_renorm_(table.to(DEVICE), index.to(DEVICE), most, order)
    rough = 2e-3 if dtype == torch.float16 else 1e-5
    assert torch.allclose(ours.cpu(), torch.embedding_renorm_(table.clone(), index, most, order), rtol=rough)
    layer = torch.nn.Embedding(30, 70, max_norm=1.0).to(DEVICE)
    layer(index.to(DEVICE))
    assert float(layer.weight[index.to(DEVICE).flatten()].detach().norm(dim=-1).max()) < 1.001


def test_parts_of_any_strides():
    x, source = torch.randn(6, 7), torch.randn(5, 5)
    for size, stride, offset in (((5, 5), (7, 1), 3), ((5, 5), (2, 3), 0), ((5, 5), (0, 1), 1)):
        ours = torch.as_strided_scatter(x.to(DEVICE), source.to(DEVICE), size, stride, offset)
        assert torch.equal(ours.cpu(), torch.as_strided_scatter(x, source, size, stride, offset))
    line = torch.randn(9)
    for view in (lambda t: t.as_strided((4, 3), (1, 2)), lambda t: t.as_strided((4, 3), (0, 1))):
        ours = torch.as_strided_scatter(view(line.to(DEVICE)), source[0, :3].to(DEVICE), (3,), (1,), 1)
        assert torch.equal(ours.cpu(), torch.as_strided_scatter(view(line), source[0, :3], (3,), (1,), 1))


# ---- what there is not ----
def x(*shape):
    return torch.rand(*shape).to(DEVICE)


CALLS = {
    "index": lambda i: x(4, 2)[i],
    "index of two": lambda i: x(4, 4)[i, i],
    "index_put": lambda i: x(4).index_put_((i,), x(1)),
    "index_put, added": lambda i: x(4).index_put_((i,), x(1), True),
    "index_select": lambda i: x(4, 2).index_select(0, i),
    "index_add": lambda i: x(4).index_add(0, i, x(1)),
    "index_copy": lambda i: x(4).index_copy(0, i, x(1)),
    "index_fill": lambda i: x(4).index_fill(0, i, 2.0),
    "index_reduce": lambda i: x(4).index_reduce(0, i, x(1), "amax"),
    "gather": lambda i: x(4).gather(0, i),
    "scatter": lambda i: x(4).scatter(0, i, x(1)),
    "scatter of a number": lambda i: x(4).scatter(0, i, 1.0),
    "scatter_add": lambda i: x(4).scatter_add(0, i, x(1)),
    "scatter_reduce": lambda i: x(4).scatter_reduce(0, i, x(1), "mean"),
    "take": lambda i: x(4).take(i),
    "put": lambda i: x(4).put_(i, x(1)),
    "put, added": lambda i: x(4).put_(i, x(1), True),
    "embedding": lambda i: F.embedding(i, x(4, 2)),
    "embedding's gradient": lambda i: torch._C._nn.embedding_dense_backward(x(1, 2), i, 4, -1, False),
    "renorm": lambda i: torch.embedding_renorm_(x(4, 2), i, 1.0, 2.0),
    "bag": lambda i: F.embedding_bag(i, x(4, 2), torch.tensor([0], device=DEVICE)),
    "largest of a bag": lambda i: F.embedding_bag(i, x(4, 2), torch.tensor([0], device=DEVICE), mode="max"),
    "nll_loss": lambda i: F.nll_loss(x(1, 4), i),
    "cross_entropy": lambda i: F.cross_entropy(x(1, 4), i),
    "multi_margin_loss": lambda i: F.multi_margin_loss(x(1, 4), i),
    "lengths of segments": lambda i: torch.segment_reduce(x(4), "sum", lengths=i - (i == 4).long()),
    "max_unpool": lambda i: F.max_unpool1d(x(1, 1, 1), i.reshape(1, 1, 1), 4, 4),
}


@pytest.mark.parametrize("wrong", [4, -5, 2**31, 2**32, -(2**32), 2**62, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_out_of_range_is_said_and_does_no_harm(name, wrong):
    CALLS[name](torch.tensor([wrong], device=DEVICE))
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        torch.cuda.synchronize(DEVICE)
    torch.cuda.synchronize(DEVICE)


@pytest.mark.parametrize("offsets", [[1], [0, 3, 2], [0, 9], [0, -1], [0, 2**62], [-(2**63)]])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_offsets_that_no_bags_have(offsets, mode):
    table = x(4, 2).requires_grad_()
    index = torch.tensor([0, 1, 2], device=DEVICE)
    bags = F.embedding_bag(index, table, torch.tensor(offsets, device=DEVICE), mode=mode)
    with pytest.raises(RuntimeError, match="device-side assert triggered"):
        torch.cuda.synchronize(DEVICE)
    bags.sum().backward()
    if mode != "max":  # their sizes are measured again
        with pytest.raises(RuntimeError, match="device-side assert triggered"):
            torch.cuda.synchronize(DEVICE)
    assert table.grad.cpu().isfinite().all()
