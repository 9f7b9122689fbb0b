"""Attention beside PyTorch's: masks, groups of heads, dtypes, layouts, gradients, errors."""

import importlib
import itertools
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

INF = float("inf")
LIMITS = {
    "float64": dict(rtol=1e-10, atol=1e-11),
    "float32": dict(rtol=2e-5, atol=2e-5),
    "float16": dict(rtol=4e-3, atol=4e-3),
    "bfloat16": dict(rtol=3e-2, atol=3e-2),
}


def attention(library):
    return library.nn.functional.scaled_dot_product_attention


def tensor(library, array, dtype=None):
    made = library.tensor(array)
    return made if array.dtype == bool else made.to(getattr(library, dtype or "float64"))


def draw(seed, *shape):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def keep(seed, *shape):
    return np.random.default_rng([seed, *shape]).random(shape) < 0.7


def as_array(t):
    return np.array(t.double().tolist()).reshape(tuple(t.shape))


def step(library, arrays, dtype, turned=False, mask=None, **options):
    """The answer and the gradients of query, key, value and, if it is a float, of the mask."""
    library.manual_seed(3)
    leaves = [tensor(library, a, dtype).requires_grad_() for a in arrays]
    given = [a.transpose(1, 2).contiguous().transpose(1, 2) if turned else a for a in leaves]
    if mask is not None:
        options["attn_mask"] = tensor(library, mask, dtype)
        if options.pop("learned", False):
            leaves.append(options["attn_mask"].requires_grad_())
    answer = attention(library)(*given, **options)
    weight = tensor(library, draw(9, *answer.shape), dtype)
    return [answer.detach(), *library.autograd.grad(answer, leaves, weight)]


def compare(arrays, dtype="float32", **options):
    results = [step(library, arrays, dtype, **options) for library in (rushlight, torch)]
    for name, ours, theirs in zip(("answer", "query", "key", "value", "mask"), *results, strict=False):
        assert (str(ours.dtype), tuple(ours.shape)) == (str(theirs.dtype), tuple(theirs.shape))
        expected = as_array(theirs)
        limits = dict(LIMITS[dtype])
        limits["atol"] *= max(1, np.abs(expected[np.isfinite(expected)]).max(initial=0))
        np.testing.assert_allclose(as_array(ours), expected, err_msg=name, **limits)


def rows_and_keys(rows, keys, width=8, wide=None, batch=(2, 3)):
    return draw(1, *batch, rows, width), draw(2, *batch, keys, width), draw(3, *batch, keys, wide or width)


SIZES = [(1, 9), (3, 40), (17, 33), (100, 30), (130, 600), (400, 70)]


@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows, keys", SIZES)
def test_sizes(rows, keys, causal, dtype):
    for turned, wide in ((False, 8), (True, 8), (False, 21)):
        compare(rows_and_keys(rows, keys, wide=wide), dtype, turned=turned, is_causal=causal)


MASKS = [(5, 7), (1, 7), (5, 1), (7,), (3, 5, 7), (3, 1, 1), (2, 1, 1, 7), (2, 3, 5, 7), (1, 3, 5, 1)]


@pytest.mark.parametrize("shape", MASKS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_masks(shape, dtype):
    arrays = rows_and_keys(5, 7)
    if len(shape) == 1:  # of batches with heads PyTorch's check of its fast kernels needs two dimensions
        arrays = [a[0] for a in arrays]
    for mask in (keep(4, *shape), draw(4, *shape)):
        compare(arrays, dtype, mask=mask)
    if dtype != "bfloat16":
        compare(arrays, dtype, mask=draw(4, *shape), learned=True)


def test_causal_and_masked():
    for mask in (keep(4, 5, 7), draw(4, 5, 7), draw(4, 1, 7)):
        compare(rows_and_keys(5, 7), mask=mask, is_causal=True)


def test_rows_without_keys_are_zero():
    seen = np.ones((6, 7), dtype=bool)
    seen[2], seen[4, 3:] = False, False
    added = np.where(seen, 0, -INF)
    for mask, batch in itertools.product((seen, added), ((), (2,), (2, 3))):
        arrays = rows_and_keys(6, 7, batch=batch)
        compare(arrays, mask=mask)
        answer = step(rushlight, arrays, "float32", mask=mask)[0]
        assert not answer[..., 2, :].any() and not answer.isnan().any()


@pytest.mark.parametrize("heads, groups", [(4, 2), (6, 1), (3, 3)])
def test_groups_of_heads(heads, groups):
    masks = (None, keep(4, 5, 7), draw(4, heads, 5, 7), keep(4, 2, 1, 1, 7), keep(4, 1, heads, 5, 7)[0])
    for mask, causal in itertools.product(masks, (False, True)):
        if mask is not None and causal:
            continue
        _, key, value = rows_and_keys(5, 7, batch=(2, groups))
        compare((draw(1, 2, heads, 5, 8), key, value), mask=mask, is_causal=causal, enable_gqa=True)
    compare((draw(1, heads, 5, 8), draw(2, groups, 7, 8), draw(3, groups, 7, 4)), enable_gqa=True)


BATCHES = [
    ((3,), (1,)),
    ((2, 3), (3,)),
    ((), (2, 3)),
    ((2, 1), (1, 3)),
    ((2, 2, 2), (2, 1, 2)),
    ((0, 2), (1, 2)),
]


@pytest.mark.parametrize("left, right", BATCHES)
def test_batches_broadcast(left, right):
    compare((draw(1, *left, 5, 8), draw(2, *right, 7, 8), draw(3, *right, 7, 6)))


@pytest.mark.parametrize("rows, keys, width", [(0, 5, 4), (5, 0, 4), (0, 0, 4), (3, 4, 0), (3, 0, 0)])
def test_empty(rows, keys, width):
    for causal in (False, True):
        compare(rows_and_keys(rows, keys, width, wide=4), is_causal=causal)
    compare(rows_and_keys(3, 4, 5, batch=(0, 2)))


def test_scale():
    for scale in (0.0, -0.5, 3, 1e-3):
        compare(rows_and_keys(20, 30), scale=scale)


def test_large_and_small_numbers():
    query, key, value = rows_and_keys(20, 600)
    for size in (1e-20, 30.0, 1e4):
        compare((query * size, key, value), "float64")
    smallest = np.full((20, 600), np.finfo(np.float32).min)
    compare((query, key, value), mask=smallest)  # nothing stands out, so all keys count
    compare((query, key, value), mask=np.where(keep(4, 20, 600), 0, np.finfo(np.float32).min))


def test_infinite_and_missing_numbers():
    query, key, value = rows_and_keys(6, 40)
    answers = []
    for position, number in itertools.product((0, 39), (INF, -INF, np.nan)):
        broken = value.copy()
        broken[..., position, 2] = number
        compare((query, key, broken))
        broken = query.copy()
        broken[..., 1, 2] = number
        answers.append(step(rushlight, (broken, key, value), "float32")[0])
    for answer in answers:  # PyTorch's fast kernels answer 0 for a NaN in the query, its others NaN
        assert answer[..., 1, :].isnan().all() and not answer[..., 2:, :].isnan().any()


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_draws_as_pytorch(p):
    for arrays in (rows_and_keys(5, 7), rows_and_keys(20, 30, batch=(2,))):
        compare(arrays, dropout_p=p)
        compare(arrays, dropout_p=p, mask=keep(4, *(arrays[0].shape[-2], arrays[1].shape[-2])))


def test_one_way_or_the_other():
    arrays = rows_and_keys(20, 30)
    for library in (rushlight, torch):
        ways = library.nn.attention.SDPBackend
        kernel = library.nn.attention.sdpa_kernel
        names = []
        leaves = [tensor(library, a, "float32").requires_grad_() for a in arrays]
        every = [getattr(ways, name) for name in ways.__members__]
        for way in (ways.MATH, ways.FLASH_ATTENTION, [ways.FLASH_ATTENTION, ways.MATH], every):
            with kernel(way):
                names.append(attention(library)(*leaves).grad_fn.name())
        with kernel([ways.MATH, ways.FLASH_ATTENTION], set_priority=True):
            names.append(attention(library)(*leaves).grad_fn.name())
        flash = "ScaledDotProductFlashAttentionForCpuBackward0"
        assert names == ["UnsafeViewBackward0", flash, flash, flash, flash]
        assert attention(library)(*leaves).grad_fn.name() == flash
        for way in (ways.EFFICIENT_ATTENTION, []):
            with kernel(way), pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product"):
                attention(library)(*leaves)
        with warnings.catch_warnings(), kernel(ways.FLASH_ATTENTION):
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match="^No available kernel.  Aborting execution."):
                attention(library)(*leaves, dropout_p=0.5)
        with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend or a list"):
            with kernel("math"):
                pass


def test_switches():
    for library in (rushlight, torch):
        cuda = library.backends.cuda
        for name in ("flash", "mem_efficient", "math", "cudnn"):
            enabled, enable = getattr(cuda, f"{name}_sdp_enabled"), getattr(cuda, f"enable_{name}_sdp")
            assert enabled() is True
            assert enable(False) is None and enabled() is False
            enable(True)
            with pytest.raises(RuntimeError, match="expects a bool, but got"):
                enable(1)
        with pytest.warns(FutureWarning, match="sdp_kernel"), cuda.sdp_kernel(enable_flash=False) as context:
            assert context == {} and not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
        assert cuda.flash_sdp_enabled()
        t = library.ones(1, 1, 2, 3)
        params = cuda.SDPAParams(t, t, t, None, 0.5, False, True)
        assert params.query is t and (params.dropout, params.enable_gqa, params.attn_mask) == (
            0.5,
            True,
            None,
        )
        assert not cuda.can_use_flash_attention(params) and not cuda.can_use_efficient_attention(params)


def test_causal_biases():
    query, key, value = rows_and_keys(5, 7)
    found = []
    for library in (rushlight, torch):
        bias = importlib.import_module(f"{library.__name__}.nn.attention.bias")
        given = [tensor(library, a, "float32") for a in (query, key, value)]
        for mask in (bias.causal_upper_left(5, 7), bias.causal_lower_right(5, 7)):
            answer = attention(library)(*given, mask)
            assert type(answer) is library.Tensor
            found.append((repr(mask), mask.variant.name, mask.seq_len_q, as_array(answer)))
            with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
                attention(library)(*given, mask, is_causal=True)
        with pytest.raises(AssertionError, match="causal_lower_right only supports 2D tensors"):
            bias.causal_lower_right(3)
        with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs"):
            bias.causal_lower_right(7, 5)
    for ours, theirs in zip(found[:2], found[2:], strict=True):
        assert ours[:3] == theirs[:3]
        np.testing.assert_allclose(ours[3], theirs[3], **LIMITS["float32"])


ERRORS = {
    "dims": lambda t: (t.ones(3), t.ones(3), t.ones(3)),
    "dims of one": lambda t: (t.ones(2, 3), t.ones(2, 3), t.ones(3)),
    "widths": lambda t: (t.ones(2, 3), t.ones(4, 2), t.ones(4, 5)),
    "lengths": lambda t: (t.ones(2, 3), t.ones(4, 3), t.ones(5, 5)),
    "dtypes": lambda t: (t.ones(2, 3), t.ones(4, 3).double(), t.ones(4, 5)),
    "whole numbers": lambda t: (t.ones(2, 3).long(), t.ones(4, 3).long(), t.ones(4, 5).long()),
    "mask and causal": lambda t: (t.ones(2, 3), t.ones(4, 3), t.ones(4, 5), t.ones(2, 4), 0.0, True),
    "rows of the mask": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, t.ones(3, 2)),
    "heads of the mask": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, t.ones(2, 2, 2)),
    "batches of the mask": lambda t: (*[t.ones(2, 3)] * 3, t.ones(7, 2, 2)),
    "dtype of the mask": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, t.ones(2, 2).long()),
    "doubles as a mask": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, t.ones(2, 2).double()),
    "dropout": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, None, 1.5),
    "negative dropout": lambda t: (*[t.ones(1, 1, 2, 3)] * 3, None, -0.5),
    "heads": lambda t: (t.ones(1, 4, 2, 3), t.ones(1, 2, 4, 3), t.ones(1, 2, 4, 3)),
    "batches": lambda t: (t.ones(3, 1, 2, 3), t.ones(2, 1, 4, 3), t.ones(2, 1, 4, 3)),
    "no tensor": lambda t: (t.ones(2, 3), None, t.ones(3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    raised = []
    for library in (rushlight, torch):
        with pytest.raises(Exception) as caught:
            attention(library)(*ERRORS[name](library))
        raised.append((type(caught.value).__name__, str(caught.value).splitlines()[0]))
    assert raised[0] == raised[1]


def test_groups_must_divide():
    for library in (rushlight, torch):
        with pytest.raises(RuntimeError, match="Number of heads in key and value must divide the number of"):
            attention(library)(library.ones(1, 4, 2, 3), *[library.ones(1, 3, 4, 3)] * 2, enable_gqa=True)
        with pytest.raises(IndexError, match="Dimension out of range"):
            attention(library)(library.ones(4, 3), *[library.ones(2, 3)] * 2, enable_gqa=True)


def test_heads_are_joined_without_a_copy():
    for library in (rushlight, torch):
        packed = library.ones(2, 6, 3, 4, 8)  # batch, rows, which, heads, width
        given = [packed[:, :, n].transpose(1, 2) for n in range(3)]
        assert attention(library)(*given).transpose(1, 2).is_contiguous()
