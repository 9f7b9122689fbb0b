"""Training beside PyTorch: one process, in turns, results compared first.

    python benchmarks/bench_train.py [--quick] [--json]

Prints minimum and median of each side and the ratio of the minima, beside the goal. Needs torch.
"""

import torch as other

import rushlight as mine
import rushlight.nn
import rushlight.optim  # noqa: F401
from bench_civilnet import build
from harness import Bench, now, part, repeated


def mlp(torch):
    nn = torch.nn
    torch.manual_seed(0)
    sizes = [784, 512, 512, 10]
    layers = [nn.Linear(sizes[0], sizes[1])]
    for a, b in zip(sizes[1:], sizes[2:]):
        layers += [nn.ReLU(), nn.Linear(a, b)]
    return nn.Sequential(*layers)


def training_step(torch, net, shape, classes=10):
    """A function that makes one step of SGD on fixed data and answers the loss."""
    torch.manual_seed(1)
    x = torch.rand(*shape)
    y = torch.arange(shape[0]) * 7 % classes
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def backward_of_chain(torch, n):
    x = torch.tensor(1.0, requires_grad=True)

    def run():
        y = x
        for _ in range(n):
            y = y * 1.0001
        x.grad = None
        start = now()
        y.backward()
        run.part = start, now()
        return x.grad.item()

    return run


def scalar_backward(torch):
    x = torch.tensor(3.0, requires_grad=True)

    def run():
        (x * 2).backward()
        grad = x.grad
        x.grad = None
        return grad

    return run


def small_step(torch):
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.ones(4, 4)), torch.nn.Parameter(torch.ones(4))]
    for p in params:
        p.grad = torch.ones_like(p)
    optimizer = torch.optim.SGD(params, lr=0.01)

    def run():
        optimizer.step()
        return params

    return run


def value_of(result):
    if isinstance(result, list):
        return [float(p.detach().sum()) for p in result]
    return [float(result)]


# name, what makes the function, calls in a round, goal
CASES = [
    ("CivilNet step, batch 64", lambda t: training_step(t, build(t), (64, 3, 32, 32)), 5, 1.6),
    ("MLP 784-512-512-10 step, batch 128", lambda t: training_step(t, mlp(t), (128, 784)), 5, 1.2),
    ("backward of 1,000 multiplications", lambda t: backward_of_chain(t, 1000), 1, 5),
    ("(x * 2).backward(), scalar", scalar_backward, 200, 15),
    ("SGD.step(), 2 small parameters", small_step, 200, 15),
]


def clock(run):
    """A function that times a part of itself leaves where it began and ended in .part."""

    def once():
        run()
        return run.part

    return part(once) if hasattr(run, "part") else repeated(run)


def difference(theirs, ours):
    """The largest one in five calls of each side, or the text of what is wrong."""
    worst = 0.0
    for _ in range(5):
        a, b = value_of(theirs()), value_of(ours())
        worst = max(worst, *(abs(p - q) for p, q in zip(a, b, strict=True)))
    return worst < 1e-4 or f"by {worst}"


def compare(bench, name, make, calls, goal, rounds):
    theirs, ours = make(other), make(mine)
    wrong = difference(theirs, ours)  # and .part is there from the first call on
    case = bench.compare(name, clock(theirs), clock(ours), lambda: wrong, calls, rounds, goal=goal)
    a, b, c, d = (f(side) * 1e6 for side in ("theirs", "ours") for f in (case.min, case.median))
    bench.say(
        f"{name:<36}torch {a:9.2f} ({b:9.2f}) us   rushlight {c:9.2f} ({d:9.2f}) us   "
        f"{case.ratio:5.1f}x   goal {goal}x"
    )


def main():
    bench = Bench(__doc__)
    bench.say("minimum (median)")
    for name, make, calls, goal in CASES:
        compare(bench, name, make, calls, goal, 5 if bench.quick else 40)


if __name__ == "__main__":
    main()
