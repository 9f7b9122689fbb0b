"""Checkpoints of activations beside real PyTorch's: gradients, runs of the part, errors and warnings."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.utils.checkpoint")

import rushlight  # noqa: E402

X = [0.5, -1.5, 1.0]


def changing(*parts):
    calls = []

    def part(x):
        calls.append(1)
        return parts[min(len(calls), len(parts)) - 1](x)

    return part


PARTS = {
    "plain": lambda t: lambda x: (x * 2).exp() * x,
    "two": lambda t: lambda x: (x.exp(), x * x),
    "input": lambda t: lambda x: x,
    "inside": lambda t: lambda x: x * t.autograd.grad((x.exp() * x).sum(), x)[0].detach(),
    "kept": lambda t: lambda x: x * t.autograd.grad((x.exp() * x).sum(), x, create_graph=True)[0],
    "fewer": lambda t: changing(lambda x: x.exp().exp(), lambda x: x * 2),
    "more": lambda t: changing(lambda x: x.exp().exp(), lambda x: x.exp().exp().exp()),
    "other": lambda t: changing(lambda x: x.exp().exp(), lambda x: x[:2].exp().exp()),
    "raises": lambda t: changing(lambda x: x.exp(), lambda x: x.view(7)),
    "constant": lambda t: lambda x: t.ones(3),
    "random": lambda t: lambda x: (x * t.rand(3)).exp(),
    "text": lambda t: lambda x: "text",
}
OPTIONS = [
    {"use_reentrant": True},
    {"use_reentrant": False},
    {"use_reentrant": False, "early_stop": False},
    {"use_reentrant": False, "determinism_check": "none"},
    {"use_reentrant": False, "preserve_rng_state": False},
    {"use_reentrant": False, "determinism_check": "never"},
    {"use_reentrant": True, "preserve_rng_state": False},
    {"use_reentrant": True, "times": 2},
    {},
]


def outcome(library, name, options):
    count = []
    part = PARTS[name](library)

    def counted(x):
        count.append(library.is_grad_enabled())
        return part(x)

    library.manual_seed(3)
    x = library.tensor(X, requires_grad=True)
    said = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = library.utils.checkpoint.checkpoint(counted, x, **options)
            said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        out = out if isinstance(out, tuple) else (out,)
        sum(o.sum() for o in out).backward()
    except Exception as error:
        # the tip at the end is each library's own
        return type(error).__name__, str(error).split("\nTip")[0].strip(), count, said
    return np.round(x.grad.numpy(), 4).tolist(), count, said


@pytest.mark.parametrize("name", PARTS)
def test_checkpoint(name):
    for options in OPTIONS:
        assert outcome(rushlight, name, options) == outcome(torch, name, options), options
