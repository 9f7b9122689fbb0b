"""Losses over classes without PyTorch: what is refused, whatever the number of threads; memory; imports."""

import subprocess
import sys

import pytest

import rushlight as torch
from rushlight.nn import functional as F


@pytest.fixture(params=[1, 4])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("shape", [(3, 4), (9000, 4), (2, 3, 70, 70)], ids=str)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("wrong", [-1, 77, 2**62])
def test_no_such_class(threads, shape, reduction, wrong):
    x = torch.zeros(shape, requires_grad=True)
    target = torch.zeros(shape[0], *shape[2:], dtype=torch.int64)
    loss = F.nll_loss(x, target, reduction=reduction)
    target.view(-1)[-1] = wrong
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
        F.nll_loss(x, target, reduction=reduction)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
        operator = torch._C._nn.nll_loss_backward if len(shape) == 2 else torch._C._nn.nll_loss2d_backward
        number = ["none", "mean", "sum"].index(reduction)
        operator(torch.ones_like(loss), x, target, None, number, -100, torch.tensor(1.0))


def test_sums_are_the_same_on_any_number_of_threads():
    x = torch.rand(3, 5, 90, 91)
    target = torch.randint(0, 5, (3, 90, 91))
    before, sums = torch.get_num_threads(), set()
    for n in (1, 2, 3, 5):
        torch.set_num_threads(n)
        sums.add(F.nll_loss(x, target).item())
    torch.set_num_threads(before)
    assert len(sums) == 1


@pytest.mark.parametrize("wrong", [-1, 5, 2**31 + 1])
def test_ctc_has_no_such_label(threads, wrong):
    logs = torch.zeros(9, 40, 5).log_softmax(2).requires_grad_()
    targets = torch.ones(40, 3, dtype=torch.int64)
    lengths = (9,) * 40, (3,) * 40
    F.ctc_loss(logs, targets, *lengths).backward()
    loss, alpha = torch._ctc_loss(logs, targets, *lengths)
    targets[-1, 2] = wrong
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
        F.ctc_loss(logs, targets, *lengths)
    with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
        torch._C._nn._ctc_loss_backward(loss, logs, targets, *lengths, loss, alpha, 0)
    assert F.ctc_loss(logs, targets, lengths[0], (2,) * 40).isfinite()  # which leaves it out


def test_ctc_backward_takes_what_fits_alone():
    logs, targets = torch.zeros(9, 2, 5).log_softmax(2), torch.ones(2, 3, dtype=torch.int64)
    lengths = (9, 9), (3, 3)
    loss, alpha = torch._ctc_loss(logs, targets, *lengths)
    backward = torch._C._nn._ctc_loss_backward
    whole = backward(loss, logs, targets, *lengths, loss, alpha, 0)
    strided = torch.empty(7, 9, 2).permute(2, 1, 0).copy_(alpha)
    assert torch.equal(backward(loss, logs, targets, *lengths, loss, strided, 0), whole)
    for wrong in (
        (loss[:1], logs, targets, *lengths, loss, alpha),
        (loss, logs, targets, *lengths, loss[:1], alpha),
        (loss, logs, targets, *lengths, loss, alpha[:, :5]),
        (loss, logs, targets, (9, 9), (3, 2), loss, alpha[..., :5]),
        (loss, logs.double(), targets, *lengths, loss, alpha),
        (loss, logs, targets, *lengths, loss, alpha.double()),
    ):
        with pytest.raises(RuntimeError):
            backward(*wrong, 0)


def test_ctc_keeps_its_first_derivative_alone():
    logs = torch.rand(5, 1, 4).log_softmax(2).requires_grad_()
    loss = F.ctc_loss(logs, torch.tensor([[1, 2]]), (5,), (2,))
    (grad,) = torch.autograd.grad(loss, logs, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::_ctc_loss_backward is not implemented"):
        grad.sum().backward()


def test_chunks_hold_no_more_than_their_logits():
    """The most memory of a call with chunks of 8 of 512 rows is a small part of that of all logits."""
    x, weight = torch.rand(512, 4), torch.rand(4000, 4, requires_grad=True)
    target = torch.randint(0, 4000, (512,))
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=8)
    logits = 512 * 4000 * 4
    held = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                held.append(result.numel() * result.element_size())
            return result

    with Watch():
        F.linear_cross_entropy(x, weight, target, options=options).backward()
    assert max(held) == logits // 64
    held.clear()
    with Watch():
        F.linear_cross_entropy(x, weight, target).backward()
    assert max(held) == logits


def test_no_gradient_is_computed_where_none_is_wanted():
    weight = torch.rand(50, 4, requires_grad=True)
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=3)
    with torch.no_grad():
        loss = F.linear_cross_entropy(torch.rand(9, 4), weight, torch.arange(9), options=options)
    assert loss.grad_fn is None and loss.isfinite()


OPTIONS = "LinearCrossEntropyOptions"  # a dataclass, which takes a while to import


def test_layers_import_without_dataclasses():
    code = "import sys, rushlight.nn as nn; assert 'dataclasses' not in sys.modules; nn." + OPTIONS
    subprocess.run([sys.executable, "-c", code], check=True)
