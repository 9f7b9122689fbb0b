"""Squeezes digits into six numbers and draws them again: two models, two optimizers, one checkpoint.

    rushlight run examples/autoencoder.py [--epochs 12] [--resume out/autoencoder.tar] [--out out]

Encoder and decoder learn together, each by an optimizer of its own. All four, the epochs that are done with
their losses, and the state of the shuffling lie in one `.tar` file: what is resumed goes on as if it had
never stopped. The same file runs under PyTorch (`python examples/autoencoder.py`) and prints the same losses;
each resumes what the other saved. `--steps FILE` writes the loss of every step, one to a line.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from show import print_row, progress, save_png, tile
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
TRAINING = 1437  # images; the 360 after them judge
CODE = 6  # numbers


class Encoder(nn.Module):
    """Codes (N, CODE) of images (N, 1, 8, 8)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.code = nn.Linear(32 * 4 * 4, CODE)

    def forward(self, x: Tensor) -> Tensor:
        x = F.elu(self.conv1(x))
        x = F.elu(self.conv2(x))
        return self.code(x.flatten(1))


class Decoder(nn.Module):
    """Images (N, 1, 8, 8) of codes (N, CODE), their pixels from 0 to 1."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(CODE, 32 * 4 * 4)
        self.grow = nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1)
        self.end = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, code: Tensor) -> Tensor:
        x = F.elu(self.start(code)).view(-1, 32, 4, 4)
        return torch.sigmoid(self.end(F.elu(self.grow(x))))


def load_images() -> Tensor:
    """All images as float32 (1797, 1, 8, 8) from 0 to 1."""
    with np.load(DATA / "digits.npz") as digits:
        return torch.from_numpy(digits["images"].astype(np.float32) / 16).unsqueeze(1)


def train_epoch(
    loader: DataLoader[tuple[Tensor, ...]],
    encoder: Encoder,
    decoder: Decoder,
    optimizers: Sequence[torch.optim.Optimizer],
    epoch: int,
) -> list[float]:
    losses = []
    for (images,) in progress(loader, f"epoch {epoch}"):
        loss = F.mse_loss(decoder(encoder(images)), images)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12, help="train until so many are done")
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--steps", type=Path, help="file for the loss of every step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for checkpoint and picture")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    torch.manual_seed(0)
    encoder, decoder = Encoder(), Decoder()
    optimizers = (
        torch.optim.Adam(encoder.parameters(), lr=2e-3),
        torch.optim.RMSprop(decoder.parameters(), lr=1e-3, momentum=0.5),
    )
    shuffling = torch.Generator().manual_seed(0)
    images = load_images()
    loader = DataLoader(TensorDataset(images[:TRAINING]), batch_size=32, shuffle=True, generator=shuffling)
    means = []
    if options.resume:
        checkpoint = torch.load(options.resume)
        encoder.load_state_dict(checkpoint["encoder_state_dict"])
        decoder.load_state_dict(checkpoint["decoder_state_dict"])
        optimizers[0].load_state_dict(checkpoint["encoder_optimizer_state_dict"])
        optimizers[1].load_state_dict(checkpoint["decoder_optimizer_state_dict"])
        shuffling.set_state(checkpoint["shuffling"])
        means = checkpoint["losses"]
        print(f"resumed after epoch {checkpoint['epoch']}, loss {means[-1]:.5f}")

    steps = []
    for epoch in range(len(means) + 1, options.epochs + 1):
        losses = train_epoch(loader, encoder, decoder, optimizers, epoch)
        steps += losses
        means.append(sum(losses) / len(losses))
        print(f"epoch {epoch:2}: loss {means[-1]:.5f}")
        checkpoint = {
            "epoch": epoch,
            "losses": means,
            "encoder_state_dict": encoder.state_dict(),
            "decoder_state_dict": decoder.state_dict(),
            "encoder_optimizer_state_dict": optimizers[0].state_dict(),
            "decoder_optimizer_state_dict": optimizers[1].state_dict(),
            "shuffling": shuffling.get_state(),
        }
        torch.save(checkpoint, options.out / "autoencoder.tar")

    new = images[TRAINING:]
    with torch.no_grad():
        drawn = decoder(encoder(new))
    print("\nfour new digits, and what six numbers say of each:\n")
    print_row(new[:4, 0])
    print_row(drawn[:4, 0])
    pairs = torch.stack([new[:40, 0].unflatten(0, (4, 10)), drawn[:40, 0].unflatten(0, (4, 10))], 1)
    save_png(options.out / "autoencoder.png", 1 - tile(pairs.flatten(0, 2), 10))
    if options.steps:
        options.steps.write_text("".join(f"{loss:.9g}\n" for loss in steps))
    print(f"{len(steps)} steps in {time.perf_counter() - start:.1f} s with torch {torch.__version__}")
    print(f"forty digits, each row above what was drawn of it: {options.out / 'autoencoder.png'}")
    print(f"loss on new digits: {F.mse_loss(drawn, new):.5f}")


if __name__ == "__main__":
    main()
