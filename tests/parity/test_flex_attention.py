"""flex_attention() and BlockMask beside PyTorch's: numbers, gradients, texts, errors.

PyTorch gives no gradients on the CPU; the function beneath, which it maps over positions, does.
"""

import math
import warnings

import numpy as np
import pytest

import rushlight
import rushlight.nn.attention.flex_attention as ours

torch = pytest.importorskip("torch")
import torch.nn.attention.flex_attention as theirs  # noqa: E402
from torch._higher_order_ops.flex_attention import math_attention  # noqa: E402

BOTH = ((torch, theirs), (rushlight, ours))


def draw(seed, *shape):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


DATA = dict(
    alibi=draw(1, 4), table=draw(2, 4, 200), square=draw(3, 2, 4, 40, 48), document=np.arange(48) // 13,
    documents=np.stack([np.arange(48) // 13, np.arange(48) // 7]), lengths=np.array([40, 11]),
    places=np.arange(48).reshape(6, 8),
)  # fmt: skip
SCORES = {
    "none": lambda L, t: None,
    "alibi": lambda L, t: lambda s, b, h, q, kv: s + t.alibi[h] * (q - kv),
    "table": lambda L, t: lambda s, b, h, q, kv: s + t.table[h, q - kv + 100],
    "square": lambda L, t: lambda s, b, h, q, kv: s + t.square[b, h, q, kv],
    "chained": lambda L, t: (
        lambda s, b, h, q, kv: s + t.square.detach()[b][h][q][kv] * t.square.detach()[b, h][q, 0]
    ),  # PyTorch has no gradient of these
    "softcap": lambda L, t: lambda s, b, h, q, kv: L.tanh(s / 2) * 2,
    "where": lambda L, t: lambda s, b, h, q, kv: L.where(q >= kv, s, -math.inf),
    "by batch": lambda L, t: lambda s, b, h, q, kv: s * (b + 1) / (h + 1) + t.alibi.sum(),
}
MASKS = {
    "none": lambda L, t: None,
    "causal": lambda L, t: lambda b, h, q, kv: q >= kv,
    "window": lambda L, t: lambda b, h, q, kv: (q >= kv) & (q - kv < 9),
    "document": lambda L, t: lambda b, h, q, kv: t.document[q] == t.document[kv],
    "documents": lambda L, t: lambda b, h, q, kv: t.documents[b][q] == t.documents[b, kv],
    "prefix": lambda L, t: lambda b, h, q, kv: (kv <= t.lengths[b]) & (q > 3),
    "tiles": lambda L, t: lambda b, h, q, kv: t.places[kv // 8, kv % 8] % (h + 2) != 1,
    "nothing": lambda L, t: lambda b, h, q, kv: q < 0,
}


class Data:
    def __init__(self, library):
        for name, array in DATA.items():
            setattr(self, name, library.tensor(array))
        self.leaves = [self.alibi, self.table, self.square]
        for leaf in self.leaves:
            leaf.requires_grad_()


def mapped(query, key, value, score_mod, block_mask, **_):
    block_mask = block_mask or theirs._create_empty_block_mask(query, key)
    scale = 1 / math.sqrt(query.shape[-1])
    out, lse, top = math_attention(
        query, key, value, score_mod or theirs._identity, block_mask.as_tuple(), scale, {}
    )
    return out, theirs.AuxOutput(lse * math.log(2), top * math.log(2))


@pytest.mark.parametrize("at_once", (1 << 22, 2000))
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_numbers_and_gradients(score, mask, at_once, monkeypatch):
    monkeypatch.setattr(ours, "_SCORES_AT_ONCE", at_once)
    results = []
    for library, module in BOTH:
        data = Data(library)
        inputs = [
            library.tensor(draw(i, 2, heads, n, 8)).requires_grad_()
            for i, (heads, n) in enumerate(((4, 40), (2, 48), (2, 48)))
        ]
        mask_mod = MASKS[mask](library, data)
        blocks = mask_mod and module.create_block_mask(
            mask_mod, 2, 4, 40, 48, device="cpu", BLOCK_SIZE=(8, 16)
        )
        run = mapped if library is torch else module.flex_attention
        wanted = module.AuxRequest(lse=True, max_scores=True)
        out, aux = run(*inputs, SCORES[score](library, data), blocks, enable_gqa=True, return_aux=wanted)
        loss = out.sin().sum() + aux.lse.masked_fill(aux.lse.isinf(), 0).cos().sum()
        loss.backward()
        grads = [leaf.grad for leaf in (*inputs, *data.leaves)]
        results.append(
            [None if t is None else t.detach().numpy() for t in (out, aux.lse, aux.max_scores, *grads)]
        )
        if library is rushlight:
            fused = module.flex_attention(*inputs, SCORES[score](library, data), blocks, enable_gqa=True)
            np.testing.assert_allclose(fused.detach().numpy(), results[0][0], rtol=1e-9, atol=1e-10)
    for expected, got in zip(*results, strict=True):
        if expected is None or got is None:
            assert not np.any(got) if expected is None else not np.any(expected)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", ("float32", "float16", "bfloat16"))
def test_call_as_scripts_do(dtype):
    found = []
    for library, module in BOTH:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            query, key = (library.tensor(draw(i, 2, 4, 40, 16)).to(getattr(library, dtype)) for i in range(2))
            blocks = module.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 40, 40, device="cpu")
            with library.no_grad():
                out, aux = module.flex_attention(
                    query.transpose(1, 2).contiguous().transpose(1, 2), key, key,
                    lambda s, b, h, q, kv: s * 0.5, blocks, scale=0.3, return_aux=module.AuxRequest(lse=True),
                )  # fmt: skip
        found.append((out.float().numpy(), aux.lse.numpy(), str(out.dtype), out.stride(), str(aux.lse.dtype)))
    (a, lse, *rest), (b, own_lse, *own_rest) = found
    assert [str(x).replace("rushlight", "torch") for x in own_rest] == [str(x) for x in rest]
    limit = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    np.testing.assert_allclose(b, a, rtol=limit, atol=limit)
    np.testing.assert_allclose(own_lse, lse, rtol=1e-4, atol=1e-4)


def tensors(mask):
    return [None if t is None else (str(t.dtype).split(".")[-1], t.tolist()) for t in listed(mask)]


def listed(mask):
    return [getattr(mask, name) for name in theirs.BlockMask._TENSOR_ATTRS]


def masks(library, module, mask, **more):
    more = {"device": "cpu", "BLOCK_SIZE": (8, 16), **more}
    return module.create_block_mask(MASKS[mask](library, Data(library)), 2, 4, 40, 48, **more)


USES = {
    "whole": lambda L, m: m,
    "a batch": lambda L, m: m[0],
    "the last": lambda L, m: m[-1, -2],
    "some": lambda L, m: m[:, 1:3, 2:],
    "rows": lambda L, m: m[:, :, L.tensor([2, 1])],
    "out of it": lambda L, m: m[5],
    "shorter": lambda L, m: m._adjust(21, 17),
    "longer": lambda L, m: m._adjust(40, 64),
    "moved": lambda L, m: m.to("cpu"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mask", [name for name in MASKS if name != "none"])
def test_block_masks(mask, use):
    found = []
    for library, module in BOTH:
        mine = []
        for more in (
            {},
            {"separate_full_blocks": False},
            {"compute_dq_write_order": True, "dq_kv_order": False},
            {"compute_dq_write_order": True},
            {"BLOCK_SIZE": 16},
        ):
            part = USES[use](library, masks(library, module, mask, **more))
            texts = [part.numel(), part.shape, part.dq_kv_order_spt]
            if part.numel() and use != "out of it":
                texts += [repr(part).replace("rushlight", "torch"), str(part), part.sparsity()]
                texts += [part.to_string(3), part.to_string((2, 5), limit=1), part.to_string(-1)]
            lengths = [len(part.as_tuple()), len(part.as_tuple(flatten=False))]
            mine += [tensors(part), part.to_dense().tolist(), texts, lengths]
        found.append(mine)
    assert found[1] == found[0]


def test_masks_of_functions():
    for make in (
        lambda L, F: F.create_mask(lambda b, h, q, kv: q >= kv, None, 2, 3, 4, "cpu"),
        lambda L, F: F.create_mask(
            lambda s, b, h, q, kv: L.where(q >= kv + h, s, -math.inf), 2, 2, 3, 4, "cpu"
        ),
        lambda L, F: F.create_mask(F.noop_mask, 1, 2, 3, 4, "cpu"),
        lambda L, F: F.create_mask(F.and_masks(F.noop_mask, lambda b, h, q, kv: q != kv), 1, 2, 3, 4, "cpu"),
        lambda L, F: F.create_mask(F.or_masks(), 1, 2, 3, 4, "cpu"),
        lambda L, F: F._vmap_for_bhqkv(lambda b, h, q, kv: b + 2 * h + 3 * q + 5 * kv, ())(
            *map(L.arange, (2, 3, 4, 5))
        ),
        lambda L, F: F._vmap_for_bhqkv(lambda s, b, h, q, kv, t: s + t[h] * q, (0,), (None,))(
            L.ones(2, 3, 4, 5), *map(L.arange, (2, 3, 4, 5)), L.arange(3)
        ),
        lambda L, F: F._convert_block_mask_to_mask(L.eye(2)[None, None], 2, 3),
    ):
        expected, got = (make(*each) for each in BOTH)
        assert (
            got.tolist() == expected.tolist()
            and str(got.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
        )


def fails(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:
        return type(error), str(error)
    return None


def causal(b, h, q, kv):
    return q >= kv


def r(L, *shape):
    return L.ones(*shape)


MISTAKES = [
    lambda L, F: F.flex_attention(r(L, 3), r(L, 3), r(L, 3)),
    lambda L, F: F.flex_attention(r(L, 2, 3), r(L, 2, 3), r(L, 2, 3)),
    lambda L, F: F.flex_attention(r(L, 1, 2, 3, 4), r(L, 1, 2, 3, 5), r(L, 1, 2, 3, 5)),
    lambda L, F: F.flex_attention(r(L, 1, 4, 3, 4), r(L, 1, 2, 3, 4), r(L, 1, 2, 3, 4)),
    lambda L, F: F.flex_attention(r(L, 1, 3, 3, 4), r(L, 1, 2, 3, 4), r(L, 1, 2, 3, 4), enable_gqa=True),
    lambda L, F: F.flex_attention(r(L, 2, 2, 3, 4), r(L, 1, 2, 3, 4), r(L, 1, 2, 3, 4)),
    lambda L, F: F.flex_attention(
        r(L, 2, 2, 8, 4), r(L, 1, 2, 8, 4), r(L, 1, 2, 8, 4),
        block_mask=F.create_block_mask(causal, 1, 1, 8, 8, device="cpu"),
    ),
    *(
        lambda L, F, n=n: F.flex_attention(
            r(L, 2, 2, n[0], 4), r(L, 2, 2, n[1], 4), r(L, 2, 2, n[1], 4),
            block_mask=F.create_block_mask(causal, 1, 1, 8, 8, device="cpu"),
        )
        for n in ((9, 8), (8, 9), (7, 8), (8, 7), (7, 9), (3, 3))
    ),
    lambda L, F: F.flex_attention(
        *[r(L, 1, 1, 8, 4)] * 3, block_mask=F.create_block_mask(causal, 1, 1, 8, 8, device="cpu")[0]
    ),
    lambda L, F: F.flex_attention(*[r(L, 1, 1, 8, 4)] * 3, return_lse=True, return_aux=F.AuxRequest()),
    lambda L, F: F.flex_attention(*[r(L, 1, 1, 8, 4)] * 3, kernel_options={"BACKEND": "X"}),
    lambda L, F: F.flex_attention(
        *[r(L, 1, 1, 8, 4)] * 3, kernel_options={"BACKEND": "AUTO", "FORCE_USE_FLEX_ATTENTION": True}
    ),
    lambda L, F: F.flex_attention(*[r(L, 1, 1, 8, 4)] * 3, kernel_options={"OUTPUT_MAX": 1}),
    lambda L, F: F.flex_attention(*[r(L, 1, 1, 8, 4)] * 3, kernel_options={"OUTPUT_LOGSUMEXP": 1}),
    lambda L, F: F.flex_attention(
        *[r(L, 1, 1, 8, 4)] * 3, kernel_options={"BACKEND": "FLASH"}, return_aux=F.AuxRequest(max_scores=True)
    ),
    lambda L, F: F.create_block_mask(lambda q: q, 1, 1, 8, 8, device="cpu"),
    lambda L, F: F.create_mask(lambda q: q, 1, 1, 8, 8, device="cpu"),
    lambda L, F: F.create_block_mask(lambda b, h, q, kv: q - kv, 1, 1, 8, 8, device="cpu"),
    lambda L, F: F.create_block_mask(causal, 1, 1, 8, 8, device="cpu", dq_kv_order=3),
    lambda L, F: F.create_block_mask(causal, 1, 1, 8, 8, device="cpu")[0].mask_mod(1, 2, 3, 4),
    lambda L, F: F.BlockMask.from_kv_blocks(L.ones(()), L.ones(2)),
    lambda L, F: F.BlockMask.from_kv_blocks(L.ones(1, 1), L.ones(1, 1, 1), L.ones(1, 1)),
    lambda L, F: F.BlockMask.from_kv_blocks(
        L.ones(1).int(), L.ones(1, 1).int(), dq_kv_order=3, compute_q_blocks=False
    ),
    lambda L, F: F.BlockMask.from_kv_blocks(
        L.ones(1).int(), L.ones(1, 1).int(), compute_q_blocks=False, dq_kv_order=L.ones(1)
    )[0],
    lambda L, F: F.BlockMask.from_kv_blocks(
        L.ones(1).int(), L.ones(1, 1).int(), compute_q_blocks=False, dq_write_order_full=L.ones(1)
    ),
    lambda L, F: F.and_masks(3),
    lambda L, F: F.or_masks(causal, None),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number):
    expected, got = (fails(lambda each=each: MISTAKES[number](*each)) for each in BOTH)
    assert expected is not None and got is not None
    assert got[0] is expected[0]
    assert got[1].replace("rushlight", "torch") == expected[1]


def test_names():
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in ("_DEFAULT_SPARSE_BLOCK_SIZE", "_LARGE_SPARSE_BLOCK_SIZE"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.FlexKernelOptions.__annotations__.keys() == theirs.FlexKernelOptions.__annotations__.keys()
    assert repr(ours.AuxRequest(lse=True)) == repr(theirs.AuxRequest(lse=True))
    assert ours._round_up_to_multiple(13, 8) == theirs._round_up_to_multiple(13, 8)


def test_groups_of_heads_as_two_dimensions():
    found = []
    for library, module in BOTH:
        mapped = module._vmap_for_bhqkv(lambda b, h, q, kv: b + 2 * h + 3 * q + 5 * kv, (), group_dim=True)
        heads = library.arange(6).view(3, 2)
        found.append(mapped(library.arange(2), heads, library.arange(4), library.arange(5)).tolist())
    assert found[1] == found[0]


def test_the_compile_flag_warns(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function: function)  # which takes a minute
    texts = []
    for _, module in BOTH:
        with pytest.warns(DeprecationWarning) as given:
            module.create_block_mask(causal, 1, 1, 8, 8, device="cpu", _compile=True)
        texts.append([str(w.message) for w in given])
    assert texts[1] == texts[0]
