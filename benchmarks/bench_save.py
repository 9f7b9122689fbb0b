"""Saving checkpoints: rushlight beside PyTorch, in turns in one process; the files are compared first.

    python benchmarks/bench_save.py [--quick] [--json]

safetensors files are written beside the package's own frontend for PyTorch, and must be equal to the byte.
Prints the median of each side and the ratio of the medians. Needs torch and safetensors.
"""

import contextlib
import filecmp
import io
import os
import pathlib
import tempfile

import torch
from safetensors.torch import save_file

import rushlight
from harness import Bench, repeated

DATA = pathlib.Path(__file__).parent.parent / "tests" / "data"


def whole(tensor):
    """The bytes of its storage, as a tensor."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def same(one, two):
    """Both files must open in PyTorch with the same bytes in every tensor."""
    a, b = torch.load(one, weights_only=True), torch.load(two, weights_only=True)
    return list(a) == list(b) and all(
        a[key].shape == b[key].shape
        and a[key].dtype == b[key].dtype
        and torch.equal(whole(a[key]), whole(b[key]))
        for key in a
    )


def check(ours, theirs):
    one, two = io.BytesIO(), io.BytesIO()
    rushlight.save(ours, one)
    torch.save(theirs, two)
    one.seek(0), two.seek(0)
    return same(one, two)


@contextlib.contextmanager
def unsynced():
    """Let os.fsync do nothing: what rushlight takes without waiting for the disk, as PyTorch does not."""
    real, os.fsync = os.fsync, lambda fd: None
    try:
        yield
    finally:
        os.fsync = real


def report(bench, name, kind, calls, check, rounds):
    for call in calls:
        call()
    mine, other = (repeated(call) for call in calls)
    case = bench.compare(f"{name}, {kind}", other, mine, check, 1, rounds)
    mine, other = case.median("ours"), case.median("theirs")
    figures = f"rushlight {mine * 1e3:8.3f} ms   torch {other * 1e3:8.3f} ms   {other / mine:5.2f}x"
    bench.say(f"{name:16} {kind:15} {figures}")


def torch_synced(obj, path):
    torch.save(obj, path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def compare_paths(bench, name, ours, theirs, rounds, folder, kind):
    paths = [os.path.join(folder, f"bench_save_{os.getpid()}_{i}.pth") for i in range(2)]
    calls = [lambda: rushlight.save(ours, paths[0]), lambda: torch.save(theirs, paths[1])]
    synced = [calls[0], lambda: torch_synced(theirs, paths[1])]
    with unsynced():
        report(bench, name, kind, calls, lambda: same(*paths), rounds)
    report(bench, name, f"{kind}, fsync", synced, lambda: same(*paths), rounds)
    for path in paths:
        os.unlink(path)


def compare(bench, name, ours, theirs, rounds):
    calls = [lambda: rushlight.save(ours, io.BytesIO()), lambda: torch.save(theirs, io.BytesIO())]
    report(bench, name, "memory", calls, lambda: check(ours, theirs), rounds)
    for kind, folder in (("RAM disk", "/dev/shm"), ("disk", tempfile.gettempdir())):
        if os.path.isdir(folder):
            compare_paths(bench, name, ours, theirs, rounds, folder, kind)


def compare_safetensors(bench, name, ours, theirs, rounds, folder):
    """Without fsync on our side, as the package writes."""
    paths = [os.path.join(folder, f"bench_save_{os.getpid()}_{i}.safetensors") for i in range(2)]
    calls = [lambda: rushlight.save(ours, paths[0]), lambda: save_file(theirs, paths[1])]
    with unsynced():
        report(bench, name, "safetensors", calls, lambda: filecmp.cmp(*paths, shallow=False), rounds)
    for path in paths:
        os.unlink(path)


def main():
    bench = Bench(__doc__)
    bench.say(
        "rushlight waits until a file is on the disk (fsync), torch does not: both without it, then both with"
    )
    path = DATA / "civilnet_digits.pth"
    few, many = (3, 20) if bench.quick else (7, 100)
    compare(bench, "CivilNet's file", rushlight.load(path), torch.load(path), many)
    big = {"w": torch.arange(20_000_000, dtype=torch.float32)}
    compare(bench, "80 MB", {"w": rushlight.from_numpy(big["w"].numpy())}, big, few)
    parts = {f"layers.{i}.weight": torch.randn(10, 10) for i in range(10_000)}
    for name, theirs in (("80 MB", big), ("10,000 tensors", parts)):
        ours = {key: rushlight.from_numpy(tensor.numpy()) for key, tensor in theirs.items()}
        compare_safetensors(bench, name, ours, theirs, few, tempfile.gettempdir())


if __name__ == "__main__":
    main()
