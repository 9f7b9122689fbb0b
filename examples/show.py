"""A progress bar and pictures, for the examples beside it: nothing but the standard library and torch."""

import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

WIDTH = 30  # of the bar
SHADES = " .:-=+*#%@"


def progress(batches: Any, text: str) -> Iterator[Any]:
    """Hand on the batches; a terminal sees a bar behind the text, whatever else reads stderr sees nothing."""
    count = len(batches)
    for done, batch in enumerate(batches):
        yield batch
        if sys.stderr.isatty():
            full = (done + 1) * WIDTH // count
            bar = "#" * full + "." * (WIDTH - full)
            sys.stderr.write(f"\r{text} [{bar}] {done + 1}/{count}")
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def tile(images: Tensor, columns: int, scale: int = 6, edge: int = 1) -> Tensor:
    """One picture (H, W) of the images (N, h, w) in rows of so many columns, each pixel a square."""
    images = images.repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    images = F.pad(images, (edge, edge, edge, edge), value=1.0)
    images = F.pad(images, (0, 0, 0, 0, 0, -len(images) % columns), value=1.0)
    rows = images.unflatten(0, (-1, columns)).transpose(1, 2)
    return rows.flatten(0, 1).flatten(1)


def save_png(path: Path, picture: Tensor) -> None:
    """Write numbers from 0, black, to 1, white: (H, W) as a grey PNG, (H, W, 3) as one in colours."""
    height, width = picture.shape[:2]
    pixels = (picture * 255).round().clamp(0, 255).to(torch.uint8).reshape(height, -1)
    lines = F.pad(pixels, (1, 0))  # each line begins with its filter: none
    header = struct.pack(">2I5B", width, height, 8, 2 if picture.dim() == 3 else 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(lines.numpy().tobytes(), 9)),
            (b"IEND", b""),
        ):
            file.write(struct.pack(">I", len(data)) + kind + data)
            file.write(struct.pack(">I", zlib.crc32(kind + data)))


def print_row(images: Tensor) -> None:
    """Images (N, h, w) of numbers from 0 to 1 side by side, in characters."""
    levels = (images * (len(SHADES) - 1)).round().clamp(0, len(SHADES) - 1).to(torch.int64).tolist()
    for lines in zip(*levels):
        print("   ".join("".join(SHADES[level] * 2 for level in line) for line in lines))
    print()


def print_curve(values: Sequence[float], height: int = 8, columns: int = 60) -> None:
    """Numbers in their order as a curve of so many lines: each column is the mean of some of them."""
    count = min(columns, len(values))
    bounds = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in zip(bounds, bounds[1:])]
    low, high = min(means), max(means)
    levels = [round((mean - low) / (high - low or 1.0) * (height - 1)) for mean in means]
    for line in range(height - 1, -1, -1):
        label = f"{low + (high - low) * line / (height - 1):8.3f} |"
        print(label + "".join("*" if level == line else " " for level in levels).rstrip())
    print(" " * 9 + "+" + "-" * count)
