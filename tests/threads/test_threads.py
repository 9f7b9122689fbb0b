"""Python threads over the same operators and generators: the results are those of one thread.
What changes beside a running kernel stands in test_beside.py."""

import copy
import threading

import pytest

import rushlight as torch
from helpers.threads import BIG, fewer, index, number, together
from rushlight import nn, optim
from rushlight.nn import functional as F

pytestmark = pytest.mark.threads


# ---- the same operator ----
def through(function, *inputs):
    """What a function answers, and the gradients of its inputs."""

    def run():
        own = [x.detach().requires_grad_() for x in inputs]
        y = function(*own)
        y.backward(torch.ones_like(y) * 0.5)
        return [y.detach(), *(x.grad for x in own)]

    return run


def layer(module, *shape):
    def make():
        own, x = module(), number(*shape)
        return lambda: own(x)

    return make


def learning(module, *shape):
    """A layer's result and all gradients; each call has a layer of its own."""

    def make():
        first, x = module(), number(*shape)

        def run():
            own = copy.deepcopy(first)
            return [*through(own, x)(), *(p.grad for p in own.parameters())]

        return run

    return make


def on(function, *shapes, dtype=None):
    def make():
        inputs = [number(*shape, dtype=dtype) for shape in shapes]
        return lambda: function(*inputs)

    return make


def grads(function, *shapes, dtype=None):
    return lambda: through(function, *(number(*shape, dtype=dtype) for shape in shapes))


def indexed(function, rows=512, width=64, many=1024):
    def make():
        x, at, wide, values = (
            number(rows, width),
            index(rows, many),
            index(width, many, width),
            number(many, width),
        )
        return lambda: function(x, at, wide, values)

    return make


def stepped(make_optimiser):
    """Some steps of an optimiser over parameters of its own."""

    def make():
        first, gradient = number(BIG), number(BIG)

        def run():
            p = nn.Parameter(first.clone())
            p.grad = gradient.clone()
            optimiser = make_optimiser([p])
            for _ in range(3):
                optimiser.step()
            return p.detach()

        return run

    return make


def drawn(function):
    """Random numbers from a generator of each call's own."""

    def make():
        return lambda: function(torch.Generator().manual_seed(3))

    return make


SQUARE = (192, 192)
IMAGE = (4, 8, 32, 32)
FAMILIES = {
    "unary": on(lambda x: x.exp().tanh().erf().abs().sqrt(), (BIG,)),
    "unary_float64": on(lambda x: x.sin().sigmoid(), (BIG,), dtype=torch.float64),
    "unary_bfloat16": on(lambda x: x.exp().relu(), (BIG,), dtype=torch.bfloat16),
    "strided": on(lambda x: x.t().exp() + x, SQUARE),
    "binary": on(lambda a, b: (a + b) * a / (b + 9) - a.pow(2), (BIG,), (BIG,)),
    "broadcast": on(lambda a, b: a * b, (256, 128), (128,)),
    "compare": on(lambda a, b: (a < b) | (a == b), (BIG,), (BIG,)),
    "where": on(lambda a, b: torch.where(a < b, a, b), (BIG,), (BIG,)),
    "cast": on(lambda x: x.half().double().to(torch.int32), (BIG,)),
    "copy": on(lambda x: x.t().contiguous().clone(), SQUARE),
    "create": lambda: lambda: torch.arange(BIG) + torch.full((BIG,), 3) + torch.zeros(BIG).long(),
    "join": on(lambda a, b: torch.cat([a, b.roll(3, 0), a.flip(0)]), SQUARE, SQUARE),
    "triangle": on(lambda x: x.tril() + x.triu(2), SQUARE),
    "sum": on(lambda x: [x.sum(), x.sum(0), x.sum(1), x.mean(), x.prod(1)], (256, 256)),
    "spread": on(lambda x: [x.var(), x.std(1), x.norm()], (256, 256)),
    "extreme": on(lambda x: [x.max(), *x.min(1), x.argmax(0), x.amax(1)], (256, 256)),
    "scan": on(lambda x: [x.cumsum(0), x.cumprod(1)], (256, 256)),
    "sort": on(lambda x: [*x.sort(1), *x.topk(7), x.argsort(0)], (256, 256)),
    "softmax": grads(lambda x: x.softmax(1), (256, 256)),
    "log_softmax": grads(lambda x: x.log_softmax(0), (256, 256)),
    "matmul": grads(torch.matmul, (160, 192), (192, 144)),
    "matmul_float64": grads(torch.matmul, (160, 192), (192, 144), dtype=torch.float64),
    "bmm": grads(torch.bmm, (8, 48, 64), (8, 64, 40)),
    "addmm": on(torch.addmm, SQUARE, SQUARE, SQUARE),
    "linear": learning(lambda: nn.Linear(128, 192), 256, 128),
    "conv1d": learning(lambda: nn.Conv1d(8, 16, 5, padding=2), 8, 8, 256),
    "conv2d": learning(lambda: nn.Conv2d(8, 16, 3), *IMAGE),
    "conv2d_strided": learning(lambda: nn.Conv2d(8, 16, 5, stride=2, dilation=2), *IMAGE),
    "conv2d_groups": learning(lambda: nn.Conv2d(8, 8, 3, groups=8), *IMAGE),
    "conv3d": learning(lambda: nn.Conv3d(4, 8, 3), 2, 4, 12, 16, 16),
    "conv_transpose2d": learning(lambda: nn.ConvTranspose2d(8, 4, 3, stride=2), *IMAGE),
    "batch_norm": learning(lambda: nn.BatchNorm2d(8), *IMAGE),
    "layer_norm": learning(lambda: nn.LayerNorm(128), 256, 128),
    "group_norm": learning(lambda: nn.GroupNorm(4, 8), *IMAGE),
    "rms_norm": learning(lambda: nn.RMSNorm(128), 256, 128),
    "instance_norm": learning(lambda: nn.InstanceNorm2d(8), *IMAGE),
    "max_pool": grads(lambda x: F.max_pool2d(x, 3, 2), IMAGE),
    "avg_pool": grads(lambda x: F.avg_pool2d(x, 3, 1), IMAGE),
    "avg_pool3d": grads(lambda x: F.avg_pool3d(x, 2), (2, 4, 16, 16, 16)),
    "adaptive_pool": grads(lambda x: F.adaptive_avg_pool2d(x, 5), IMAGE),
    "lp_pool": grads(lambda x: F.lp_pool2d(x.abs() + 1, 2, 2), IMAGE),
    "resize": grads(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (2, 4, 32, 32)),
    "unfold": grads(lambda x: F.unfold(x, 3), IMAGE),
    "pad": grads(lambda x: F.pad(x, (1, 2, 3, 4), mode="reflect"), IMAGE),
    "activations": grads(lambda x: F.gelu(x) + F.silu(x) + F.elu(x) + F.mish(x) + F.softplus(x), (BIG,)),
    "cross_entropy": lambda: (
        lambda to: through(lambda x: F.cross_entropy(x, to).reshape(1), number(512, 64))
    )(index(64, 512)),
    "mse_loss": grads(lambda a, b: F.mse_loss(a, b).reshape(1), (BIG,), (BIG,)),
    "embedding": lambda: (lambda at: through(lambda w: F.embedding(at, w), number(128, 64)))(index(128, 512)),
    "gather": indexed(lambda x, at, wide, v: [x[at], x.index_select(0, at), v.gather(1, wide), x.take(at)]),
    "mask": indexed(lambda x, at, wide, v: [x[x > 0], x.masked_fill(x > 0, 1), x.nonzero()]),
    "index_put": indexed(lambda x, at, wide, v: x.index_put((at,), v.round(), accumulate=True)),
    "index_add": indexed(lambda x, at, wide, v: x.round().index_add(0, at, v.round())),
    "scatter_add": indexed(lambda x, at, wide, v: v.round().scatter_add(1, wide, v.round())),
    "scatter_reduce": indexed(lambda x, at, wide, v: v.scatter_reduce(1, wide, v * 2, "amax")),
    "qr": on(lambda x: [*torch.linalg.qr(x)], (160, 128)),
    "sgd": stepped(lambda p: optim.SGD(p, lr=0.1, momentum=0.9)),
    "adam": stepped(lambda p: optim.Adam(p, lr=0.1)) if hasattr(optim, "Adam") else None,
    "draws": drawn(
        lambda g: [
            torch.rand(BIG, generator=g),
            torch.randn(BIG, generator=g),
            torch.randint(1000, (BIG,), generator=g),
            torch.randperm(BIG, generator=g),
            torch.empty(BIG).bernoulli_(0.3, generator=g),
        ]
    ),
}
FAMILIES = {name: make for name, make in FAMILIES.items() if make}


def listed(answer):
    return answer if isinstance(answer, list) else [answer]


@pytest.mark.parametrize("name", FAMILIES)
def test_four_threads_over_one_operator(name):
    """On the same inputs: each answer is, bit for bit, that of a thread alone."""
    call = FAMILIES[name]()
    expected = listed(call())
    assert max(x.numel() for x in expected) >= 64

    def work():
        for _ in range(fewer(10)):
            for ours, alone in zip(listed(call()), expected, strict=True):
                assert torch.equal(ours, alone)

    together(*[work] * 4)


# ---- the same generator ----
def draw_integers(n, g):
    return torch.empty(n, dtype=torch.int64).random_(0, 1 << 62, generator=g)


def draw_fractions(n, g):
    return torch.rand(n, dtype=torch.float64, generator=g)


def replay(g, blocks):
    """The kinds of the blocks in the order in which g hands them out, cut where calls ended."""
    waiting = {(kind, block[0].item()): block for kind, block in blocks}
    order = []
    assert len(waiting) == len(blocks), "a number was drawn twice"
    while waiting:
        state = g.get_state()
        for kind in (draw_integers, draw_fractions):
            block = waiting.pop((kind, kind(1, g).item()), None)
            g.set_state(state)
            if block is not None:
                assert torch.equal(kind(block.numel(), g), block)
                order.append(kind)
                break
        else:
            raise AssertionError(f"after {len(order)} blocks the stream goes on with none of the others")
    return order


@pytest.mark.parametrize("own", [True, False], ids=["generator", "default_generator"])
def test_threads_draw_from_one_stream(own):
    """No number twice, none lost: the calls of all threads follow each other in some order."""
    g = torch.Generator() if own else torch.default_generator
    n, rounds, blocks = 1 << 15, fewer(77), []
    g.manual_seed(11)

    def work(kind):
        mine = [(kind, kind(n, g if own else None)) for _ in range(rounds)]
        blocks.extend(mine)

    together(*[lambda kind=kind: work(kind) for kind in (draw_integers, draw_fractions) * 2])
    after = g.get_state()
    order = replay(g.manual_seed(11), blocks)
    assert len(order) == 4 * rounds
    assert torch.equal(g.get_state(), after)


def test_states_read_beside_draws_lie_between_calls():
    g, n, rounds = torch.Generator().manual_seed(5), BIG, fewer(60)
    states, done = [], threading.Event()

    def watch():
        while not done.is_set():
            states.append(g.get_state().numpy().tobytes())
            assert g.initial_seed() == 5

    def work():
        try:
            for _ in range(rounds):
                draw_integers(n, g)
        finally:
            done.set()

    together(watch, work)
    borders = torch.Generator().manual_seed(5)
    seen = set()
    for _ in range(rounds + 1):
        seen.add(borders.get_state().numpy().tobytes())
        draw_integers(n, borders)
    assert not set(states) - seen


def test_seeds_set_beside_draws_begin_streams():
    """Each block comes whole, from a start of the stream or from where the other thread's draw ended."""
    g, n = torch.Generator(), BIG
    fresh, state = draw_integers(2 * n, g.manual_seed(7)), g.manual_seed(7).get_state()
    wanted = {fresh[i * n].item(): fresh[i * n : (i + 1) * n] for i in range(2)}
    blocks = []

    def seed():
        for i in range(fewer(200)):
            g.manual_seed(7) if i % 2 else g.set_state(state)

    def draw():
        for _ in range(fewer(60)):
            g.manual_seed(7)
            blocks.append(draw_integers(n, g))

    together(seed, draw, draw)
    assert all(torch.equal(block, wanted[block[0].item()]) for block in blocks)


# ---- what belongs to a thread, and what to all ----
def test_modes_belong_to_their_thread():
    ready = threading.Barrier(3)

    def work(mode, enabled, inference):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        with mode():
            for _ in range(fewer(50)):
                ready.wait()
                assert torch.is_grad_enabled() == enabled and torch.is_inference_mode_enabled() == inference
                y = torch.ones(BIG, requires_grad=not inference) * 2
                assert y.requires_grad == (enabled and not inference) and y.is_inference() == inference
        assert torch.is_grad_enabled()

    together(
        lambda: work(torch.no_grad, False, False),
        lambda: work(torch.enable_grad, True, False),
        lambda: work(torch.inference_mode, False, True),
    )


def test_the_default_dtype_is_that_of_all_threads():
    """As in PyTorch."""
    seen = []
    torch.set_default_dtype(torch.float64)
    try:
        together(lambda: seen.append(torch.ones(1).dtype), lambda: torch.set_default_dtype(torch.float64))
    finally:
        torch.set_default_dtype(torch.float32)
    assert seen == [torch.float64]


def test_errors_belong_to_their_thread():
    def work(n):
        a, b = torch.ones(BIG // 64, 64 + n), torch.ones(n, 2)
        for _ in range(fewer(50)):
            with pytest.raises(RuntimeError, match=rf"\({BIG // 64}x{64 + n} and {n}x2\)"):
                a @ b
            with pytest.raises(IndexError, match=f"index {BIG + n} is out of bounds"):
                torch.ones(BIG)[torch.full((BIG,), BIG + n)]

    together(*[lambda n=n: work(n) for n in range(1, 5)])
