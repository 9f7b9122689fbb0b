"""Steps of optimizers beside PyTorch's default, foreach and fused ones: in turns, results compared.

    python benchmarks/bench_optim.py [--quick] [--json]

ResNet-18's 62 parameters, and 200 of 64 numbers. Needs torch.
"""

import torch as other

import rushlight as mine
import rushlight.optim  # noqa: F401
from harness import Bench, repeated

NAMES = (
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "Adagrad",
    "Adadelta",
    "ASGD",
)
OPTIONS = {"SGD": {"momentum": 0.9}}


def resnet18():
    """The shapes of ResNet-18's parameters."""
    shapes, width = [(64, 3, 7, 7), (64,), (64,)], 64
    for wider in (64, 128, 256, 512):
        for block in range(2):
            shapes += [(wider, width, 3, 3), (wider,), (wider,), (wider, wider, 3, 3), (wider,), (wider,)]
            if block == 0 and wider != width:
                shapes += [(wider, width, 1, 1), (wider,), (wider,)]
            width = wider
    return [*shapes, (1000, 512), (1000,)]


SHAPES = {"ResNet-18": (resnet18(), 1), "200 of 8 x 8": ([(8, 8)] * 200, 20)}


def stepping(torch, name, shapes, **options):
    """A function that makes a step with fixed gradients and answers the parameters."""
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.rand(*shape)) for shape in shapes]
    for p in params:
        p.grad = torch.rand(*p.shape) - 0.5
    optimizer = getattr(torch.optim, name)(params, **OPTIONS.get(name, {}), **options)

    def step():
        optimizer.step()
        return params

    return step


def same(theirs, ours):
    """Equal after three steps of each side?"""
    for _ in range(3):
        pairs = zip(theirs(), ours(), strict=True)
        worst = max(float((p.detach() - other.from_numpy(q.detach().numpy())).abs().max()) for p, q in pairs)
    return worst < 1e-5 or f"by {worst}"


def main():
    bench = Bench(__doc__)
    bench.say(f"{'minimum of a step':<28}{'default':>12}{'foreach':>12}{'fused':>12}{'rushlight':>13}")
    for place, (shapes, calls) in SHAPES.items():
        for name in NAMES:
            ratios = []
            for options in ({}, {"foreach": True}, {"fused": True}):
                try:
                    theirs = stepping(other, name, shapes, **options)
                except TypeError:  # it has no fused form
                    continue
                ours = stepping(mine, name, shapes)
                rounds = 3 if bench.quick else 15
                case = bench.compare(
                    f"{name}, {place}, {next(iter(options), 'default')}",
                    repeated(theirs),
                    repeated(ours),
                    lambda theirs=theirs, ours=ours: same(theirs, ours),
                    calls,
                    rounds,
                )
                ratios.append(case)
            columns = [f"{case.min('theirs') * 1e6:9.0f} us" for case in ratios]
            columns += [" " * 12] * (3 - len(columns))
            mine_best = min(case.min("ours") for case in ratios)
            bench.say(f"{name + ', ' + place:<28}{''.join(columns)} {mine_best * 1e6:9.0f} us")


if __name__ == "__main__":
    main()
