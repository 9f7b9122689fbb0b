"""Features by hooks: what each layer of a trained net sees, without touching its class.

    python examples/features.py

Forward hooks collect the outputs of three layers; the mean of the features of each digit is a prototype, and
a digit is told by its nearest one. Hooks come off again by themselves at the end of the block.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from civilnet import CivilNet

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn

DATA = Path(__file__).parent.parent / "tests" / "data"


@contextmanager
def recorded(model: nn.Module, *names: str) -> Iterator[dict[str, Tensor]]:
    """Collect the outputs of the named submodules while the block runs."""
    found: dict[str, Tensor] = {}
    handles = []
    for name in names:

        def keep(module: nn.Module, args: object, output: Tensor, name: str = name) -> None:
            found[name] = output

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def load_digits() -> tuple[Tensor, Tensor]:
    """Images (N, 3, 32, 32) from 0 to 1 and their labels (N,)."""
    with np.load(DATA / "digits.npz") as digits:
        images = torch.from_numpy(digits["images"].astype(np.float32) / 16).unsqueeze(1)
        labels = torch.from_numpy(digits["labels"].astype(np.int64))
    return F.interpolate(images, size=(32, 32), mode="bilinear").expand(-1, 3, -1, -1), labels


def main() -> None:
    model = CivilNet()
    model.load_state_dict(torch.load(DATA / "civilnet_digits.pth"))
    images, labels = load_digits()
    with torch.inference_mode(), recorded(model.eval(), "conv1", "conv2", "fc2") as features:
        model(images)
    for name, output in features.items():
        seen = output.flatten(1)
        known, asked = seen[::2], seen[1::2]
        prototypes = torch.stack([known[labels[::2] == digit].mean(0) for digit in range(10)])
        guessed = torch.cdist(asked, prototypes).argmin(1)
        right = (guessed == labels[1::2]).float().mean().item()
        print(f"{name}: features {tuple(output.shape[1:])}, nearest prototype is right for {right:.1%}")


if __name__ == "__main__":
    main()
