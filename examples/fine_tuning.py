"""Teaches the digit net something new: how many holes a digit has, with the convolutions that it already has.

    rushlight run examples/fine_tuning.py [--epochs 8] [--out out]

The checkpoint's convolutions are loaded and frozen, its classifier is left behind (strict=False), and a new
head learns from the same images. The same file runs under PyTorch (`python examples/fine_tuning.py`) and
prints the same losses. `--steps FILE` writes the loss of every step, one to a line.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
from show import progress, save_png, tile
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset
from train_civilnet import DATA, TRAINING, load_digits

HOLES = torch.tensor([1, 0, 0, 0, 0, 0, 1, 0, 2, 1])  # of the digits 0 to 9


class HoleNet(nn.Module):
    """Scores of 0, 1 and 2 holes from images (N, 3, 32, 32); up to the head, it is CivilNet."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.head = nn.Sequential(nn.Linear(16 * 5 * 5, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        return self.head(x.flatten(1))


def pretrained() -> HoleNet:
    """The net with the convolutions of the checkpoint, which no longer learn."""
    net = HoleNet()
    keys = net.load_state_dict(torch.load(DATA / "civilnet_digits.pth"), strict=False)
    print(f"taken from the checkpoint: {[k for k in net.state_dict() if k not in keys.missing_keys]}")
    print(f"left behind:               {keys.unexpected_keys}")
    net.conv1.requires_grad_(False)
    net.conv2.requires_grad_(False)
    return net


def groups(net: HoleNet) -> list[dict[str, Any]]:
    """What learns, in two groups: biases and norms do not decay."""
    learning = [p for p in net.parameters() if p.requires_grad]
    frozen = sum(p.numel() for p in net.parameters() if not p.requires_grad)
    print(f"parameters: {sum(p.numel() for p in learning):,} learn, {frozen:,} are frozen\n")
    return [
        {"params": [p for p in learning if p.dim() > 1]},
        {"params": [p for p in learning if p.dim() == 1], "weight_decay": 0.0},
    ]


def train_epoch(
    net: HoleNet,
    loader: DataLoader[tuple[Tensor, ...]],
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    epoch: int,
) -> list[float]:
    net.train()
    losses = []
    for images, holes in progress(loader, f"epoch {epoch}"):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), holes)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def predict(net: HoleNet, images: Tensor) -> Tensor:
    net.eval()
    scores: Tensor = net(images)
    return scores.argmax(1)


def picture(images: Tensor, seen: Tensor, right: Tensor) -> Tensor:
    """Digits in three blocks, by how many holes the net sees; the wrong ones are red."""
    blocks = []
    for holes in range(3):
        wanted = (seen == holes).nonzero().flatten()
        chosen = torch.cat([wanted[~right[wanted]], wanted[right[wanted]]])[:36]
        ink, is_right = images[chosen, 0], right[chosen, None, None].float()
        red = tile(1 - ink * is_right, 12, scale=2)
        others = tile(1 - ink, 12, scale=2)
        blocks.append(F.pad(torch.stack([red, others, others], 2), (0, 0, 0, 0, 0, 16), value=1.0))
    return torch.cat(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--steps", type=Path, help="file for the loss of every step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for checkpoint and picture")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    torch.manual_seed(0)
    net = pretrained()
    optimizer = torch.optim.AdamW(groups(net), lr=3e-3, weight_decay=0.01)
    x, digits = load_digits()
    y = HOLES[digits]
    loader = DataLoader(TensorDataset(x[:TRAINING], y[:TRAINING]), batch_size=64, shuffle=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=3e-3, epochs=options.epochs, steps_per_epoch=len(loader)
    )

    new, truth = x[TRAINING:], y[TRAINING:]
    steps = []
    for epoch in range(1, options.epochs + 1):
        losses = train_epoch(net, loader, optimizer, scheduler, epoch)
        steps += losses
        accuracy = (predict(net, new) == truth).float().mean()
        print(
            f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, accuracy {accuracy:.4f}, "
            f"next rate {scheduler.get_last_lr()[0]:.6f}"
        )
    torch.save(net.state_dict(), options.out / "holes.pth")
    seen = predict(net, new)
    save_png(options.out / "holes.png", picture(new, seen, seen == truth))
    if options.steps:
        options.steps.write_text("".join(f"{loss:.9g}\n" for loss in steps))
    print(f"\n{len(steps)} steps in {time.perf_counter() - start:.1f} s with torch {torch.__version__}")
    print(f"new digits by the holes that the net sees, wrong ones red: {options.out / 'holes.png'}")
    print(f"final accuracy: {(seen == truth).float().mean():.4f}")


if __name__ == "__main__":
    main()
