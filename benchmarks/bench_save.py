"""Saving checkpoints: rushlight beside PyTorch, in turns in one process; the files are compared first."""

import contextlib
import io
import os
import pathlib
import tempfile
import time

import rushlight

try:
    import torch
except ImportError as error:
    raise SystemExit("this benchmark compares with PyTorch: run it in the parity environment") from error

DATA = pathlib.Path(__file__).parent.parent / "tests" / "data"


def check(ours, theirs):
    """Both files must open in PyTorch with the same bytes in every tensor."""
    one, two = io.BytesIO(), io.BytesIO()
    rushlight.save(ours, one)
    torch.save(theirs, two)
    one.seek(0), two.seek(0)
    a, b = torch.load(one, weights_only=True), torch.load(two, weights_only=True)
    assert list(a) == list(b)
    for key in a:
        assert a[key].shape == b[key].shape and a[key].dtype == b[key].dtype
        assert bytes(a[key].untyped_storage()) == bytes(b[key].untyped_storage())


def median(times):
    return sorted(times)[len(times) // 2]


def in_turns(calls, rounds):
    times = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(rounds):
        for call, spent in zip(calls, times):
            start = time.perf_counter()
            call()
            spent.append(time.perf_counter() - start)
    return [median(spent) for spent in times]


@contextlib.contextmanager
def unsynced():
    """Let os.fsync do nothing: what rushlight takes without waiting for the disk, as PyTorch does not."""
    real, os.fsync = os.fsync, lambda fd: None
    try:
        yield
    finally:
        os.fsync = real


def report(name, kind, mine, other):
    figures = f"rushlight {mine * 1e3:8.3f} ms   torch {other * 1e3:8.3f} ms   {other / mine:5.2f}x"
    print(f"{name:16} {kind:15} {figures}")


def torch_synced(obj, path):
    torch.save(obj, path)
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def compare_paths(name, ours, theirs, rounds, folder, kind):
    paths = [os.path.join(folder, f"bench_save_{os.getpid()}_{i}.pth") for i in range(2)]
    calls = [lambda: rushlight.save(ours, paths[0]), lambda: torch.save(theirs, paths[1])]
    with unsynced():
        report(name, kind, *in_turns(calls, rounds))
    calls[1] = lambda: torch_synced(theirs, paths[1])
    report(name, f"{kind}, fsync", *in_turns(calls, rounds))
    for path in paths:
        os.unlink(path)


def compare(name, ours, theirs, rounds):
    check(ours, theirs)
    calls = [lambda: rushlight.save(ours, io.BytesIO()), lambda: torch.save(theirs, io.BytesIO())]
    report(name, "memory", *in_turns(calls, rounds))
    for kind, folder in (("RAM disk", "/dev/shm"), ("disk", tempfile.gettempdir())):
        if os.path.isdir(folder):
            compare_paths(name, ours, theirs, rounds, folder, kind)


def main():
    print(
        "rushlight waits until a file is on the disk (fsync), torch does not: both without it, then both with"
    )
    path = DATA / "civilnet_digits.pth"
    compare("CivilNet's file", rushlight.load(path), torch.load(path), 100)
    big = {"w": torch.arange(20_000_000, dtype=torch.float32)}
    compare("80 MB", {"w": rushlight.from_numpy(big["w"].numpy())}, big, 7)


if __name__ == "__main__":
    main()
