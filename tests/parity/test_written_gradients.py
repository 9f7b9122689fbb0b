"""Gradients of scripts that write at indices, in place and through views, beside real PyTorch: first and
second ones, and the last step of the history."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

# `x` (3, 4) and `y` (2, 4) want gradients; `a` is x doubled, which may be written; `i`: indices, `m`: a mask
SCRIPTS = [
    "a.cumprod_(0); a.cumprod_(1)",
    "a = a.scatter(0, i[None], y)",
    "a = a.scatter(0, i[None], y[:1, :2], reduce='add')",
    "x[0] = 1.0",
    "a[m] = y[0, 0]",
    "a[m] = y.reshape(-1)[:6]",
    "a[m] = 2.0",
    "a[m] *= 3",
    "a[m] += a[m].detach() * y[0, 0]",
    "a[1] = y[0]",
    "a[1:] = y",
    "a[:, 1] = y[0, :3] * 2",
    "a[i] = y",
    "a[i] += y",
    "a[i] += 1",
    "a[:, i] *= y[:, :2].sum()",
    "a[..., i] = 0.0",
    "a[i, i] = y[0, :2]",
    "a[i[:, None], i] = y[:, :2]",
    "a[i, 1:3] = y[:, 1:3]",
    "a[None, m] = y[0, 0]",
    "a[[0, 0, 2]] = y[[0, 1, 1]]",
    "a[()] = y[0]",
    "a[0][i] = y[0, 1]",
    "a[0, 0] = y[1, 1]",
    "a[1:][i - 1] = y[0]",
    "v = a[1]; v[i] = y[0, :2]",
    "v = a.t(); v[i] = y[0, :3]; a = a * v.t()",
    "v = a.view(-1)[2:8]; v.index_fill_(0, i, 0.5); v.mul_(v.clone())",
    "v = a[:2]; v.masked_fill_(m[:2], 1.5); w = v[0]; w.mul_(y[0])",
    "a.index_put_((i,), y)",
    "a.index_put_((i, i), y[0, :2], accumulate=True)",
    "a.masked_fill_(m, 0.5)",
    "a.masked_fill_(m, y[1, 1])",
    "a[:, 1:3].masked_fill_(m[:, :2], y[1, 1])",
    "a.masked_scatter_(m, y)",
    "a[1].masked_scatter_(m[1], y[0])",
    "a.index_add_(0, i, y, alpha=2)",
    "a[:, :2].index_add_(1, t.tensor([1, 1]), y.t()[:3] * 2)",
    "a.index_copy_(0, i, y)",
    "a.t().index_copy_(0, i, y.t()[:2, :1].expand(2, 3))",
    "a.index_fill_(1, i, y[0, 0])",
    "a.index_fill_(1, t.tensor([1, 1]), y[0, 0])",
    "a.scatter_(0, i[None], y[:1, :2])",
    "a.scatter_(1, i[:, None], 0.5)",
    "a[1:].scatter_add_(1, i[:, None] - 1, y[:, :1])",
    *(
        f"a.scatter_reduce_(0, t.tensor([[0, 0, 2, 1], [0, 1, 2, 1]]), y, '{how}', include_self={own})"
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    ),
    "a = t.zeros(3, dtype=t.float64).scatter_reduce(0, t.tensor([0, 0, 2, 2]), x[0].round(), 'amax')",
    "a = x[1, :2].scatter_reduce(0, t.tensor([0, 0, 1, 1]), x[0] - x[0, 0].detach(), 'prod')",
    "a.put_(i, y[0, :2])",
    "a.put_(i * 4, y[0, :2], accumulate=True)",
    "a[:, ::2].put_(i, y[0, :2])",
    "a.cumsum_(1)",
    "a.cumprod_(0)",
    "a[:2].cumprod_(1)",
    "a.tril_(); a.t().triu_(1)",
    "a[0].zero_(); a[:, 1].fill_(y[0, 0])",
    "t.nn.functional.dropout(a[1:], 0.5, True, True); a = a * 2",
    "a = a.masked_select(m).cumsum(0)",
    "a = a.repeat_interleave(t.tensor([1, 0, 2]), 0)",
    "a = (a - a[0, 0].detach()).cumprod(1)",
    "a = (a * m).cumprod(0)",
    "a = a.take_along_dim(i[:, None], 0)",
    "a = t.cat([a.flip(0).roll(1, 0), a.tile(2, 1), a.repeat(1, 1).sort(1, descending=True)[0]])",
    "a = a.sort(1)[0] * a.topk(3, 0)[0]",
    "a = t.diag(a[0], 1) + t.diag(t.diag(a, -1).repeat(3)[:5])",
]


def leaf(t, values):
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def attempt(t, script):
    """What run() answers, or the error."""
    try:
        return run(t, script)
    except RuntimeError as error:
        return str(error)


def run(t, script):
    """The last step, values, first and second gradients of a script."""
    rng = np.random.default_rng(3)
    x, y = leaf(t, rng.uniform(0.5, 2, (3, 4))), leaf(t, rng.uniform(0.5, 2, (2, 4)))
    mask = [[True, False, True, False], [False, False, True, True], [False, True, False, True]]
    names = {"t": t, "x": x, "y": y, "a": x * 2, "i": t.tensor([2, 1]), "m": t.tensor(mask)}
    t.manual_seed(1)
    exec(script, names)
    a = names["a"]
    total = (a * a * a.detach().cos()).sum()
    first = t.autograd.grad(total, [x, y], create_graph=True, allow_unused=True)
    wanted = [g for g in first if g is not None and g.requires_grad]
    second = t.autograd.grad(sum((g * g).sum() for g in wanted), [x, y], allow_unused=True) if wanted else []
    return a.grad_fn.name(), [a, *first, *second]


@pytest.mark.parametrize("script", SCRIPTS)
def test_written(script):
    ours, theirs = attempt(rushlight, script), attempt(torch, script)
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        assert ours[0] == theirs[0]
        same(ours[1], theirs[1])


def same(ours, theirs):
    """The same numbers; None is zero."""
    for got, expected in itertools.zip_longest(ours, theirs):
        if got is None or expected is None:
            rest = got if expected is None else expected
            assert rest is None or not rest.abs().sum().item()
        else:
            np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)
