"""MultiheadAttention, the layers of Transformers and what they are made of, beside PyTorch."""

import copy
import io
import itertools
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
NEAR = {"float64": 1e-10, "float32": 3e-5, "bfloat16": 4e-2, "float16": 5e-3}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small as these are, PyTorch's threads would wait for each other most of the time."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def numbers(t, *shape, dtype="float32", seed=0):
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return t.tensor(values.tolist(), dtype=getattr(t, dtype)).reshape(shape)


def hidden(t, *shape, seed=0):
    """A boolean mask that hides a third, and never the first key."""
    mask = np.random.default_rng([seed, *shape]).random(shape) < 0.33
    mask[..., 0] = False
    return t.tensor(mask.tolist()).reshape(shape)


def as_numbers(t, mask, dtype="float32"):
    """The same mask, to be added."""
    return t.zeros(mask.shape, dtype=getattr(t, dtype)).masked_fill(mask, -t.inf)


def array(value):
    return None if value is None else np.array(value.detach().double().tolist()).reshape(tuple(value.shape))


def assert_close(ours, theirs, dtype="float32"):
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=NEAR[dtype], atol=NEAR[dtype])


def attempt(call):
    """What a call answers, or how it fails, and what it says."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            answer = call()
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
    prototype = "The PyTorch API of nested tensors"  # which are not made here
    return answer, [str(w.message) for w in said if not str(w.message).startswith(prototype)]


def backward(module, outputs, *inputs):
    """Outputs, and the gradients of a weighted sum of them by inputs and parameters."""
    present = [y for y in outputs if y is not None]
    t = rushlight if isinstance(present[0], rushlight.Tensor) else torch
    sum((y.double() * numbers(t, *y.shape, dtype="float64", seed=9)).sum() for y in present).backward()
    return [array(v) for v in (*outputs, *(x.grad for x in inputs), *(p.grad for p in module.parameters()))]


# ---- MultiheadAttention ----
def attention_masks(t, kind, length, sources, batch, heads, dtype):
    """attn_mask and key_padding_mask by name; what + joins are both there."""
    padding = (batch, sources) if batch else (sources,)
    found = {}
    for part in kind.split("+"):
        sizes = {"2d": (length, sources), "3d": (max(batch, 1) * heads, length, sources), "pad": padding}
        what, _, numeric = part.partition("-")
        if what:
            mask = hidden(t, *sizes[what])
            mask = as_numbers(t, mask, dtype) if numeric else mask
            found["key_padding_mask" if what == "pad" else "attn_mask"] = mask
    return found


MASKS = ["", "2d", "3d", "pad", "2d-f", "3d-f", "pad-f", "2d+pad", "3d+pad", "3d-f+pad-f", "2d-f+pad"]
LAYERS = [
    {},
    {"bias": False},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"kdim": 6, "vdim": 10},
    {"kdim": 6, "vdim": 10, "add_bias_kv": True, "add_zero_attn": True, "bias": False},
    {"batch_first": True},
    {"batch_first": True, "add_bias_kv": True, "add_zero_attn": True, "vdim": 10},
    {"num_heads": 1, "batch_first": True},
]


def attend(t, options, mask, batch, alike, dtype="float32", **call):
    """Outputs and all gradients of a layer with options over queries of 5 and keys of 7 places."""
    t.manual_seed(1)
    options = {"num_heads": 2, **options}
    layer = t.nn.MultiheadAttention(8, dtype=getattr(t, dtype), **options)
    with t.no_grad():
        for p in layer.parameters():
            p.add_(0.1)  # biases start at 0
    length, sources = (5, 5) if alike == "self" else (5, 7)
    first = options.get("batch_first", False)

    def places(n, size, seed):
        shape = () if not batch else (batch,)
        shape = (*shape, n, size) if first else (n, *shape, size)
        return numbers(t, *shape, dtype=dtype, seed=seed).requires_grad_()

    query = places(length, 8, 1)
    key = query if alike == "self" else places(sources, options.get("kdim", 8), 2)
    value = key if alike in ("self", "memory") else places(sources, options.get("vdim", 8), 3)
    masks = attention_masks(t, mask, length, sources, batch, options["num_heads"], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # masks of two kinds
        outputs = layer(query, key, value, **masks, **call)
    return backward(layer, outputs, query, key, value)


@pytest.mark.parametrize("options", LAYERS, ids=lambda options: ",".join(options) or "plain")
@pytest.mark.parametrize("mask", MASKS)
def test_attention(options, mask):
    separate = "kdim" in options or "vdim" in options
    for alike, batch in itertools.product(("none",) if separate else ("none", "memory", "self"), (0, 3)):
        for call in ({}, {"need_weights": False}, {"average_attn_weights": False}):
            ours, theirs = (attend(t, options, mask, batch, alike, **call) for t in LIBRARIES)
            assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("options", LAYERS[:5], ids=lambda options: ",".join(options) or "plain")
def test_attention_in_other_dtypes(options, dtype):
    for call in ({}, {"need_weights": False}):
        ours, theirs = (attend(t, options, "2d+pad", 3, "none", dtype, **call) for t in LIBRARIES)
        assert_close(ours, theirs, dtype)


def inference(t, options, mask, call, dtype="float32", enabled=True):
    """Outputs of self-attention in eval mode; a row of the mask is hidden whole."""
    t.manual_seed(1)
    layer = t.nn.MultiheadAttention(8, **{"num_heads": 2, **options}, dtype=getattr(t, dtype)).eval()
    x = numbers(t, 5, 5, 8, dtype=dtype)
    masks = attention_masks(t, mask, 5, 5, 5, layer.num_heads, dtype)
    for given in masks.values():
        given[1] = -t.inf if given.is_floating_point() else True
    t.backends.mha.set_fastpath_enabled(enabled)
    try:
        with t.no_grad():
            outputs = layer(x, x, x, **masks, **call)
    finally:
        t.backends.mha.set_fastpath_enabled(True)
    return [array(y) for y in outputs]


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("mask", ["", "2d", "3d", "pad", "3d-f", "2d+pad", "3d+pad"])
def test_attention_in_inference(mask, enabled):
    options = ({"batch_first": True}, {"batch_first": True, "bias": False}, {}, LAYERS[-1])
    calls = ({}, {"need_weights": False}, {"average_attn_weights": False})
    for option, call in itertools.product(options, calls):
        ours, theirs = (inference(t, option, mask, call, enabled=enabled) for t in LIBRARIES)
        assert_close(ours, theirs)


# ---- layers and stacks ----
STACKS = [
    {"batch_first": first, "norm_first": before, "activation": activation, "bias": bias}
    for first, before, activation, bias in itertools.product(
        (False, True), (False, True), ("relu", "gelu"), (True, False)
    )
]


def encoder(t, options, **more):
    t.manual_seed(2)
    layer = t.nn.TransformerEncoderLayer(8, **{"nhead": 2, **options}, dim_feedforward=12, dropout=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return t.nn.TransformerEncoder(layer, 2, **more)


def sequences(t, options, batch, length, seed=0):
    shape = (batch, length, 8) if options.get("batch_first") else (length, batch, 8)
    return numbers(t, *(shape if batch else (length, 8)), seed=seed).requires_grad_()


def encode(t, options, masks, batch=3, train=True, grad=True, **more):
    stack = encoder(t, options, **more).train(train)
    src = sequences(t, options, batch, 5)
    given = {}
    if "causal" in masks:
        given["mask"] = t.nn.Transformer.generate_square_subsequent_mask(5)
    if "3d" in masks:
        given["mask"] = hidden(t, max(batch, 1) * options.get("nhead", 2), 5, 5)
    if "pad" in masks:
        lengths = t.tensor([[3], [5], [0 if "none" in masks else 4]])
        padding = t.arange(5) >= lengths
        if "holes" in masks:
            padding[0, 1] = True
        given["src_key_padding_mask"] = padding if batch else padding[0]
        if "numbers" in masks:
            given["src_key_padding_mask"] = as_numbers(t, given["src_key_padding_mask"])
    if not grad:
        with t.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [array(stack(src, **given))]
    return backward(stack, [stack(src, **given)], src)


@pytest.mark.parametrize("options", STACKS, ids=str)
def test_encoder(options):
    for masks, batch in itertools.product(("", "causal", "3d", "pad", "pad numbers"), (0, 3)):
        for train in (True, False):
            ours, theirs = (encode(t, options, masks, batch, train) for t in LIBRARIES)
            assert_close(ours, theirs)


@pytest.mark.parametrize("options", [*STACKS, {"batch_first": True, "nhead": 1}], ids=str)
def test_encoder_in_inference(options):
    kinds = ("", "causal", "3d", "pad", "pad numbers", "pad none", "pad holes", "pad causal numbers")
    for masks in kinds:
        for more in ({}, {"enable_nested_tensor": False}, {"mask_check": False}):
            ours, theirs = (encode(t, options, masks, train=False, grad=False, **more) for t in LIBRARIES)
            assert_close(ours, theirs)


def decode(t, options, masks, batch, train):
    t.manual_seed(3)
    layer = t.nn.TransformerDecoderLayer(8, 2, dim_feedforward=12, dropout=0.0, **options)
    stack = t.nn.TransformerDecoder(layer, 2, t.nn.LayerNorm(8)).train(train)
    tgt, memory = sequences(t, options, batch, 5), sequences(t, options, batch, 4, seed=1)
    given = {}
    if "causal" in masks:
        given["tgt_mask"] = t.nn.Transformer.generate_square_subsequent_mask(5)
    if "memory" in masks:
        given["memory_mask"] = hidden(t, 5, 4)
    if "pad" in masks:
        given["tgt_key_padding_mask"] = as_numbers(t, hidden(t, *([batch] if batch else []), 5))
        given["memory_key_padding_mask"] = hidden(t, *([batch] if batch else []), 4)
    return backward(stack, [stack(tgt, memory, **given)], tgt, memory)


@pytest.mark.parametrize("options", STACKS, ids=str)
def test_decoder(options):
    for masks, batch in itertools.product(("", "causal", "memory", "causal memory pad"), (0, 3)):
        for train in (True, False):
            ours, theirs = (decode(t, options, masks, batch, train) for t in LIBRARIES)
            assert_close(ours, theirs)


def transform(t, options, train):
    t.manual_seed(4)
    model = t.nn.Transformer(8, 2, 2, 2, 12, dropout=0.0, **options).train(train)
    src, tgt = sequences(t, options, 3, 4), sequences(t, options, 3, 5, seed=1)
    causal = model.generate_square_subsequent_mask(5)
    padding = t.arange(4) >= t.tensor([[4], [2], [3]])
    output = model(src, tgt, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    return backward(model, [output], src, tgt)


@pytest.mark.parametrize("options", STACKS[::3], ids=str)
def test_transformer(options):
    for train in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, theirs = (transform(t, options, train) for t in LIBRARIES)
        assert_close(ours, theirs)


# ---- lines ----
SETUP = """
t.manual_seed(0)
mha, enc = nn.MultiheadAttention, nn.TransformerEncoderLayer
x, k = t.ones(3, 5, 8), t.ones(4, 5, 8)
m, b = mha(8, 2), t.zeros(5, 5, dtype=t.bool)
first = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0.0).eval()
W = (m.in_proj_weight, m.in_proj_bias, m.out_proj.weight, m.out_proj.bias)
T, native = nn.modules.transformer, t._native_multi_head_attention
def mhf(size, heads, weight, bias_k=None, bias_v=None, **more):
    fixed = (False, 0.0, m.out_proj.weight, None)
    return F.multi_head_attention_forward(x, x, x, size, heads, weight, None, bias_k, bias_v, *fixed, **more)
def lines(module):
    return [(name, tuple(p.shape), p.double().sum().item()) for name, p in module.state_dict().items()]
"""
CASES = Path(__file__).with_name("transformer_cases.txt").read_text().splitlines()


def plain(value):
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        return [str(value.dtype).removeprefix("torch."), repr(np.round(array(value), 4).tolist())]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return round(value, 4)
    return (
        value if value is None or isinstance(value, (bool, int)) else str(value).replace("rushlight", "torch")
    )


@pytest.mark.parametrize("line", CASES)
def test_same(line):
    answers = []
    for t in LIBRARIES:
        scope = {"t": t, "nn": t.nn, "F": t.nn.functional}
        exec(SETUP, scope)
        answer, said = attempt(lambda scope=scope: eval(line, scope))
        answers.append((plain(answer), said))
    assert answers[0] == answers[1]


# ---- what the layers are used with ----
def test_dropout_in_training():
    """The same seed drops as many; without seed the layer answers something else each time."""
    for t in LIBRARIES:
        t.manual_seed(0)
        layer = t.nn.MultiheadAttention(8, 2, dropout=0.5)
        x = numbers(t, 30, 4, 8)
        _, weights = layer(x, x, x, average_attn_weights=False)
        assert 0.4 < (weights == 0).float().mean().item() < 0.6
        one, two = (layer(x, x, x, need_weights=False)[0] for _ in range(2))
        assert not t.allclose(one, two)
        layer.eval()
        one, two = (layer(x, x, x, need_weights=False)[0] for _ in range(2))
        assert t.equal(one, two)


def test_hooks_stop_the_private_operator():
    results = []
    for t in LIBRARIES:
        stack = encoder(t, {"batch_first": True}).eval()
        seen = []
        stack.layers[0].linear1.register_forward_hook(lambda m, i, o, seen=seen: seen.append(tuple(o.shape)))
        with t.no_grad():
            y = stack(sequences(t, {"batch_first": True}, 3, 5))
        results.append((seen, array(y)))
    assert results[0][0] == results[1][0] == [(3, 5, 12)]
    assert_close(results[0][1:], results[1][1:])


def test_functional_call():
    results = []
    for t in LIBRARIES:
        stack = encoder(t, {"batch_first": True})
        larger = {name: (p * 1.25).detach().requires_grad_() for name, p in stack.named_parameters()}
        y = t.func.functional_call(stack, larger, (sequences(t, {"batch_first": True}, 3, 5),))
        (y * numbers(t, *y.shape, seed=4)).sum().backward()
        results.append([array(y), *(array(p.grad) for p in larger.values())])
        assert all(p.grad is None for p in stack.parameters())
    assert_close(*results)


def test_autocast():
    results = []
    for t in LIBRARIES:
        t.manual_seed(0)
        stack = t.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        with t.autocast("cpu", dtype=t.bfloat16):
            y = stack(numbers(t, 3, 5, 16))
        y.float().sum().backward()
        results.append((str(y.dtype).partition(".")[2], array(y), array(stack.linear1.weight.grad)))
    assert results[0][0] == results[1][0]
    assert_close(results[0][1:], results[1][1:], "bfloat16")


def test_subclasses_are_asked():
    for t in LIBRARIES:
        asked = []

        class Own(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, asked=asked):
                asked.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        layer = t.nn.MultiheadAttention(8, 2, batch_first=True).eval()
        x = numbers(t, 3, 5, 8).as_subclass(Own)
        with t.no_grad():
            y, _ = layer(x, x, x)
        assert type(y) is Own
        assert t.nn.functional.multi_head_attention_forward in asked


@pytest.mark.parametrize("name", ["MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"])
def test_states_travel(name):
    """Saved by one library, loaded by the other; and pickled here, old pickles included."""
    for source, target in (LIBRARIES, LIBRARIES[::-1]):
        source.manual_seed(5)
        given, taken = getattr(source.nn, name)(8, 2), getattr(target.nn, name)(8, 2)
        file = io.BytesIO()
        source.save(given.state_dict(), file)
        file.seek(0)
        taken.load_state_dict(target.load(file))
        assert_close(*([array(v) for v in m.state_dict().values()] for m in (given, taken)))
        again = pickle.loads(pickle.dumps(taken))
        assert_close(*([array(v) for v in m.state_dict().values()] for m in (again, taken)))
        assert list(copy.deepcopy(taken).state_dict()) == list(given.state_dict())


def test_old_pickles():
    for t in LIBRARIES:
        attention = t.nn.MultiheadAttention(8, 2)
        state = dict(attention.__dict__)
        del state["_qkv_same_embed_dim"]
        fresh = t.nn.MultiheadAttention.__new__(t.nn.MultiheadAttention)
        fresh.__setstate__(state)
        assert fresh._qkv_same_embed_dim is True
        for kind in ("TransformerEncoderLayer", "TransformerDecoderLayer"):
            layer = getattr(t.nn, kind)(8, 2, activation="gelu")
            state = dict(layer.__dict__)
            del state["activation"]
            fresh = type(layer).__new__(type(layer))
            fresh.__setstate__(state)
            assert fresh.activation is t.nn.functional.relu


def test_training_learns_to_copy():
    """A few steps of a small model, beside PyTorch's."""
    losses = []
    for t in LIBRARIES:
        t.manual_seed(6)
        model = t.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
        optimizer = t.optim.AdamW(model.parameters(), lr=0.01)
        src, tgt = numbers(t, 4, 6, 8), numbers(t, 4, 5, 8, seed=1)
        mask = model.generate_square_subsequent_mask(5)
        taken = []
        for _ in range(5):
            loss = ((model(src, tgt, tgt_mask=mask, tgt_is_causal=True) - src[:, :5]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            taken.append(loss.item())
        losses.append(taken)
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(*losses, rtol=1e-3)
