"""Training beside PyTorch: one process, in turns, results compared first.

    python benchmarks/bench_train.py [--quick]

Prints minimum and median of each side and the ratio of the minima, beside the goal. Needs torch.
"""

import argparse
import statistics
import time

import torch as other
from bench_civilnet import build

import rushlight as mine
import rushlight.nn
import rushlight.optim  # noqa: F401


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
        start = time.perf_counter()
        y.backward()
        run.seconds = time.perf_counter() - start
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


def timed(run, calls):
    """Seconds a call; a function that times a part of itself leaves it in .seconds."""
    if hasattr(run, "seconds"):
        run()
        return run.seconds
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def compare(name, make, calls, goal, rounds):
    theirs, ours = make(other), make(mine)
    for _ in range(5):
        a, b = value_of(theirs()), value_of(ours())
        worst = max(abs(p - q) for p, q in zip(a, b, strict=True))
        if not worst < 1e-4:
            raise SystemExit(f"{name}: results differ by {worst}: nothing is timed")
    times = ([], [])
    for _ in range(rounds):
        times[0].append(timed(theirs, calls))
        times[1].append(timed(ours, calls))
    (a, b), (c, d) = ((min(t) * 1e6, statistics.median(t) * 1e6) for t in times)
    print(
        f"{name:<36}torch {a:9.2f} ({b:9.2f}) us   rushlight {c:9.2f} ({d:9.2f}) us   "
        f"{a / c:5.1f}x   goal {goal}x"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 40
    print(
        f"torch {other.__version__}, rushlight {mine.__version__}, "
        f"{other.get_num_threads()} / {mine.get_num_threads()} threads; minimum (median)"
    )
    for name, make, calls, goal in CASES:
        compare(name, make, calls, goal, rounds)


if __name__ == "__main__":
    main()
