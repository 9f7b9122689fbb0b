"""Opens a checkpoint that PyTorch wrote, classifies handwritten digits and shows what it saw.

    make demo            or            python examples/demo.py [--out DIR]

The digits are the UCI "Optical Recognition of Handwritten Digits" test set (CC BY 4.0); the network was
trained on images 0 to 1436, so the 360 from 1437 on are new to it.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from civilnet import CivilNet

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"
FIRST_HELD_BACK = 1437
SHADES = " .:-=+*#%@"
Array = np.ndarray[Any, Any]


def load_digits() -> tuple[Array, Array]:
    """The held-back images as uint8 (360, 8, 8) with values 0 to 16, and their labels (360,)."""
    with np.load(DATA / "digits.npz") as digits:
        return digits["images"][FIRST_HELD_BACK:], digits["labels"][FIRST_HELD_BACK:]


def to_input(images: Array) -> Tensor:
    """What the network was trained on: float32 (N, 3, 32, 32) in [0, 1]."""
    x = torch.from_numpy(images.astype(np.float32) / 16).unsqueeze(1)
    x = F.interpolate(x, size=(32, 32), mode="bilinear", align_corners=False)
    return x.expand(-1, 3, -1, -1).contiguous()


def print_summary(net: nn.Module, example: Tensor) -> None:
    """One line a layer, from forward hooks: output shape and number of parameters."""
    rows, handles = [], []

    def note(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def hook(module: nn.Module, args: Any, output: Tensor) -> None:
            count = sum(p.numel() for p in module.parameters())
            rows.append((name, type(module).__name__, str(list(output.shape)), count))

        return hook

    for name, layer in net.named_children():
        handles.append(layer.register_forward_hook(note(name)))
    with torch.no_grad():
        net(example)
    for handle in handles:
        handle.remove()
    print(f"{'layer':<8}{'type':<12}{'output shape':<20}{'parameters':>10}")
    for name, kind, shape, count in rows:
        print(f"{name:<8}{kind:<12}{shape:<20}{count:>10,}")
    print(f"{'':<40}{sum(p.numel() for p in net.parameters()):>10,}\n")


def print_pictures(images: Array, labels: Array, predictions: Array) -> None:
    """Images side by side in characters, four to a row."""
    for start in range(0, len(images), 4):
        row = range(start, min(start + 4, len(images)))
        for y in range(images.shape[1]):
            print("   ".join("".join(SHADES[v * 9 // 16] * 2 for v in images[i][y]) for i in row))
        captions = []
        for i in row:
            verdict = "right" if predictions[i] == labels[i] else f"wrong, it is {labels[i]}"
            captions.append(f"{predictions[i]}: {verdict}".ljust(16))
        print("   ".join(captions) + "\n")


def save_grid(path: Path, images: Array, labels: Array, predictions: Array) -> bool:
    """The same sixteen as a PNG: green titles are right, red ones wrong. False without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(4, 4, figsize=(6, 6.6))
    for ax, image, label, seen in zip(axes.flat, images, labels, predictions):
        ax.imshow(image, cmap="gray_r")
        ax.set_title(
            f"{seen}" if seen == label else f"{seen} (is {label})", color="green" if seen == label else "red"
        )
        ax.axis("off")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True


def time_per_image(net: CivilNet, x: Tensor, repeats: int = 50) -> float:
    """Seconds for one image: the best of several runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        net(x)
        best = min(best, time.perf_counter() - start)
    return best / len(x)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the files that it writes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    state = torch.load(DATA / "civilnet_digits.pth")
    loading = time.perf_counter() - start
    net = CivilNet()
    net.load_state_dict(state)
    net.eval()
    print(f"civilnet_digits.pth, written by PyTorch 2.13, loaded in {loading * 1e3:.1f} ms\n")
    print(net, "\n")
    for key, tensor in net.state_dict().items():
        print(f"{key:<14}{tensor.size()}")
    print()

    images, labels = load_digits()
    x = to_input(images)
    print_summary(net, x[:1])
    with torch.no_grad():
        logits = net(x)
    predictions = logits.argmax(1).numpy()

    # pictures of both kinds: the first wrong ones, then the first right ones
    wrong = np.flatnonzero(predictions != labels)[:4]
    shown = np.sort(np.concatenate([wrong, np.flatnonzero(predictions == labels)[: 16 - len(wrong)]]))
    print_pictures(images[shown], labels[shown], predictions[shown])
    grid = out / "digits.png"
    if save_grid(grid, images[shown], labels[shown], predictions[shown]):
        print(f"the same sixteen are in {grid}")
    else:
        print("no PNG grid: matplotlib is not installed")

    with np.load(DATA / "civilnet_digits_expected.npz") as expected:
        wanted = expected["logits"]
    difference = np.abs(logits[: len(wanted)].numpy() - wanted).max()
    with torch.no_grad():
        one, batch = time_per_image(net, x[:1]), time_per_image(net, x[:64])
    print(f"accuracy on {len(labels)} new digits: {np.mean(predictions == labels):.4f}")
    print(f"largest difference from PyTorch's logits: {difference:.1e}")
    print(f"time per image: {one * 1e6:.1f} us alone, {batch * 1e6:.1f} us in batches of 64")

    saved = out / "civilnet_again.pth"
    torch.save(net.state_dict(), saved)
    again = torch.load(saved)
    same = all(torch.equal(tensor, again[key]) for key, tensor in net.state_dict().items())
    print(f"saved to {saved} and loaded again: {'the same weights' if same else 'DIFFERENT WEIGHTS'}")
    ok = same and np.allclose(logits[: len(wanted)].numpy(), wanted, rtol=1e-5, atol=1e-4)
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
