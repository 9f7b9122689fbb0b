"""Resizing, grids and padding against PyTorch, forward and backward, two threads each.

PYTHONPATH=pysrc .venv-parity/bin/python benchmarks/bench_resize.py [--quick] [--json]
"""

import numpy
import torch

import rushlight
from harness import Bench, repeated

SHAPES = (2, 64, 56, 56), (2, 256, 14, 14)
DEEP = (2, 16, 8, 28, 28)


def cases():
    """Give (name, shape of the input, channels last or not, a function of library, input and grid)."""
    for shape in SHAPES:
        for last in (False, True):
            for factor in (2, 0.5):
                for mode in ("nearest", "bilinear", "bicubic"):
                    if mode == "bicubic" and last:
                        continue
                    yield f"{mode} x{factor}", shape, last, resize(mode, factor)
        for mode in ("bilinear", "bicubic"):
            yield f"{mode} x0.5, antialias", shape, False, resize(mode, 0.5, antialias=True)
        for mode in ("bilinear", "nearest", "bicubic"):
            yield f"grid_sample {mode}", shape, False, sample(mode)
        for mode in ("constant", "reflect", "replicate", "circular"):
            for last in (False, True):
                yield f"pad {mode}", shape, last, pad(mode)
    yield "trilinear x2", DEEP, False, resize("trilinear", 2)
    yield "nearest x2", DEEP, False, resize("nearest", 2)
    yield "grid_sample bilinear", DEEP, False, sample("bilinear")


def resize(mode, factor, **options):
    return lambda library, x, grid: library.nn.functional.interpolate(
        x, scale_factor=factor, mode=mode, **options
    )


def sample(mode):
    return lambda library, x, grid: library.nn.functional.grid_sample(x, grid, mode, align_corners=False)


def pad(mode):
    return lambda library, x, grid: library.nn.functional.pad(x, (1, 2, 2, 1), mode)


def sides(library, shape, last, function):
    """Make the forward and the backward pass of a case, as functions without arguments."""
    rng = numpy.random.default_rng(1)
    x = library.tensor(rng.standard_normal(shape, dtype=numpy.float32))
    places = rng.uniform(-1.1, 1.1, (shape[0], *shape[2:], len(shape) - 2)).astype(numpy.float32)
    grid = library.tensor(places)
    if last:
        x = x.contiguous(memory_format=library.channels_last)
    leaf = x.detach().requires_grad_()
    y = function(library, leaf, grid)
    g = library.tensor(rng.standard_normal(tuple(y.shape), dtype=numpy.float32))
    if last:
        g = g.contiguous(memory_format=library.channels_last)

    def forward():
        with library.no_grad():
            return function(library, x, grid)

    return forward, lambda: library.autograd.grad(y, leaf, g, retain_graph=True)[0]


def main():
    torch.set_num_threads(2)
    rushlight.set_num_threads(2)
    bench = Bench(__doc__)
    for name, shape, last, function in cases():
        theirs, ours = (sides(library, shape, last, function) for library in (torch, rushlight))
        ratios = []
        for way, their, our in zip(("forward", "backward"), theirs, ours):

            def check(their=their, our=our):
                a, b = their(), our()
                if a.stride() != b.stride():
                    return f"strides {a.stride()} and {b.stride()}"
                return bool(numpy.allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4))

            calls, rounds = (2, 5) if bench.quick else (5, 15)
            what = f"{name} {shape} {'channels last ' if last else ''}{way}"
            case = bench.compare(what, repeated(their), repeated(our), check, calls, rounds)
            ratios.append(f"{case.min('ours') * 1e6:8.0f} us {case.ratio:5.2f}x")
        bench.say(f"{name:26} {shape!s:18} {'last' if last else '    '}  {'   '.join(ratios)}")


if __name__ == "__main__":
    main()
