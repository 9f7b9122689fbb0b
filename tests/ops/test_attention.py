"""Attention without a matrix of all weights: memory, threads, ways that agree, derivatives of derivatives."""

import itertools

import pytest

import rushlight
from rushlight.backends import cpu
from rushlight.nn.attention import SDPBackend, sdpa_kernel
from rushlight.nn.functional import scaled_dot_product_attention


def inputs(*shape, keys=None, wide=None, dtype=None):
    rushlight.manual_seed(1)
    *batch, rows, width = shape
    keys = keys or rows
    shapes = (rows, width), (keys, width), (keys, wide or width)
    return [rushlight.randn(*batch, *s, dtype=dtype).requires_grad_() for s in shapes]


def step(given, **options):
    answer = scaled_dot_product_attention(*given, **options)
    return [answer, *rushlight.autograd.grad(answer.square().sum(), given)]


def taken(rows):
    """Bytes that a forward and a backward pass take beside their inputs."""
    given = inputs(1, 1, rows, 8)
    cpu.empty_cache()
    before = cpu.memory_stats()
    results = step(given, is_causal=True)
    after = cpu.memory_stats()
    del results
    return sum(after[kind] - before[kind] for kind in ("in_use_bytes", "kept_bytes"))


def test_memory_is_linear_in_the_sequence():
    short, long = taken(4096), taken(16384)
    assert short < 4096 * 4096  # a fourth of one matrix of scores
    assert long < 5 * short


@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64, rushlight.bfloat16])
def test_threads_do_not_show(dtype):
    calls = [
        (inputs(2, 3, 500, 16, dtype=dtype), {"is_causal": True}),
        (inputs(1, 1, 90, 16, keys=1500, wide=40, dtype=dtype), {}),
        (inputs(3, 2, 2, 16, keys=700, dtype=dtype), {"attn_mask": rushlight.rand(2, 700) < 0.5}),
    ]
    threads = rushlight.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            rushlight.set_num_threads(count)
            results.append([r for given, options in calls for r in step(given, **options)])
    finally:
        rushlight.set_num_threads(threads)
    for one, *others in zip(*results, strict=True):
        assert all(rushlight.equal(one, other) for other in others)


def masks(rows, keys):
    yield None
    yield rushlight.rand(rows, keys) < 0.6
    yield rushlight.randn(1, keys).expand(rows, keys)
    yield rushlight.randn(keys, rows).T
    yield (rushlight.rand(keys * 2) < 0.7)[::2]


def laid_out(x):
    """The same numbers where rows are dense, packed with others, and neither."""
    yield x
    yield rushlight.stack([x, x * 0], -2).flatten(-2)[..., : x.shape[-1]]
    yield x.mT.contiguous().mT


@pytest.mark.parametrize("rows", [1, 4, 5, 40])
def test_ways_agree(rows):
    """A few rows, blocks, and separate operators; wherever the numbers lie."""
    leaves = inputs(2, 2, rows, 12, keys=300, wide=20, dtype=rushlight.float64)
    for mask, which in itertools.product(masks(rows, 300), range(3)):
        results = []
        for way in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
            given = [list(laid_out(x))[which] for x in leaves]
            with sdpa_kernel(way):
                answer = scaled_dot_product_attention(*given, mask)
            results.append([answer, *rushlight.autograd.grad(answer.square().sum(), leaves)])
        for one, other in zip(*results, strict=True):
            rushlight.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_long_sequences_with_few_batches():
    """Gradients of queries are then added up over chunks of keys."""
    for batches in (1, 3, 40):
        given = inputs(batches, 30, 8, keys=1300, dtype=rushlight.float64)
        with sdpa_kernel(SDPBackend.MATH):
            expected = step(given)
        for one, other in zip(step(given), expected, strict=True):
            rushlight.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("causal", [False, True])
def test_derivatives_of_derivatives(causal):
    rushlight.manual_seed(2)
    seen = rushlight.tensor([[True, False, True], [False] * 3, [True] * 3, [True, True, False]])
    for mask in (None, seen, rushlight.randn(4, 3, dtype=rushlight.float64)):
        given = inputs(1, 2, 4, 3, keys=3, wide=2, dtype=rushlight.float64)
        assert rushlight.autograd.gradgradcheck(
            lambda q, k, v, mask=mask: scaled_dot_product_attention(
                q, k, v, mask, is_causal=causal, scale=0.7
            ),
            given,
        )


def test_on_meta():
    given = [rushlight.empty(2, 3, n, 8, device="meta") for n in (5, 7, 7)]
    answer = scaled_dot_product_attention(*given)
    assert answer.shape == (2, 3, 5, 8) and answer.device.type == "meta"


def test_stretched_batches_share_memory():
    """Keys of one head for many queries: nothing is copied, gradients are added up."""
    query, key, value = inputs(1, 8, 20, 8, dtype=rushlight.float64)
    few = [x[:, :1] for x in (key, value)]
    wide = [x.expand(1, 8, 20, 8).contiguous() for x in few]
    one = scaled_dot_product_attention(query, *few)
    rushlight.testing.assert_close(one, scaled_dot_product_attention(query, *wide))
    grads = [
        rushlight.autograd.grad(scaled_dot_product_attention(query, *x).sum(), key)[0] for x in (few, wide)
    ]
    rushlight.testing.assert_close(*grads)
