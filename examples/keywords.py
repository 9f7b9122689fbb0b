"""Which word was that? An LSTM that hears commands, in sounds that are made up here.

    rushlight run examples/keywords.py [--epochs 8] [--out out]

A word is a few vowels and a vowel two formants; every speaker has a pitch, a size of the throat and a speed.
The net hears the logarithms of the energies in 24 bands of a spectrum under noise, in words of any length,
and is asked for those of new speakers. The same file runs under PyTorch (`python examples/keywords.py`) and
prints the same losses. `--steps FILE` writes the loss of every step, one to a line.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from show import print_curve, progress
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

FORMANTS = {"a": (730, 1090), "e": (530, 1840), "i": (270, 2290), "o": (570, 840), "u": (300, 870)}  # Hz
WORDS = {
    "go": "ou",
    "stop": "oa",
    "yes": "ie",
    "no": "eo",
    "left": "ea",
    "up": "au",
    "right": "aie",
    "home": "oui",
}
BANDS = 24
Pair = tuple[Tensor, int]  # log energies (T, BANDS) and the number of the word
CENTRES = 700 * (10 ** torch.linspace(0.1, 1.45, BANDS) - 1) / 1.8  # Hz, evenly on the ear's scale


class Listener(nn.Module):
    """From bands (T, BANDS) of several words, packed, to the scores of WORDS."""

    def __init__(self, hidden: int = 32) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(BANDS)
        self.lstm = nn.LSTM(BANDS, hidden, num_layers=2, bidirectional=True)
        self.head = nn.Linear(2 * hidden, len(WORDS))

    def forward(self, sounds: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.norm(sounds), lengths, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.head(torch.cat([hidden[-2], hidden[-1]], dim=1))


def pronounce(word: str, generator: torch.Generator) -> Tensor:
    """What a new speaker makes of a word: log energies (T, BANDS)."""
    voice: list[float] = torch.rand(4, generator=generator).tolist()
    pitch, throat, speed, ripple = voice
    frames = int(14 + 16 * speed)
    targets = torch.tensor([FORMANTS[vowel] for vowel in WORDS[word]], dtype=torch.float32)
    formants = F.interpolate(targets.T[None], size=frames, mode="linear", align_corners=True)[0].T
    formants = formants * (0.85 + 0.35 * throat)
    away = (CENTRES[None, :, None] - formants[:, None, :]) / 120
    energy = (1 / (1 + away.square())).sum(-1) * (CENTRES / 500).rsqrt()
    harmonics = 1 + 0.5 * torch.cos(2 * torch.pi * CENTRES / (90 + 160 * pitch) + 6 * ripple)
    noise = torch.rand(frames, BANDS, generator=generator)
    return (energy * harmonics + 0.15 * noise + 1e-3).log()


def record(count: int, seed: int) -> list[Pair]:
    """Words as pairs (bands, number of the word)."""
    generator = torch.Generator().manual_seed(seed)
    names = list(WORDS)
    return [(pronounce(names[i % len(names)], generator), i % len(names)) for i in range(count)]


def batch_of(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Sounds of one length (T, N, BANDS), what their lengths were, and the words."""
    sounds, words = zip(*pairs)
    return pad_sequence(sounds), torch.tensor([len(s) for s in sounds]), torch.tensor(words)


def train_epoch(
    net: Listener, loader: DataLoader[Pair], optimizer: torch.optim.Optimizer, epoch: int
) -> list[float]:
    net.train()
    losses = []
    for sounds, lengths, words in progress(loader, f"epoch {epoch}"):
        loss = F.cross_entropy(net(sounds, lengths), words, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def hear(net: Listener, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, float]:
    """What the net hears, the words that they were, and the share of those that are right."""
    net.eval()
    sounds, lengths, words = batch_of(pairs)
    heard: Tensor = net(sounds, lengths).argmax(1)
    return heard, words, (heard == words).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--steps", type=Path, help="file for the loss of every step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the net")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    torch.manual_seed(0)
    known, new = record(640, seed=1), record(160, seed=2)
    shuffling = torch.Generator().manual_seed(0)
    loader = DataLoader(known, batch_size=32, shuffle=True, collate_fn=batch_of, generator=shuffling)
    net = Listener()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    steps = []
    for epoch in range(1, options.epochs + 1):
        losses = train_epoch(net, loader, optimizer, epoch)
        steps += losses
        *_, share = hear(net, new)
        print(f"epoch {epoch:2}: loss {sum(losses) / len(losses):.4f}, words of new speakers {share:.1%}")
    torch.save(net.state_dict(), options.out / "listener.pth")
    heard, words, share = hear(net, new)

    print("\nloss of the steps:\n")
    print_curve(steps)
    print("\nhow often each word was heard as which:\n")
    names = list(WORDS)
    print(" " * 7 + " ".join(f"{name:>5}" for name in names))
    for i, name in enumerate(names):
        counts = torch.bincount(heard[words == i], minlength=len(names)).tolist()
        print(f"{name:>6} " + " ".join(f"{count or '.':>5}" for count in counts))
    if options.steps:
        options.steps.write_text("".join(f"{loss:.9g}\n" for loss in steps))
    print(f"\n{len(steps)} steps in {time.perf_counter() - start:.1f} s with torch {torch.__version__}")
    print(f"words of new speakers: {share:.4f}")


if __name__ == "__main__":
    main()
