"""Speed on a GPU: python benchmarks/bench_cuda.py [--quick]; prints a table for docs/cuda.md.

Each figure is the median of several timed batches after a warm-up, each ended by a synchronisation; every
result is compared with the CPU's at a smaller size first. On the simulated device the figures mean nothing.
"""

import argparse
import statistics
import time

import rushlight as torch
import rushlight.nn.functional as F

DEVICE = "cuda"


def seconds(call, *, calls, batches=5):
    call()
    torch.cuda.synchronize()
    taken = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        taken.append((time.perf_counter() - start) / calls)
    return statistics.median(taken)


def agree(call, *tensors):
    """The device's answer is the CPU's, at this size."""
    ours = call(*(x.to(DEVICE) for x in tensors)).cpu().float()
    theirs = call(*tensors).float()
    assert torch.allclose(ours, theirs, rtol=2e-2, atol=2e-2), (ours - theirs).abs().max()


def rows(quick):
    """(what, seconds, amount, unit)"""
    n, side, calls = (1 << 12, 64, 2) if quick else (1 << 26, 4096, 10)
    small = torch.randn(37, 129)
    for name, call in [
        ("add", lambda x: x + x),
        ("transposed clone", lambda x: x.t().clone(memory_format=torch.contiguous_format)),
        ("gelu", F.gelu),
        ("sum", lambda x: x.sum(-1)),
        ("softmax", lambda x: x.softmax(-1)),
    ]:
        agree(call, small)
        x = torch.randn(n >> 10, 1 << 10).to(DEVICE)
        passes = 3 if name == "add" else 1 if name == "sum" else 2
        taken = seconds(lambda call=call, x=x: call(x), calls=calls)
        yield f"{name}, {n} float32", taken, passes * n * 4 / taken / 1e9, "GB/s"
    for dtype in (torch.float32, torch.bfloat16):
        agree(lambda a, b: a @ b, torch.randn(33, 70).to(dtype), torch.randn(70, 45).to(dtype))
        a = torch.randn(side, side).to(dtype).to(DEVICE)
        taken = seconds(lambda a=a: a @ a, calls=calls)
        yield (
            f"matmul {side}, {str(dtype).removeprefix('torch.')}",
            taken,
            2 * side**3 / taken / 1e12,
            "TFLOP/s",
        )
    agree(lambda x, w: F.conv2d(x, w, padding=1), torch.randn(2, 5, 9, 9), torch.randn(7, 5, 3, 3))
    batch, channels, size = (1, 4, 8) if quick else (32, 64, 56)
    x = torch.randn(batch, channels, size, size).to(DEVICE)
    w = torch.randn(channels, channels, 3, 3).to(DEVICE)
    taken = seconds(lambda: F.conv2d(x, w, padding=1), calls=calls)
    flops = 2 * batch * size * size * channels * channels * 9
    yield f"conv2d 3x3, {batch} x {channels} x {size}²", taken, flops / taken / 1e12, "TFLOP/s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    print("| what | ms | |\n| --- | --: | --: |")
    for what, taken, amount, unit in rows(given.quick):
        print(f"| {what} | {taken * 1e3:.3f} | {amount:.3g} {unit} |", flush=True)


if __name__ == "__main__":
    main()
