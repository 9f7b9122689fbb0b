"""CivilNet's forward pass beside PyTorch's: one process, in turns, results compared first.

    python benchmarks/bench_civilnet.py [--quick] [--json]

Prints the minimum and median of each side and the ratio of the minima. Needs torch.
"""

import torch

import rushlight
from harness import Bench, repeated


def build(torch):
    """The same script for either library."""
    nn, F = torch.nn, torch.nn.functional

    class CivilNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 6, 5)
            self.pool = nn.MaxPool2d(2, 2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(400, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):
            x = self.pool(F.relu(self.conv1(x)))
            x = self.pool(F.relu(self.conv2(x)))
            x = x.view(-1, 400)
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return self.fc3(x)

    torch.manual_seed(0)
    return CivilNet().eval()


def compare(bench, batch, calls, rounds):
    torch.manual_seed(1)
    x = torch.rand(batch, 3, 32, 32)
    y = rushlight.from_numpy(x.numpy()).clone()
    theirs, ours = build(torch), build(rushlight)
    with torch.no_grad(), rushlight.no_grad():
        error = abs(theirs(x).numpy() - ours(y).numpy()).max()
        case = bench.compare(
            f"batch {batch}",
            repeated(lambda: theirs(x)),
            repeated(lambda: ours(y)),
            lambda: bool(error < 1e-4) or f"by {error}",
            calls,
            rounds,
            difference=float(error),
        )
    times = [f(side) * 1e3 for side in ("theirs", "ours") for f in (case.min, case.median)]
    bench.say(
        f"batch {batch:>3}   torch {times[0]:.4f} ({times[1]:.4f}) ms   "
        f"rushlight {times[2]:.4f} ({times[3]:.4f}) ms   {case.ratio:.1f}x   largest difference {error:.1e}"
    )


def main():
    bench = Bench(__doc__)
    bench.say("minimum (median)")
    compare(bench, 1, 200, 5 if bench.quick else 40)
    compare(bench, 64, 10, 5 if bench.quick else 40)


if __name__ == "__main__":
    main()
