"""Sorting lines longer than one block of threads, in any layout, with equal elements and NaN."""

import pytest

import rushlight as torch

DEVICE = f"cuda:{min(torch.cuda.device_count(), 2) - 1}"


def inputs():
    x = torch.randn(3, 700)
    x[0, ::7], x[1, 5], x[2, :9], x[2, 600:] = float("nan"), float("inf"), 0.0, -0.0
    return {"float": x, "equal": torch.randint(5, (2, 1500)), "half": x.half(), "strided": x.t()[::2]}


@pytest.mark.parametrize("name", inputs())
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_as_on_the_cpu(name, descending):
    x = inputs()[name]
    y = x.to(DEVICE)
    for dim in (0, 1):
        values, indices = x.sort(dim=dim, descending=descending)
        ours = y.sort(dim=dim, descending=descending)
        assert torch.equal(ours.indices.cpu(), indices)
        assert torch.equal(ours.values.cpu().nan_to_num(9), values.nan_to_num(9))
        assert torch.equal(y.argsort(dim, descending).cpu(), indices)
        assert torch.equal(y.topk(2, dim, descending).indices.cpu(), x.topk(2, dim, descending).indices)
        assert torch.equal(y.kthvalue(2, dim).indices.cpu(), x.kthvalue(2, dim).indices)


def test_the_gradient_goes_where_elements_came_from():
    x = torch.randn(4, 300, requires_grad=True)
    y = x.detach().to(DEVICE).requires_grad_()
    for t in (x, y):
        (t.topk(5).values.sum() + t.sort(0).values.square().sum()).backward()
    assert torch.equal(y.grad.cpu(), x.grad)
