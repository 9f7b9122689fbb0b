"""Products of matrices in blocks: shapes around the sizes of tiles, blocks and panels, in every layout.

This file is also a program, which prints what is wrong: the instruction set is chosen at its start."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from helpers.threads import in_process

# Of the largest sum of absolute products: sums in float32 come in blocks, halves are rounded once.
NEAR = {"float32": 1e-6, "float64": 2e-15, "float16": 6e-4, "bfloat16": 5e-3}
LAYOUTS = [
    ("dense", "dense"),
    ("turned", "dense"),
    ("dense", "turned"),
    ("turned", "turned"),
    ("strided", "stretched"),
    ("stretched", "strided"),
]
# (m, n, k): one tile, its edges, few rows, few columns, several blocks, a long k
SHAPES = [
    (1, 1, 1),
    (1, 33, 8),
    (3, 70, 65),
    (4, 5, 40),
    (70, 3, 65),
    (70, 1, 33),
    (5, 7, 3),
    (12, 32, 16),
    (13, 33, 17),
    (50, 65, 257),
    (145, 40, 20),
    (60, 500, 400),
    (5, 9, 9000),
    (2, 40, 8193),
]


def laid(values, layout, dtype):
    """A tensor of these values; a stretched one has one value for each place of its first dimension."""
    t = torch.tensor(values, dtype=getattr(torch, dtype))
    if layout == "turned":
        return t.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "strided":
        room = torch.zeros(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype)
        room[..., ::2] = t
        return room[..., ::2]
    if layout == "stretched":
        return t[..., :1, :].expand(*t.shape)
    return t


def exact(t):
    return np.array(t.tolist(), dtype=np.float64).reshape(tuple(t.shape))


def far(name, result, want, bound, dtype):
    off = np.abs(exact(result) - want)
    return [f"{name}: {off.max()}"] if (off > NEAR[dtype] * np.maximum(bound, 1e-3)).any() else []


def wrong(shape, layouts, dtype):
    """What differs from NumPy's products in float64."""
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = (laid(rng.uniform(-1, 1, s), how, dtype) for s, how in zip(((m, k), (k, n)), layouts, strict=True))
    x = torch.tensor(rng.uniform(-1, 1, (m, n)), dtype=a.dtype)
    left, right, more = exact(a), exact(b), exact(x)
    want, bound = left @ right, (np.abs(left) @ np.abs(right)).max()
    what = f"{dtype} {shape} {layouts}"
    bad = far(f"matmul {what}", a @ b, want, bound, dtype)
    bad += far(f"mv {what}", torch.mv(a, b[:, 0]), want[:, 0], bound, dtype)
    bad += far(f"linear {what}", torch.nn.functional.linear(a, b.t(), x[0]), want + more[0], bound + 1, dtype)
    for beta, alpha in ((1, 1), (0.5, -2)):
        sum_ = torch.addmm(x, a, b, beta=beta, alpha=alpha)
        bad += far(f"addmm {what}", sum_, beta * more + alpha * want, 2 * bound + 1, dtype)
    column = torch.addmm(x[:, :1], a, b)
    bad += far(f"addmm of a column {what}", column, more[:, :1] + want, bound + 1, dtype)
    turned = torch.zeros(n, m, dtype=a.dtype).t()
    torch.matmul(a, b, out=turned)
    return bad + far(f"out= {what}", turned, want, bound, dtype)


def all_wrong(dtype):
    return [bad for layouts in LAYOUTS for shape in SHAPES for bad in wrong(shape, layouts, dtype)]


@pytest.mark.parametrize("dtype", NEAR)
def test_products(dtype):
    assert all_wrong(dtype) == []


def test_products_in_narrower_vectors():
    here = pathlib.Path(__file__).parents[1]
    env = {**os.environ, "RUSHLIGHT_ISA": "avx2", "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    run = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == []


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_products_of_integers_wrap(dtype, turned):
    info, rng = np.iinfo(dtype), np.random.default_rng(2)
    for m, n, k in SHAPES[:-2]:
        a, b = (rng.integers(info.min, info.max, s, dtype, endpoint=True) for s in ((m, k), (k, n)))
        left, right = torch.tensor(a), torch.tensor(b)
        if turned:
            left, right = left.t().clone().t(), right.t().clone().t()
        assert (left @ right).tolist() == (a @ b).tolist()


# ---- batches ----
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize(
    "left, right",
    [
        ((2, 3, 9, 8), (2, 3, 8, 40)),
        ((3, 9, 8), (2, 1, 8, 40)),
        ((1, 9, 8), (4, 8, 5)),
        ((9, 8), (3, 8, 40)),
        ((3, 2, 9, 8), (8, 40)),
        ((2, 3, 1, 40), (2, 3, 40, 7)),
        ((8,), (2, 8, 40)),
        ((2, 9, 8), (8,)),
        ((3, 130, 140), (3, 140, 150)),
    ],
)
def test_batches(left, right, dtype):
    rng = np.random.default_rng(1)
    a = torch.tensor(rng.uniform(-1, 1, left), dtype=getattr(torch, dtype))
    b = torch.tensor(rng.uniform(-1, 1, right), dtype=a.dtype)
    bound = np.matmul(np.abs(exact(a)), np.abs(exact(b))).max()
    forms = [(a, b)]
    if len(left) > 2:  # stretched, and with the dimensions of the batch in another order
        forms.append((a[:1].expand(*left), b))
        forms.append((a.transpose(0, 1).contiguous().transpose(0, 1), b))
    for p, q in forms:
        assert far("batch", torch.matmul(p, q), np.matmul(exact(p), exact(q)), bound, dtype) == []


def test_batch_is_each_product_alone():
    """Neither threads nor the place in a batch show in a result."""
    before = torch.get_num_threads()
    try:
        for m, n, k in ((8, 8, 8), (64, 64, 64), (130, 130, 130), (3, 200, 100), (200, 3, 100), (2, 2, 9000)):
            a, b = torch.randn(6, m, k), torch.randn(6, k, n)
            results = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                together = torch.bmm(a, b)
                assert all(torch.equal(together[i], a[i] @ b[i]) for i in range(6))
                results.append(together)
            assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
    finally:
        torch.set_num_threads(before)


# ---- summands ----
@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("shape", [(2, 3, 4), (50, 70, 300), (20, 2, 40)])
def test_beta_zero_reads_no_input(shape, dtype):
    m, n, k = shape
    kind = getattr(torch, dtype)
    nan = torch.full((m, n), float("nan"), dtype=kind)
    a, b = torch.ones(m, k, dtype=kind), torch.ones(k, n, dtype=kind)
    assert torch.equal(torch.addmm(nan, a, b, beta=0), a @ b)
    assert torch.equal(torch.addmv(nan[:, 0], a, b[:, 0], beta=0), torch.mv(a, b[:, 0]))
    batch = torch.baddbmm(nan[None], a[None], b[None], beta=0, alpha=2)
    assert torch.equal(batch[0], 2 * (a @ b))


@pytest.mark.parametrize("dtype", NEAR)
def test_nothing_to_multiply(dtype):
    kind = getattr(torch, dtype)
    x, a, b = torch.ones(3, 4, dtype=kind), torch.ones(3, 0, dtype=kind), torch.ones(0, 4, dtype=kind)
    assert torch.equal(a @ b, torch.zeros(3, 4, dtype=kind))
    assert torch.equal(torch.addmm(x, a, b, beta=2), 2 * x)
    assert torch.equal(torch.addmv(x[:, 0], a, b[:, 0], beta=2), 2 * x[:, 0])


ONE_BIAS = """
import rushlight as torch
from rushlight.nn import functional as F

w = torch.randn(87, 300)
for x in (torch.randn(300), torch.randn(2, 300), torch.randn(40, 300)):
    for b in (torch.tensor(3.0), torch.tensor([3.0]), torch.tensor([3.0]).expand(87), torch.full((87,), 3.0)):
        assert torch.allclose(F.linear(x, w, b), F.linear(x, w) + 3, atol=1e-4), (x.shape, b.shape)
"""


@pytest.mark.parametrize("isa", ["", "avx2", "none"])
def test_one_bias_for_all_rows(isa):
    """oneDNN, which multiplies where our vectors are none, would read as many as there are rows."""
    in_process(ONE_BIAS, RUSHLIGHT_ISA=isa)


def test_in_place_of_a_factor():
    """The output is written while the factors are read, unless one of them is the output."""
    a = torch.randn(80, 80)
    want = 0.5 * a + a @ a
    for x in (a.clone(), a.t().clone().t()):
        assert torch.allclose(x.addmm_(x, x, beta=0.5), want, 1e-4, 1e-4)
    v = torch.randn(80)
    want = v + torch.mv(a, v)
    assert torch.allclose(v.addmv_(a, v), want, 1e-4, 1e-4)


def test_halves_are_rounded_once():
    """A sum that bfloat16 cannot hold on the way: 256 + 1 + ... + 1 is not 256."""
    row = torch.ones(1, 257, dtype=torch.bfloat16)
    row[0, 0] = 256
    for columns in (1, 40):
        assert (row @ torch.ones(257, columns, dtype=torch.bfloat16)).tolist() == [[512.0] * columns]
    more = torch.full((1, 40), -500.0, dtype=torch.bfloat16)
    assert torch.addmm(more, row, torch.ones(257, 40, dtype=torch.bfloat16)).tolist() == [[12.0] * 40]


if __name__ == "__main__":
    print("\n".join(bad for name in NEAR for bad in all_wrong(name)), end="")
