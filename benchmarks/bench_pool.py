"""Pooling, sliding blocks and shuffles beside PyTorch's, forward and backward.

    python benchmarks/bench_pool.py [--quick] [--json] [--last] [--dtype ..] [--only max_pool2d] [--threads 2]

Results and gradients are compared first. --last: all lies channels last. Both libraries run in turns;
a pause lets the threads of the other go to sleep.
"""

import argparse
import time

import numpy as np
import torch

import rushlight
from harness import Bench, repeated

SHAPES = {1: [(2, 64, 3136)], 2: [(2, 64, 56, 56), (2, 256, 14, 14)], 3: [(2, 16, 16, 28, 28)]}
POOLS = {
    "avg_pool": [(2,), (3, 2, 1), (3, 1, 1)],
    "max_pool": [(2,), (3, 2, 1), (2, 2, 0, 1, False, True), (3, 2, 1, 1, False, True)],
    "adaptive_avg_pool": [(1,), (7,), (5,)],
    "adaptive_max_pool": [(1,), (7,), (5,)],
}
IMAGES = {
    "lp_pool2d": [(2.0, 2)],
    "unfold": [(3, 1, 1)],
    "pixel_shuffle": [(2,)],
    "pixel_unshuffle": [(2,)],
    "channel_shuffle": [(4,)],
}
LAST = {4: "channels_last", 5: "channels_last_3d"}
PAUSE = 0.02  # seconds


def cases():
    """(function, its other arguments, shape of the input)"""
    for n, shapes in SHAPES.items():
        calls = [(f"{name}{n}d", args) for name, lists in POOLS.items() for args in lists]
        calls += [(name, args) for name, lists in IMAGES.items() for args in lists] if n == 2 else []
        for shape in shapes:
            yield from ((name, args, shape) for name, args in calls)


class Side:
    """A call under one library: forward, and the gradient of its first result."""

    def __init__(self, library, name, args, array, options):
        def tensor(values):
            t = library.tensor(values, dtype=getattr(library, options.dtype))
            last = options.last and t.dim() in LAST
            return t.contiguous(memory_format=getattr(library, LAST[t.dim()])) if last else t

        self.function = getattr(library.nn.functional, name)
        self.grad = library.autograd.grad
        self.input, self.args = tensor(array), args
        self.leaf = tensor(array).requires_grad_()
        self.output = self.first(self.function(self.leaf, *args))
        shape = tuple(self.output.shape)
        self.weights = tensor(np.random.default_rng(1).standard_normal(shape))

    @staticmethod
    def first(result):
        return result[0] if isinstance(result, tuple) else result

    def forward(self):
        return self.first(self.function(self.input, *self.args))

    def backward(self):
        return self.grad(self.output, self.leaf, self.weights, retain_graph=True)[0]


def differs(theirs, ours, tolerance):
    a, b = (t.detach().double().numpy() for t in (theirs, ours))
    return None if np.allclose(a, b, rtol=tolerance, atol=tolerance) else f"{np.abs(a - b).max():.2e}"


def rested(function):
    run = repeated(function)

    def clock(calls):
        time.sleep(PAUSE)
        function()
        return run(calls)

    return clock


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    options, rest = parser.parse_known_args()
    for library in (torch, rushlight):
        library.set_num_threads(options.threads)
    bench = Bench(__doc__, rest)
    tolerance = {"float32": 1e-5, "float64": 1e-12}.get(options.dtype, 3e-2)
    for name, args, shape in cases():
        title = f"{name}{args} {shape}"
        if options.only not in title or (options.last and len(shape) not in LAST):
            continue
        array = np.random.default_rng(0).standard_normal(shape)
        theirs, ours = (Side(library, name, args, array, options) for library in (torch, rushlight))
        found = []
        for way in ("forward", "backward"):
            a, b = getattr(theirs, way), getattr(ours, way)
            found.append(
                bench.compare(
                    f"{title} {way}",
                    rested(a),
                    rested(b),
                    lambda a=a, b=b: differs(a(), b(), tolerance),
                    calls=5 if bench.quick else 20,
                    rounds=3 if bench.quick else 12,
                )
            )
        texts = (f"{c.min('theirs') * 1e6:8.1f} {c.min('ours') * 1e6:8.1f} us {c.ratio:6.2f}x" for c in found)
        bench.say(f"{title:56s} {'   '.join(texts)}")


if __name__ == "__main__":
    main()
