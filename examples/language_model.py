"""Learns to write, letter by letter, as Python's own documentation does: a small Transformer.

    rushlight run examples/language_model.py [--epochs 10] [--out out]

The text ships with Python: what help() says about the language (pydoc_data.topics). After each epoch the net
is asked how well it foresees a part that it never saw, in bits for each letter; at the end it goes on with a
sentence. The same file runs under PyTorch (`python examples/language_model.py`) and prints the same losses.
`--steps FILE` writes the loss of every step, one to a line.
"""

import argparse
import math
import time
from pathlib import Path
from pydoc_data.topics import topics

import torch
import torch.nn as nn
import torch.nn.functional as F
from show import print_curve, progress
from torch import Tensor

LETTERS = "\n" + "".join(map(chr, range(32, 127)))
LENGTH, BATCH, STEPS = 64, 16, 60  # letters of an example, examples of a step, steps of an epoch
WIDTH, HEADS, LAYERS = 64, 4, 2


class Writer(nn.Module):
    """From letters (N, T) to the scores (N, T, letters) of what comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, x: Tensor) -> Tensor:
        count = x.shape[1]
        hidden = self.letters(x) + self.places(torch.arange(count))
        mask = nn.Transformer.generate_square_subsequent_mask(count)
        return self.head(self.layers(hidden, mask=mask, is_causal=True))


def load_text(letters: int = 200_000) -> Tensor:
    """Numbers of letters; what is no letter is left out."""
    numbers = {letter: i for i, letter in enumerate(LETTERS)}
    text = "\n".join(topics[name] for name in sorted(topics))
    return torch.tensor([numbers[letter] for letter in text[:letters] if letter in numbers])


def examples(text: Tensor, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Pieces of text that begin anywhere, and the same pieces one letter on."""
    starts = torch.randint(len(text) - LENGTH, (count, 1), generator=generator)
    pieces = text[starts + torch.arange(LENGTH + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(net: Writer, x: Tensor, wanted: Tensor) -> Tensor:
    return F.cross_entropy(net(x).flatten(0, 1), wanted.flatten())


def train_epoch(
    net: Writer,
    text: Tensor,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    generator: torch.Generator,
    epoch: int,
) -> list[float]:
    net.train()
    losses = []
    for _ in progress(range(STEPS), f"epoch {epoch}"):
        loss = loss_of(net, *examples(text, BATCH, generator))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def bits(net: Writer, text: Tensor) -> float:
    """How many bits a letter of a new text takes."""
    net.eval()
    pieces = text[: len(text) // (LENGTH + 1) * (LENGTH + 1)].view(-1, LENGTH + 1)[:64]
    return loss_of(net, pieces[:, :-1], pieces[:, 1:]).item() / math.log(2)


@torch.no_grad()
def write(net: Writer, beginning: str, count: int, warmth: float = 0.7) -> str:
    """Go on with a beginning: letters are drawn, the likely ones the more often the colder it is."""
    net.eval()
    generator = torch.Generator().manual_seed(0)
    letters = [LETTERS.index(letter) for letter in beginning]
    for _ in range(count):
        scores = net(torch.tensor([letters[-LENGTH:]]))[0, -1]
        letters.append(int(torch.multinomial(F.softmax(scores / warmth, 0), 1, generator=generator)))
    return "".join(LETTERS[i] for i in letters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=Path, help="file for the loss of every step")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the net")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    torch.manual_seed(0)
    text = load_text()
    seen, new = text[: len(text) * 9 // 10], text[len(text) * 9 // 10 :]
    net = Writer()
    print(f"{len(seen):,} letters, {sum(p.numel() for p in net.parameters()):,} parameters\n")
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs * STEPS)
    generator = torch.Generator().manual_seed(0)
    steps: list[float] = []
    for epoch in range(1, options.epochs + 1):
        steps += train_epoch(net, seen, optimizer, scheduler, generator, epoch)
        mean = sum(steps[-STEPS:]) / STEPS
        print(f"epoch {epoch:2}: loss {mean:.4f}, bits for a new letter {bits(net, new):.3f}")
    torch.save(net.state_dict(), options.out / "writer.pth")

    print("\nloss of the steps:\n")
    print_curve(steps)
    print(f"\n{write(net, 'The statement ', 300)}\n")
    if options.steps:
        options.steps.write_text("".join(f"{loss:.9g}\n" for loss in steps))
    print(f"{len(steps)} steps in {time.perf_counter() - start:.1f} s with torch {torch.__version__}")
    print(f"bits for a new letter: {bits(net, new):.4f}")


if __name__ == "__main__":
    main()
