"""The stream of random numbers beside PyTorch's: the same numbers, the same state afterwards, to the bit."""

import hashlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

FLOATS = ("float16", "bfloat16", "float32", "float64")
ALL = (*FLOATS, "uint8", "int8", "int16", "int32", "int64", "bool")
SHAPES = [(), (0,), (3,), (15,), (16,), (17,), (1000,), (31, 33), (2, 3, 4)]
LAYOUTS = {
    "transposed": lambda t, dtype: t.empty(31, 33, dtype=dtype).t(),
    "every second": lambda t, dtype: t.empty(40, 66, dtype=dtype)[:, ::2],
    "permuted": lambda t, dtype: t.empty(4, 5, 6, dtype=dtype).permute(1, 2, 0),
    **{str(s): lambda t, dtype, s=s: t.empty(s, dtype=dtype) for s in SHAPES},
}


def follows_the_stream():
    """PyTorch draws coins from a generator of MKL's on some CPUs; rushlight draws them alike on all."""
    states = []
    for draw in (lambda: torch.empty(20).bernoulli_(0.5), lambda: torch.rand(40)):
        torch.manual_seed(1)
        draw()
        states.append(torch.get_rng_state())
    return torch.equal(*states)


COINS = ("bernoulli_", "bernoulli p", "dropout")
needs_the_stream = pytest.mark.skipif(not follows_the_stream(), reason="PyTorch draws coins from MKL here")


def cases(names):
    return [
        pytest.param(name, marks=needs_the_stream) if any(coin in name for coin in COINS) else name
        for name in names
    ]


def outcome(library, draw):
    """What it drew, or the error; then the state."""
    library.manual_seed(5)
    try:
        drawn = draw(library)
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error), str(error).splitlines()[0]
    drawn = drawn if isinstance(drawn, tuple) else (drawn,)
    drawn = [(str(x.dtype), x.stride(), x.double().numpy().copy()) for x in drawn]
    return drawn, hashlib.sha256(library.get_rng_state().numpy().tobytes()).hexdigest()


def check(draw, what, refused_first=False):
    """refused_first: that the dtype is none for this may be said before the numbers are looked at."""
    ours, theirs = outcome(rushlight, draw), outcome(torch, draw)
    if not isinstance(theirs[0], list):
        assert ours == theirs or (refused_first and issubclass(ours[0], theirs[0])), (
            f"{what}: {ours}, {theirs}"
        )
        return
    assert isinstance(ours[0], list), f"{what}: {ours} instead of {theirs}"
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert a[:2] == b[:2], what
        np.testing.assert_array_equal(a[2], b[2], err_msg=str(what))
    assert ours[1] == theirs[1], f"{what}: the state"


def chances(library, like, scale=1.0):
    """Numbers of [0, scale] in the layout of a tensor."""
    n = max(like.numel() - 1, 1)
    x = library.arange(like.numel(), dtype=library.float64) * (scale / n)
    return like.copy_(x.reshape(like.shape))


# ---- in place ----
FILLS = [
    *(("uniform_", a) for a in ((), (-2.5, 3.7), (1, 1), (2, 1))),
    *(("normal_", a) for a in ((), (1.5, 2.7), (0, 0), (0, -1))),
    *(
        pytest.param("bernoulli_", a, marks=needs_the_stream)
        for a in ((), (0.3,), (1.0,), (0.0,), (1.5,), (float("nan"),))
    ),
    *(("exponential_", a) for a in ((), (2.5,), (0,), (float("inf"),))),
    *(("geometric_", a) for a in ((0.3,), (1e-6,), (0,), (1,))),
    *(("log_normal_", a) for a in ((), (0.1, 0.3), (0, 0))),
    *(("cauchy_", a) for a in ((), (1.0, 3.0), (0, 0))),
    *(("random_", a) for a in ((), (7,), (2, 100), (-5, 100), (5, 5), (0, 2**28 - 1), (0, 2**28))),
    *(("random_", a) for a in ((-(2**40), 2**41), (3, None), (-(2**63), None), (-(2**63), 2**63 - 1))),
]


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("name, args", FILLS)
def test_fills(name, args, dtype):
    for layout, make in LAYOUTS.items():
        if layout == "(0,)" and dtype not in FLOATS[1:]:
            continue  # PyTorch looks at the dtype only where there is something to draw

        def draw(t):
            return getattr(make(t, getattr(t, dtype)), name)(*args)  # noqa: B023

        check(draw, (name, args, dtype, layout), refused_first=dtype not in FLOATS)


# ---- new tensors ----
def sizes(name, *args, **options):
    return [lambda t, d, s=s: getattr(t, name)(*args, s, dtype=d, **options) for s in SHAPES]


FACTORIES = {
    "rand": sizes("rand"),
    "randn": sizes("randn"),
    "randint": sizes("randint", 2) + sizes("randint", -3, 100) + sizes("randint", 3, 3),
    "normal": sizes("normal", 1.0, 2.5) + sizes("normal", 0.0, -1.0),
    "randperm": [lambda t, d, n=n: t.randperm(n, dtype=d) for n in (0, 1, 2, 10, 100, 1000, 3000)],
}


_FRACTIONS = ("rand", "randn", "normal")  # of no integers


@pytest.mark.parametrize(
    "name, dtype", [(n, d) for n in FACTORIES for d in (*FLOATS, *(() if n in _FRACTIONS else ALL[-6:]))]
)
def test_new_tensors(name, dtype):
    for draw in FACTORIES[name]:
        check(lambda t: draw(t, getattr(t, dtype)), (name, dtype))  # noqa: B023


# ---- by what tensors say ----
LIKE = {
    "rand_like": lambda t, x: t.rand_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 9),
    "randint_like low": lambda t, x: t.randint_like(x, 3, 9),
    "randint_like tensor": lambda t, x: t.randint_like(x, t.tensor(5.5)),
    "randint_like vector": lambda t, x: t.randint_like(x, t.tensor([5])),
    "bernoulli": lambda t, x: t.bernoulli(chances(t, x)),
    "bernoulli p": lambda t, x: chances(t, x).bernoulli(p=0.3),
    "bernoulli above 1": lambda t, x: t.bernoulli(chances(t, x, 2.0)),
    **{
        f"bernoulli_ {dtype}": lambda t, x, dtype=dtype: t.empty_like(x).bernoulli_(
            chances(t, x).to(getattr(t, dtype))
        )
        for dtype in FLOATS
    },
    "bernoulli_ stretched": lambda t, x: x.bernoulli_(t.tensor(0.4)),
    "bernoulli_ shape": lambda t, x: x.bernoulli_(t.ones(7)),
    **{
        f"poisson {scale}": lambda t, x, scale=scale: t.poisson(chances(t, x, scale))
        for scale in (1, 9.5, 30, 1000)
    },
    **{
        f"binomial {n}": lambda t, x, n=n: t.binomial(t.full_like(x, n), chances(t, x))
        for n in (1, 12, 40, 200)
    },
    "binomial dtypes": lambda t, x: t.binomial(t.ones(3), t.ones(3, dtype=t.float64)),
    "normal both": lambda t, x: t.normal(chances(t, x), chances(t, t.empty_like(x), 3.0)),
    "normal double": lambda t, x: t.normal(chances(t, x), chances(t, t.empty_like(x), 3.0).double()),
    "normal mean": lambda t, x: t.normal(chances(t, x), 1.7),
    "normal std": lambda t, x: t.normal(1.7, chances(t, x)),
    "normal stretched": lambda t, x: t.normal(chances(t, x), t.tensor([2.0])),
    "normal below 0": lambda t, x: t.normal(x, -t.ones(1)),
    "dropout": lambda t, x: t.dropout(chances(t, x), 0.3, True),
    "dropout whole": lambda t, x: t.dropout(chances(t, x), 1.0, True),
    "native_dropout": lambda t, x: t.native_dropout(chances(t, x), 0.3, True),
    "native_dropout None": lambda t, x: t.native_dropout(chances(t, x), 0.3, None),
    "alpha_dropout": lambda t, x: t.alpha_dropout(chances(t, x), 0.3, True),
    "alpha_dropout_": lambda t, x: t.alpha_dropout_(chances(t, x), 0.3, True),
    "feature_alpha_dropout": lambda t, x: t.feature_alpha_dropout(chances(t, x), 0.3, True),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", cases(LIKE))
def test_what_tensors_say(name, dtype):
    for layout, make in LAYOUTS.items():
        if name == "bernoulli_ stretched" and layout == "()":
            continue
        check(lambda t: LIKE[name](t, make(t, getattr(t, dtype))), (name, dtype, layout))  # noqa: B023


@needs_the_stream
@pytest.mark.parametrize("dtype", ALL)
def test_coins_of_every_dtype(dtype):
    check(lambda t: t.bernoulli(t.ones(20, dtype=getattr(t, dtype)), 0.3), dtype)
    check(lambda t: t.empty(20, dtype=getattr(t, dtype)).bernoulli_(t.full((20,), 0.3)), dtype)


# ---- multinomial ----
PICKS = [(1,), (2,), (3,), (10,), (1, True), (2, True), (1000, True), (0,), (-1, True)]
WEIGHTS = {
    "many": lambda t, d: t.arange(1, 1001).to(d),
    "few": lambda t, d: t.tensor([1, 2, 3], dtype=d),
    "rows": lambda t, d: t.arange(1, 101).to(d).reshape(5, 20),
    "transposed": lambda t, d: t.arange(1, 101).to(d).reshape(20, 5).t(),
    "every second": lambda t, d: t.arange(1, 101).to(d).reshape(5, 20)[:, ::2],
    "no rows": lambda t, d: t.zeros(0, 3, dtype=d),
    "no categories": lambda t, d: t.zeros(3, 0, dtype=d),
    "zeros": lambda t, d: t.zeros(3, dtype=d),
    "a row of zeros": lambda t, d: t.tensor([[0, 0], [1, 2]], dtype=d),
    "below 0": lambda t, d: -t.ones(3, dtype=d),
    "nan": lambda t, d: t.full((3,), float("nan"), dtype=d),
    "inf": lambda t, d: t.full((2, 3), float("inf"), dtype=d),
    "number": lambda t, d: t.tensor(1, dtype=d),
    "cube": lambda t, d: t.ones(2, 2, 2, dtype=d),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize(
    "args", [(1,), (2,), (3,), (10,), (1, True), (2, True), (1000, True), (0,), (-1, True)]
)
def test_multinomial(args, dtype):
    for name, weights in WEIGHTS.items():
        check(lambda t: t.multinomial(weights(t, getattr(t, dtype)), *args), (name, args, dtype))  # noqa: B023


# ---- generators ----
@pytest.mark.parametrize("seed, before", [(3, 0), (3, 5), (-4, 700), (9, 624), (1, 1247)])
@pytest.mark.parametrize("source, target", [(torch, rushlight), (rushlight, torch)])
def test_states_go_both_ways(source, target, seed, before):
    source.manual_seed(seed)
    source.rand(before)
    source.randn(3)
    generator = target.Generator().set_state(target.from_numpy(source.get_rng_state().numpy().copy()))

    def draws(t, **options):
        yield t.rand(5, **options).tolist()
        yield t.randn(3, **options).tolist()
        yield t.randn(40, **options).tolist()
        yield t.randperm(9, **options).tolist()
        yield t.empty(4, dtype=t.float64).exponential_(**options).tolist()
        yield t.multinomial(t.ones(9), 5, **options).tolist()

    assert list(draws(source)) == list(draws(target, generator=generator))
    assert source.get_rng_state().tolist() == generator.get_state().tolist()
