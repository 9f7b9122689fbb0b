"""Serverless inference: a handler that loads its model with the first event, and what a cold start costs.

    python examples/serverless.py

A function service imports the file once and then calls `handler` for each event. Cold is the first call of a
new process: import, reading the checkpoint, the first forward. The image that is shipped holds Python, NumPy,
rushlight and, if wanted, oneDNN (without: `pip install --no-deps rushlight numpy`).
"""

import functools
import importlib.metadata
import json
import time
from pathlib import Path
from typing import Any

STARTED = time.perf_counter()

from civilnet import CivilNet  # noqa: E402

import rushlight as torch  # noqa: E402 - its time counts

CHECKPOINT = Path(__file__).parent.parent / "tests" / "data" / "civilnet_digits.pth"


@functools.cache
def model() -> CivilNet:
    """The model, loaded when the first event comes: mapped, so that only the pages that are used are read."""
    net = CivilNet()
    net.load_state_dict(torch.load(CHECKPOINT, mmap=True))
    return net.eval()


def handler(event: dict[str, Any], context: object = None) -> dict[str, Any]:
    """Classify `event["pixels"]`, images of shape (N, 3, 32, 32) from 0 to 1."""
    pixels = torch.tensor(event["pixels"], dtype=torch.float32)
    with torch.inference_mode():
        scores = model()(pixels).softmax(1)
    return {"statusCode": 200, "body": json.dumps({"digits": scores.argmax(1).tolist()})}


def installed_size(package: str) -> int:
    """Bytes of a package's files on the disk."""
    files = importlib.metadata.files(package) or []
    return sum(path.stat().st_size for path in (Path(str(file.locate())) for file in files) if path.exists())


def main() -> None:
    event = {"pixels": torch.zeros(1, 3, 32, 32).tolist()}
    print(handler(event))
    print(f"cold start: {(time.perf_counter() - STARTED) * 1e3:.0f} ms from the import to the first answer")
    start = time.perf_counter()
    handler(event)
    print(f"warm call: {(time.perf_counter() - start) * 1e3:.2f} ms")
    for package in ("rushlight", "numpy", "onednn-cpu-gomp"):
        try:
            print(f"{package}: {installed_size(package) / 1e6:.1f} MB installed")
        except importlib.metadata.PackageNotFoundError:
            print(f"{package}: not installed")


if __name__ == "__main__":
    main()
