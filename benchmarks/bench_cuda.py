"""Speed on a GPU: python benchmarks/bench_cuda.py [--quick] [--seconds n] [case ...]; prints a table.

Each case is compared with the CPU at a small size first. Then it runs at its own size, beside PyTorch where
that is installed and sees the GPU, both sides in turns: batches of calls between two events of the device,
after a warm-up. The figure is the median batch. PyTorch computes without TF32. Cases that fail say so, and no
case begins after --seconds. On the simulated device the figures mean nothing.
"""

import argparse
import statistics
import sys
import time
from typing import NamedTuple

import numpy as np

import rushlight

try:
    import torch
except ImportError:
    torch = None

BATCH_MS, ROUNDS, MOST_CALLS = 20, 7, 500


class Sizes(NamedTuple):
    """How large the operands are: rows of elements, sides of matrices, images, units."""

    rows: int
    width: int
    side: int
    images: int
    channels: int
    pixels: int
    heads: int
    tokens: int


LARGE = Sizes(1 << 16, 1 << 10, 4096, 32, 64, 56, 16, 2048)
SMALL = Sizes(37, 130, 70, 2, 6, 9, 2, 40)


class Given:
    """What a case makes its operands of: one library, one device, the sizes."""

    def __init__(self, library, device, sizes):
        self.library, self.device, self.sizes = library, device, sizes
        self.F, self.nn = library.nn.functional, library.nn

    def floats(self, *shape, dtype="float32", seed=0):
        """The same numbers again and again where there are many: making them should not take the time."""
        n = int(np.prod(shape))
        some = np.random.default_rng(seed).standard_normal(min(n, 1 << 20), dtype=np.float32)
        x = self.library.from_numpy(np.resize(some, shape))
        return x.to(self.device).to(getattr(self.library, dtype))

    def below(self, most, *shape):
        numbers = np.random.default_rng(1).integers(0, most, shape)
        return self.library.from_numpy(numbers).to(self.device)


CASES = {}  # name: (a function from Given to the call, amount of all that is moved or computed, its unit)


def case(name, unit="GB/s", amount=lambda s: 1):
    def add(function):
        CASES[name] = (function, amount, unit)
        return function

    return add


def passes(n, item=4):
    return lambda s: n * item * s.rows * s.width / 1e9


def of_rows(name, n, call, item=4):
    """A case that passes n times over one table of rows."""

    @case(name, amount=passes(n, item))
    def make(g):
        x = g.floats(g.sizes.rows, g.sizes.width)
        return lambda: call(g, x)


# ---- what memory bounds ----
@case("add", amount=passes(3))
def _add(g):
    x, y = (g.floats(g.sizes.rows, g.sizes.width, seed=i) for i in (0, 1))
    return lambda: x + y


@case("add, bfloat16", amount=passes(3, 2))
def _add_half(g):
    x, y = (g.floats(g.sizes.rows, g.sizes.width, dtype="bfloat16", seed=i) for i in (0, 1))
    return lambda: x + y


@case("row + column", amount=passes(1))
def _broadcast(g):
    row, column = g.floats(g.sizes.width), g.floats(g.sizes.rows, 1)
    return lambda: row + column


of_rows("clone", 2, lambda g, x: x.clone())
of_rows("transposed copy", 2, lambda g, x: x.t().contiguous())
of_rows("to bfloat16", 1.5, lambda g, x: x.to(g.library.bfloat16))
of_rows("gelu", 2, lambda g, x: g.F.gelu(x))
of_rows("sigmoid", 2, lambda g, x: x.sigmoid())
of_rows("sum of rows", 1, lambda g, x: x.sum(-1))
of_rows("sum of columns", 1, lambda g, x: x.sum(0))
of_rows("sum of all", 1, lambda g, x: x.mean())
of_rows("largest of rows", 1, lambda g, x: x.amax(-1))
of_rows("softmax of rows", 2, lambda g, x: x.softmax(-1))
of_rows("softmax of columns", 2, lambda g, x: x.softmax(0))
of_rows("layer_norm", 2, lambda g, x: g.F.layer_norm(x, (g.sizes.width,)))
of_rows("cumsum of rows", 2, lambda g, x: x.cumsum(-1))
of_rows("sorted rows", 2, lambda g, x: x[: g.sizes.rows // 16 + 1].sort(-1)[0], item=0.25)


@case("layer_norm, with its gradient", amount=passes(5))
def _norm(g):
    x, w = g.floats(g.sizes.rows, g.sizes.width).requires_grad_(), g.floats(g.sizes.width).requires_grad_()
    grad = g.floats(g.sizes.rows, g.sizes.width, seed=2)
    return lambda: g.library.autograd.grad(g.F.layer_norm(x, (g.sizes.width,), w), (x, w), grad)[0]


@case("cross_entropy, with its gradient", amount=passes(3))
def _cross_entropy(g):
    x = g.floats(g.sizes.rows, g.sizes.width).requires_grad_()
    target = g.below(g.sizes.width, g.sizes.rows)
    return lambda: g.library.autograd.grad(g.F.cross_entropy(x, target), x)[0]


@case("embedding", amount=passes(2))
def _embedding(g):
    table, index = g.floats(50000, g.sizes.width), g.below(50000, g.sizes.rows)
    return lambda: g.F.embedding(index, table)


@case("gradient of embedding", amount=passes(2))
def _embedding_back(g):
    table, index = g.floats(5000, g.sizes.width).requires_grad_(), g.below(5000, g.sizes.rows)
    grad = g.floats(g.sizes.rows, g.sizes.width, seed=2)
    return lambda: g.library.autograd.grad(g.F.embedding(index, table), table, grad)[0]


@case("step of Adam", amount=passes(7))
def _adam(g):
    x = g.nn.Parameter(g.floats(g.sizes.rows, g.sizes.width))
    x.grad = g.floats(g.sizes.rows, g.sizes.width, seed=2)
    optimizer = g.library.optim.Adam([x], fused=True)

    def call():
        optimizer.step()
        return x.detach()

    return call


# ---- what arithmetic bounds ----
def product(name, dtype, scale):
    @case(name, "TFLOP/s", lambda s: 2 * (s.side * scale) ** 3 / 1e12)
    def make(g):
        n = g.sizes.side * scale
        a, b = (g.floats(n, n, dtype=dtype, seed=i) for i in (0, 1))
        return lambda: a @ b


product("matmul, float32", "float32", 1)
product("matmul, bfloat16", "bfloat16", 1)
product("matmul, float16, twice the side", "float16", 2)


@case("bmm, bfloat16", "TFLOP/s", lambda s: 2 * s.images * (s.side // 8) ** 3 / 1e12)
def _bmm(g):
    n = g.sizes.side // 8
    a, b = (g.floats(g.sizes.images, n, n, dtype="bfloat16", seed=i) for i in (0, 1))
    return lambda: a @ b


def conv(name, dtype, times, function):
    def flops(s):
        return times * 2 * s.images * s.pixels**2 * s.channels**2 * 9 / 1e12

    @case(name, "TFLOP/s", flops)
    def make(g):
        s = g.sizes
        x = g.floats(s.images, s.channels, s.pixels, s.pixels, dtype=dtype).requires_grad_(times > 1)
        w = g.floats(s.channels, s.channels, 3, 3, dtype=dtype, seed=1).requires_grad_(times > 1)
        return function(g, x, w)


def _forward(g, x, w):
    return lambda: g.F.conv2d(x, w, padding=1)


def _both(g, x, w):
    grad = g.F.conv2d(x, w, padding=1).detach()
    return lambda: g.library.autograd.grad(g.F.conv2d(x, w, padding=1), (x, w), grad)[0]


conv("conv2d 3 x 3, float32", "float32", 1, _forward)
conv("conv2d 3 x 3, bfloat16", "bfloat16", 1, _forward)
conv("conv2d 3 x 3, float32, with its gradients", "float32", 3, _both)
conv("conv2d 3 x 3, bfloat16, with its gradients", "bfloat16", 3, _both)


@case("attention, bfloat16", "TFLOP/s", lambda s: 4 * 4 * s.heads * s.tokens**2 * 64 / 1e12)
def _attention(g):
    shape = (4, g.sizes.heads, g.sizes.tokens, 64)
    q, k, v = (g.floats(*shape, dtype="bfloat16", seed=i) for i in range(3))
    return lambda: g.F.scaled_dot_product_attention(q, k, v)


# ---- what launches bound ----
@case("add of one element", "calls/s")
def _launch(g):
    x = g.floats(1)
    return lambda: x + x


@case("step of a perceptron, 256 x 784", "steps/s")
def _perceptron(g):
    g.library.manual_seed(0)
    width = g.sizes.width
    model = g.nn.Sequential(
        g.nn.Linear(784, width), g.nn.ReLU(), g.nn.Linear(width, width), g.nn.ReLU(), g.nn.Linear(width, 10)
    )
    for i, p in enumerate(model.parameters()):
        p.data = g.floats(*p.shape, seed=i) * 0.02
    batch = 16 * g.sizes.heads
    return training(g, model, g.floats(batch, 784), g.below(10, batch))


@case("step of a small convolutional net, 64 x 3 x 32 x 32", "steps/s")
def _net(g):
    layers, c, images = [], g.sizes.channels, 2 * g.sizes.images
    for before, after in ((3, c // 2), (c // 2, c), (c, 2 * c)):
        layers += [g.nn.Conv2d(before, after, 3, padding=1), g.nn.BatchNorm2d(after), g.nn.ReLU()]
        layers += [g.nn.MaxPool2d(2)]
    model = g.nn.Sequential(*layers, g.nn.Flatten(), g.nn.Linear(32 * c, 10))
    for i, p in enumerate(model.parameters()):
        p.data = g.floats(*p.shape, seed=i) * 0.05
    return training(g, model.to(g.device), g.floats(images, 3, 32, 32), g.below(10, images))


def training(g, model, x, target):
    optimizer = g.library.optim.SGD(model.parameters(), lr=0.01)

    def call():
        optimizer.zero_grad()
        loss = g.F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return call


# ---- clocks ----
def milliseconds(library, call, calls):
    start, end = (library.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def check(make):
    """The device's answer is the CPU's, at small sizes; halves differ by their rounding."""
    ours, expected = (make(Given(rushlight, device, SMALL))().float().cpu() for device in ("cuda", "cpu"))
    largest = expected.abs().max().item()
    if not (ours - expected).abs().max().item() <= 0.02 * largest + 1e-4:
        raise AssertionError("the result differs from the CPU's")


def measure(make, sizes, libraries, batch_ms, rounds, most_calls):
    """The median batch of each library, in milliseconds a call."""
    calls = {library: make(Given(library, "cuda", sizes)) for library in libraries}
    taken = {library: [] for library in libraries}
    counts = {}
    for library, call in calls.items():
        milliseconds(library, call, 2)
        counts[library] = int(max(1, min(most_calls, batch_ms / max(milliseconds(library, call, 3), 1e-3))))
    for _ in range(rounds):
        for library, call in calls.items():
            taken[library].append(milliseconds(library, call, counts[library]))
    return [statistics.median(taken[library]) for library in libraries]


def row(name, libraries, quick):
    make, amount, unit = CASES[name]
    try:
        check(make)
        sizes, how = (SMALL, (1, 1, 1)) if quick else (LARGE, (BATCH_MS, ROUNDS, MOST_CALLS))
        ours, *theirs = measure(make, sizes, libraries, *how)
    except Exception as why:  # the other cases run
        return f"| {name} | {type(why).__name__}: {str(why).splitlines()[0] if str(why) else ''} |"
    beside = "".join(f" {ms:.4g} | {ms / ours:.2f} |" for ms in theirs)
    return f"| {name} | {ours:.4g} | {amount(sizes) / ours * 1e3:.4g} {unit} |{beside}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("cases", nargs="*", help="some instead of all")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    libraries = [rushlight]
    if torch and torch is not rushlight and torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        libraries.append(torch)
        print(f"beside PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
        print("| what | ms | | PyTorch, ms | times as fast |\n| --- | --: | --: | --: | --: |")
    else:
        print("| what | ms | |\n| --- | --: | --: |")
    for name in given.cases or CASES:
        if time.monotonic() > end:
            sys.exit(f"no time for {name} and what follows")
        print(row(name, libraries, given.quick), flush=True)
        for library in libraries:
            library.cuda.empty_cache()


if __name__ == "__main__":
    main()
