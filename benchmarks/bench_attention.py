"""scaled_dot_product_attention beside PyTorch's: in turns, results compared.

    python benchmarks/bench_attention.py [--quick] [--json]

Batch 1, 8 heads, 16 to 4096 positions: forward, causal, with a mask, with the gradients, and one query
against all keys. Needs torch.
"""

import torch as other

import rushlight as mine
from harness import Bench, repeated

HEADS, WIDTHS = 8, (32, 64)
LENGTHS = (16, 64, 128, 256, 512, 1024, 2048, 4096)


def answers(attend, given, **options):
    return lambda: [attend(*given, **options)]


def gradients(library, attend, given, **options):
    leaves = [x.detach().requires_grad_() for x in given]
    weight = library.ones_like(leaves[0])

    def step():
        return library.autograd.grad(attend(*leaves, **options), leaves, weight)

    return step


def calls(library, arrays, seen):
    """What is timed, by name."""
    attend = library.nn.functional.scaled_dot_product_attention
    given, mask = [library.tensor(a) for a in arrays], library.tensor(seen)
    one = [given[0][:, :, :1], *given[1:]]
    return {
        "forward": answers(attend, given),
        "causal": answers(attend, given, is_causal=True),
        "mask": answers(attend, given, attn_mask=mask),
        "and backward": gradients(library, attend, given),
        "causal and backward": gradients(library, attend, given, is_causal=True),
        "one query": answers(attend, one),
    }


def differ(theirs, ours):
    def check():
        for a, b in zip(theirs(), ours(), strict=True):
            error = (a.detach() - other.tensor(b.detach().numpy())).abs().max().item()
            if error > 1e-4 * max(1, a.abs().max().item()):
                return f"by {error:.1e}"
        return True

    return check


def main():
    bench = Bench(__doc__)
    bench.say(f"{'positions, width':>20}  {'':20}  PyTorch us  rushlight us  ratio")
    for width in WIDTHS:
        for length in LENGTHS[:5] if bench.quick else LENGTHS:
            other.manual_seed(length)
            arrays = [other.randn(1, HEADS, length, width).numpy() for _ in range(3)]
            seen = other.rand(length, length) < 0.8
            seen[:, 0] = True
            sides = [calls(library, arrays, seen.numpy()) for library in (other, mine)]
            for name, theirs in sides[0].items():
                ours = sides[1][name]
                work = length * (1 if name == "one query" else length) * width
                count = max(1, int(2e7 / (work * HEADS)))
                case = bench.compare(
                    f"{name} {length} x {width}",
                    repeated(theirs),
                    repeated(ours),
                    differ(theirs, ours),
                    calls=min(count, 200),
                    rounds=5 if bench.quick or work > 1e8 else 15,
                )
                times = [case.min(side) * 1e6 for side in ("theirs", "ours")]
                where = f"{length:12} x {width:5}  {name:20}"
                bench.say(f"{where}  {times[0]:10.1f}  {times[1]:12.1f}  {case.ratio:5.2f}")


if __name__ == "__main__":
    main()
