"""Checkpoints of activations: the same gradients with less kept."""

import contextlib

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

KINDS = pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", "hooks"])


def leaf():
    return torch.tensor([0.5, -1.5, 2.0], requires_grad=True)


def gradient(function, *options, **named):
    x = leaf()
    function(x).sum().backward(*options, **named)
    return x.grad.tolist()


@KINDS
@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_gradients_are_the_same(reentrant):
    def part(x):
        return (x * 0.25).exp() * x

    assert gradient(lambda x: checkpoint(part, x, use_reentrant=reentrant)) == gradient(part)

    def nested(x):
        return checkpoint(part, checkpoint(part, x, use_reentrant=reentrant), use_reentrant=reentrant)

    def inside(x):
        return checkpoint(lambda x: part(nested(x)) * x, x, use_reentrant=reentrant)

    assert gradient(inside) == pytest.approx(gradient(lambda x: part(part(part(x))) * x))


@KINDS
def test_runs_again_for_backward_alone(reentrant):
    calls = []

    def part(x):
        calls.append(torch.is_grad_enabled())
        return x.exp() * x

    out = checkpoint(part, leaf(), use_reentrant=reentrant)
    assert calls == [not reentrant]
    out.sum().backward()
    assert calls == [not reentrant, True]
    with torch.no_grad():
        checkpoint(part, leaf(), use_reentrant=reentrant)
    assert len(calls) == 3


@KINDS
def test_draws_the_same_numbers(reentrant):
    seen = []

    def part(x):
        seen.append(torch.rand(3).tolist())
        return x.exp() * x

    out = checkpoint(part, leaf(), use_reentrant=reentrant)
    state = torch.get_rng_state()
    out.sum().backward()
    assert seen[0] == seen[1] and torch.equal(torch.get_rng_state(), state)
    out = checkpoint(part, leaf(), use_reentrant=reentrant, preserve_rng_state=False)
    out.sum().backward()
    assert seen[2] != seen[3]


@KINDS
def test_sequential(reentrant):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    expected = gradient(model)
    weights = [p.grad.tolist() for p in model.parameters()]
    model.zero_grad()
    assert gradient(lambda x: checkpoint_sequential(model, 2, x, use_reentrant=reentrant)) == expected
    assert [p.grad.tolist() for p in model.parameters()] == weights
    assert gradient(lambda x: checkpoint_sequential(list(model), 5, x, use_reentrant=reentrant)) == expected


def test_kept_graphs_and_keywords():
    x = leaf()
    out = checkpoint(lambda x, times: (x * times).exp() * x, x, use_reentrant=False, times=2).sum()
    first = torch.autograd.grad(out, x, retain_graph=True)[0].tolist()
    assert torch.autograd.grad(out, x)[0].tolist() == first
    with pytest.raises(ValueError, match="Unexpected keyword arguments: times"):
        checkpoint(lambda x: x, x, use_reentrant=True, times=2)


def test_early_stop():
    ends = []

    def part(x):
        y = x.exp() * x
        ends.append(1)
        return y

    gradient(lambda x: checkpoint(part, x, use_reentrant=False))
    assert len(ends) == 1
    gradient(lambda x: checkpoint(part, x, use_reentrant=False, early_stop=False))
    assert len(ends) == 3
    with set_checkpoint_early_stop(False):
        gradient(lambda x: checkpoint(part, x, use_reentrant=False))
    assert len(ends) == 5


def test_contexts():
    entered = []

    @contextlib.contextmanager
    def mark(name):
        entered.append(name)
        yield

    out = checkpoint(
        torch.exp, leaf(), use_reentrant=False, context_fn=lambda: (mark("first"), mark("second"))
    )
    assert entered == ["first"]
    out.sum().backward()
    assert entered == ["first", "second"]
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.exp, leaf(), use_reentrant=True, context_fn=lambda: (mark("a"), mark("b")))

    def fails(x):
        raise KeyError

    def lenient():
        return contextlib.suppress(KeyError), contextlib.nullcontext()

    with pytest.raises(RuntimeError, match="suppressed an exception raised during the checkpointed forward"):
        checkpoint(fails, leaf(), use_reentrant=False, context_fn=lenient)


def changing(first, second):
    """Behaves as first, then as second."""
    calls = []

    def part(x):
        calls.append(1)
        return (first if len(calls) == 1 else second)(x)

    return part


@pytest.mark.parametrize(
    "second, options, text",
    [
        (lambda x: x * 2, {}, "A different number of tensors was saved during the original forward"),
        (lambda x: x.exp().exp().exp(), {"early_stop": False}, "trying to save more tensors during recomp"),
        (lambda x: x[:2].exp().exp(), {}, "tensor at position 0:\nsaved metadata: {'shape': torch.Size"),
    ],
    ids=["fewer", "more", "other"],
)
def test_computing_something_else(second, options, text):
    out = checkpoint(changing(lambda x: x.exp().exp(), second), leaf(), use_reentrant=False, **options)
    with pytest.raises(CheckpointError, match=text.replace("{", r"\{")):
        out.sum().backward()


def test_wrong_use():
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        x = leaf()
        torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.exp, leaf())
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, leaf().detach(), use_reentrant=True)
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\]"):
        checkpoint(torch.exp, leaf(), use_reentrant=False, determinism_check="strict")
    with pytest.raises(ValueError, match="debug=True is incompatible"):
        checkpoint(torch.exp, leaf(), use_reentrant=False, debug=True, context_fn=contextlib.nullcontext)
