"""Convolutions of all kinds, forward, on torch and on rushlight.

Transposed, grouped, depthwise, dilated, of one and three dimensions, of other dtypes, channels last.

    python benchmarks/bench_conv.py [--quick] [--json]
"""

import torch

import harness
import rushlight


def case(shape, weight, kind="conv2d", dtype="float32", last=False, **options):
    return dict(shape=shape, weight=weight, kind=kind, dtype=dtype, last=last, options=options)


def square(channels, side, kernel, outputs=None, groups=1, images=1, **options):
    outputs = outputs or channels
    return case(
        (images, channels, side, side),
        (outputs, channels // groups, kernel, kernel),
        groups=groups,
        **options,
    )


def transposed(channels, side, kernel, stride):
    padding = (kernel - stride + 1) // 2
    shape, weight = (2, channels, side, side), (channels, channels, kernel, kernel)
    return case(shape, weight, "conv_transpose2d", stride=stride, padding=padding)


CASES = {
    **{
        f"transposed {channels}x{side} k{kernel} s{stride}": transposed(channels, side, kernel, stride)
        for channels, side in ((64, 56), (256, 14))
        for kernel in (2, 3, 4)
        for stride in (1, 2)
    },
    "transposed 3-d 32, 8x16x16 k2 s2": case(
        (1, 32, 8, 16, 16), (32, 32, 2, 2, 2), "conv_transpose3d", stride=2
    ),
    "ResNeXt 256x28, 32 groups": square(256, 28, 3, groups=32, padding=1),
    "DeepLab 64x65, dilation 2": square(64, 65, 3, padding=2, dilation=2),
    **{f"depthwise 96x56 k{k}": square(96, 56, k, groups=96, padding=k // 2) for k in (3, 5, 7)},
    "depthwise 576x14 k3 s2": square(576, 14, 3, groups=576, padding=1, stride=2),
    "video 64, 8x14x14 k3": case((1, 64, 8, 14, 14), (64, 64, 3, 3, 3), "conv3d", padding=1),
    "WaveNet 64x1000 k2 dilation 8": case((1, 64, 1000), (128, 64, 2), "conv1d", dilation=8),
    **{f"1-d 128x400 k{k}": case((4, 128, 400), (128, 128, k), "conv1d", padding=k // 2) for k in (1, 3, 7)},
    **{
        f"{dtype} 64x28 k3": square(64, 28, 3, images=2, padding=1, dtype=dtype)
        for dtype in ("float64", "bfloat16", "float16")
    },
    **{
        f"channels last {channels}x{side} k3": square(channels, side, 3, padding=1, last=True)
        for channels, side in ((64, 56), (256, 14))
    },
    "channels last 256 -> 64, 56 k1": square(256, 56, 1, outputs=64, last=True),
    "channels last depthwise 144x56 k3": square(144, 56, 3, groups=144, padding=1, last=True),
}


def ready(library, tensors, what):
    made = [library.from_numpy(t.numpy().copy()).to(getattr(library, what["dtype"])) for t in tensors]
    if what["last"]:
        made = [t.to(memory_format=library.channels_last) for t in made]
    function = getattr(library.nn.functional, what["kind"])

    def run():
        with library.no_grad():
            return function(*made, **what["options"])

    return run


def main():
    bench = harness.Bench(__doc__)
    torch.manual_seed(0)
    bench.say(f"{'ms a call':36} {'torch':>9} {'rushlight':>9} {'ratio':>6}")
    for name, what in CASES.items():
        tensors = torch.randn(what["shape"]), torch.randn(what["weight"]) * 0.05
        theirs, ours = (ready(library, tensors, what) for library in (torch, rushlight))

        def check(theirs=theirs, ours=ours):
            a, b = theirs().double(), torch.from_numpy(ours().to(rushlight.float64).numpy())
            return torch.allclose(a, b, rtol=1e-2, atol=1e-2 * a.abs().max().item())

        case = bench.compare(
            name,
            harness.repeated(theirs),
            harness.repeated(ours),
            check,
            calls=1 if bench.quick else 4,
            rounds=8 if bench.quick else 30,
        )
        times = f"{1e3 * case.min('theirs'):9.3f} {1e3 * case.min('ours'):9.3f}"
        bench.say(f"{name:36} {times} {case.ratio:5.2f}x")


if __name__ == "__main__":
    main()
