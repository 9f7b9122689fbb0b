"""Training steps of whole networks beside PyTorch's: one process, in turns, results compared first.

    python benchmarks/bench_nets.py [--quick] [--json]

A step is forward, cross entropy, backward and SGD with momentum. Both sides start from the same weights, and
the losses of three steps must agree. Prints minimum and median of each side and the ratio of the minima,
beside the goal. Needs torch.
"""

import time

import torch as other

import rushlight as mine
import rushlight.nn
import rushlight.optim  # noqa: F401
from harness import Bench, repeated
from nets import mobilenet_v2, resnet18, unet

PAUSE = 0.02  # threads of the other library's pool spin for a while
# name, network, shape of the input, does it answer a map, goal
NETS = [
    ("resnet18", resnet18, (16, 3, 64, 64), False, 1.4),
    ("mobilenet_v2", mobilenet_v2, (16, 3, 64, 64), False, 1.5),
    ("unet", unet, (8, 3, 64, 64), True, 1.3),
]


def training_step(torch, net, x, y, lr=1e-4):
    """A function that makes one step on fixed data and answers the loss."""
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def both_steps(build, shape, maps):
    """The step of either library, from the same weights and data."""
    other.manual_seed(0)
    nets = [build(torch, 2 if maps else 10) for torch in (other, mine)]
    weights = {name: mine.from_numpy(value.numpy()) for name, value in nets[0].state_dict().items()}
    nets[1].load_state_dict(weights)
    x = other.randn(shape)
    y = other.randint(2, (shape[0], *shape[2:])) if maps else other.arange(shape[0]) * 7 % 10
    ours = [mine.from_numpy(t.numpy()).clone() for t in (x, y)]
    return training_step(other, nets[0], x, y), training_step(mine, nets[1], *ours)


def paused(step):
    """A clock of a step, after a pause and a step that is not counted."""
    clock = repeated(step)

    def run(calls):
        time.sleep(PAUSE)
        step()
        return clock(calls)

    return run


def main():
    bench = Bench(__doc__)
    bench.say("milliseconds of a training step, minimum (median)")
    for name, build, shape, maps, goal in NETS:
        theirs, ours = both_steps(build, shape, maps)

        def check(theirs=theirs, ours=ours):
            losses = [(theirs(), ours()) for _ in range(3)]
            return all(abs(a - b) <= 1e-3 * max(1, abs(a)) for a, b in losses) or f"losses {losses}"

        case = bench.compare(
            name, paused(theirs), paused(ours), check, 2, 5 if bench.quick else 20, goal=goal
        )
        times = [f(side) * 1e3 for side in ("theirs", "ours") for f in (case.min, case.median)]
        bench.say(
            f"{name:<14} torch {times[0]:7.2f} ({times[1]:7.2f})   rushlight {times[2]:7.2f} "
            f"({times[3]:7.2f})   {case.ratio:.2f}x (goal {goal}x)"
        )


if __name__ == "__main__":
    main()
