"""Trains CivilNet on handwritten digits: a training script as it is written for PyTorch.

    rushlight run examples/train_civilnet.py [--epochs 12] [--resume out/checkpoint.tar] [--out out]

The same file runs under PyTorch (`python examples/train_civilnet.py`) and prints the same losses; each
resumes what the other saved. `--steps FILE` writes the loss of every step, one to a line.
"""

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch import Tensor

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
TRAINING = 1437  # images; the 360 after them judge
BATCH = 32


class CivilNet(nn.Module):
    """Ten digit scores from images of shape (N, 3, 32, 32), float32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def load_digits() -> tuple[Tensor, Tensor]:
    """All images as float32 (1797, 3, 32, 32) in [0, 1], and their labels as int64 (1797,)."""
    with np.load(DATA / "digits.npz") as digits:
        images, labels = digits["images"], digits["labels"]
    x = torch.from_numpy(images.astype(np.float32) / 16).unsqueeze(1)
    x = F.interpolate(x, size=(32, 32), mode="bilinear", align_corners=False)
    return x.expand(-1, 3, -1, -1).contiguous(), torch.from_numpy(labels.astype(np.int64))


def with_progress(batches: Iterable[Tensor], epoch: int) -> Iterable[Tensor]:
    """The batches behind a tqdm bar, if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return batches
    return tqdm(batches, desc=f"epoch {epoch}", unit="batch", leave=False)


def train_epoch(
    net: CivilNet,
    optimizer: optim.Optimizer,
    criterion: nn.CrossEntropyLoss,
    x: Tensor,
    y: Tensor,
    epoch: int,
) -> tuple[list[float], Tensor]:
    """One pass in the order that the epoch's number gives; each step's loss, and the last as a tensor."""
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
    losses, loss = [], torch.tensor(0.0)
    net.train()
    for batch in with_progress(order.split(BATCH), epoch):
        optimizer.zero_grad()
        loss = criterion(net(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, loss


@torch.no_grad()
def accuracy(net: CivilNet, x: Tensor, y: Tensor) -> float:
    net.eval()
    scores: Tensor = net(x)
    return (scores.argmax(1) == y).float().mean().item()


def plot(path: Path, losses: Sequence[float], accuracies: Sequence[float]) -> bool:
    """Loss and accuracy of each epoch as a PNG. False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.5))
    epochs = range(1, len(losses) + 1)
    left.plot(epochs, losses, marker="o")
    left.set(title="training loss", xlabel="epoch", yscale="log")
    right.plot(epochs, accuracies, marker="o", color="green")
    right.set(title="accuracy on new digits", xlabel="epoch", ylim=(0, 1))
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12, help="train until so many are done")
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--steps", type=Path, help="file for the loss of every step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for checkpoint and picture")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(0)
    net = CivilNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    first = 0
    if options.resume:
        checkpoint = torch.load(options.resume)
        net.load_state_dict(checkpoint["model_state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
        first = checkpoint["epoch"]
        print(f"resumed after epoch {first}, loss {checkpoint['loss']:.4f}")

    x, y = load_digits()
    steps, means, accuracies = [], [], []
    start = time.perf_counter()
    for epoch in range(first + 1, options.epochs + 1):
        losses, loss = train_epoch(net, optimizer, criterion, x[:TRAINING], y[:TRAINING], epoch)
        steps += losses
        means.append(sum(losses) / len(losses))
        accuracies.append(accuracy(net, x[TRAINING:], y[TRAINING:]))
        print(f"epoch {epoch:2}: loss {means[-1]:.4f}, accuracy {accuracies[-1]:.4f}")
        checkpoint = {
            "epoch": epoch,
            "model_state_dict": net.state_dict(),
            "optimizer_state_dict": optimizer.state_dict(),
            "loss": loss.detach(),
        }
        torch.save(checkpoint, options.out / "checkpoint.tar")
    print(f"{len(steps)} steps in {time.perf_counter() - start:.1f} s with torch {torch.__version__}")
    if options.steps:
        options.steps.write_text("".join(f"{loss:.9g}\n" for loss in steps))
    if means and plot(options.out / "training.png", means, accuracies):
        print(f"loss and accuracy are drawn in {options.out / 'training.png'}")
    print(f"final accuracy: {accuracy(net, x[TRAINING:], y[TRAINING:]):.4f}")


if __name__ == "__main__":
    main()
