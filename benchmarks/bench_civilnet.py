"""CivilNet's forward pass beside PyTorch's: one process, in turns, results compared first.

    python benchmarks/bench_civilnet.py [--quick]

Prints the minimum and median of each side and the ratio of the minima. Needs torch.
"""

import argparse
import statistics
import time

import torch

import rushlight


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


def timed(net, x, calls):
    start = time.perf_counter()
    for _ in range(calls):
        net(x)
    return (time.perf_counter() - start) / calls


def compare(batch, calls, rounds):
    torch.manual_seed(1)
    x = torch.rand(batch, 3, 32, 32)
    y = rushlight.from_numpy(x.numpy()).clone()
    theirs, ours = build(torch), build(rushlight)
    with torch.no_grad(), rushlight.no_grad():
        error = abs(theirs(x).numpy() - ours(y).numpy()).max()
        if not error < 1e-4:
            raise SystemExit(f"results differ by {error}: nothing is timed")
        times = {"torch": [], "rushlight": []}
        for _ in range(rounds):
            times["torch"].append(timed(theirs, x, calls))
            times["rushlight"].append(timed(ours, y, calls))
    a, b = times["torch"], times["rushlight"]
    print(
        f"batch {batch:>3}   torch {min(a) * 1e3:.4f} ({statistics.median(a) * 1e3:.4f}) ms   "
        f"rushlight {min(b) * 1e3:.4f} ({statistics.median(b) * 1e3:.4f}) ms   "
        f"{min(a) / min(b):.1f}x   largest difference {error:.1e}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    quick = parser.parse_args().quick
    print(
        f"torch {torch.__version__}, rushlight {rushlight.__version__}, "
        f"{torch.get_num_threads()} / {rushlight.get_num_threads()} threads; minimum (median)"
    )
    compare(1, 200, 5 if quick else 40)
    compare(64, 10, 5 if quick else 40)


if __name__ == "__main__":
    main()
