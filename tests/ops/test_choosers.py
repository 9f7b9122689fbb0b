"""Every way that a kernel's chooser may go, by the sizes, dtypes, layouts and threads that lead there.

Results and gradients are those of the same call in float64. make choosers counts the branches taken."""

import contextlib

import pytest

import rushlight as torch
from rushlight import _C

F = torch.nn.functional
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 3e-4, torch.float16: 2e-2, torch.bfloat16: 1.2e-1}
_SHORT = {"f": torch.float32, "d": torch.float64, "h": torch.float16, "b": torch.bfloat16}
_SHORT |= {"i": torch.int32, "q": torch.int64, "u": torch.uint8}
CASES = {}
_ALLOCATIONS = 400  # of one call and its gradients; far more than any makes


def make(spec):
    """A tensor of "8,3,5,5/fl": sizes, a dtype (f d h b i q u), and how it lies in memory.

    l: channels last, p: part of more channels that lie last, t: its last two dims turned, s: every second
    column, e: stretched along its first dim.
    """
    sizes, _, how = spec.partition("/")
    shape = [int(n) for n in sizes.split(",") if n]
    dtype = _SHORT[how[0]] if how else torch.float32
    x = torch.randn(shape, dtype=torch.float64)
    x = x.to(dtype) if dtype.is_floating_point else (x.abs() * 3).to(dtype)
    for layout in how[1:]:
        if layout == "l":
            dims = [0, *range(2, x.ndim), 1]
            x = x.permute(dims).contiguous().permute(0, x.ndim - 1, *range(1, x.ndim - 1))
        elif layout == "p":
            x = torch.cat([x, x], 1).movedim(1, -1).contiguous().movedim(-1, 1)[:, : x.shape[1]]
        elif layout == "t":
            x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
        elif layout == "s":
            x = torch.stack([x, x], -1)[..., 0]
        elif layout == "e":
            x = x[:1].expand(shape)
        else:
            raise ValueError(layout)
    return x


def case(name, call, *specs, grad=True):
    assert name not in CASES, name
    CASES[name] = call, specs, grad


def lie(x, how):
    """The same numbers in another order of memory: a gradient may lie anyhow."""
    if how == "apart":
        return torch.stack([x, x], -1)[..., 0]
    if how == "last" and x.ndim > 2:
        return x.movedim(1, -1).contiguous().movedim(-1, 1)
    if how == "turned" and x.ndim > 1:
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    return x


def run(call, tensors, grad, lies=""):
    """The results of a call, then its gradients, by one that lies so."""
    tensors = [t.detach().requires_grad_(grad and t.is_floating_point()) for t in tensors]
    found = call(*tensors)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    sums = [x for x in found if x.requires_grad]
    if grad and sums:
        torch.manual_seed(2)
        given = [lie(torch.randn(x.shape, dtype=torch.float64).to(x.dtype), lies) for x in sums]
        leaves = [t for t in tensors if t.requires_grad]
        found += [g for g in torch.autograd.grad(sums, leaves, given, allow_unused=True) if g is not None]
    return [x.detach() for x in found]


def compare(name, threads):
    """Once for each number of threads and way that gradients lie."""
    call, specs, grad = CASES[name]
    torch.manual_seed(1)
    given = [make(spec) for spec in specs]
    exactly = [(t.double() if t.is_floating_point() else t.long()).contiguous() for t in given]
    expected = run(call, exactly, grad)
    rough = max(_TOLERANCE.get(t.dtype, 0) for t in given)
    for n, lies in threads:
        torch.set_num_threads(n)
        found = run(call, given, grad, lies)
        assert len(found) == len(expected)
        for i, (ours, exact) in enumerate(zip(found, expected)):
            assert ours.shape == exact.shape, (name, i, n)
            if not ours.is_floating_point():
                assert torch.equal(ours, exact.to(ours.dtype)), (name, i, n)
            elif exact.numel():
                largest = torch.where(exact.isfinite(), exact, 0.0).abs().max().item()
                bound = max(rough, _TOLERANCE[ours.dtype]) * (1 + largest)
                assert torch.allclose(ours.double(), exact, 0, bound, equal_nan=True), (name, i, n)


@contextlib.contextmanager
def kept_threads():
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


# ---- convolutions ----
def conv(stride=1, padding=0, dilation=1, groups=1):
    def call(x, w, *b):
        f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[w.ndim]
        return f(x, w, *(b or [None]), stride, padding, dilation, groups)

    return call


def transposed(stride=1, padding=0, groups=1, output_padding=0):
    def call(x, w, *b):
        f = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}[w.ndim]
        return f(x, w, *(b or [None]), stride, padding, output_padding, groups)

    return call


case("conv: few channels", conv(padding=1), "2,3,9,10", "5,3,3,3", "5")
case("conv: an image without a batch", conv(padding=1), "3,9,10", "5,3,3,3", "5")
case("conv: one channel to one", conv(padding=1), "2,1,9,10", "1,1,3,3")
case("conv: depthwise, few places", conv(padding=1, groups=20), "2,20,9,10", "20,1,3,3", "20")
case("conv: depthwise, many places", conv(padding=1, groups=20), "1,20,17,16", "20,1,3,3")
case("conv: depthwise, few groups", conv(padding=1, groups=4), "2,4,9,10", "4,1,3,3")
case("conv: depthwise, wide", conv(padding=(1, 0), groups=3), "1,3,9,3000", "3,1,3,5")
case("conv: depthwise, many phases", conv(stride=40, groups=3), "1,3,90,90", "3,1,3,3")
case("conv: depthwise, chunks of images", conv(padding=1, groups=3), "40,3,5,5", "3,1,3,3")
case("conv: depthwise, threads", conv(padding=1, groups=40), "4,40,32,32", "40,1,5,5")
case("conv: a large window", conv(padding=6), "1,2,16,16", "3,2,12,12")
case("conv: small, many channels", conv(padding=1), "1,64,9,9", "64,64,3,3")
case("conv: many channels", conv(padding=1), "1,128,13,13", "64,128,3,3")
case("conv: many channels, large plane", conv(padding=1), "1,128,60,60", "64,128,3,3", grad=False)
case("conv: strided, 16 channels", conv(stride=2, padding=1), "2,16,15,14", "20,16,3,3", "20")
case("conv: strided, 3 channels", conv(stride=2, padding=1), "2,3,15,14", "20,3,3,3", "20")
case("conv: strided down", conv(stride=(2, 1), padding=1), "2,16,15,14", "20,16,3,3")
case("conv: tiny planes of many images", conv(padding=1), "16,40,4,4", "48,40,3,3", "48")
case("conv: tiny planes of few images", conv(padding=1), "1,40,4,4", "48,40,3,3")
case("conv: tiny planes, strided", conv(stride=2, padding=1), "9,40,8,8", "48,40,3,3", "48")
case("conv: tiny planes, channels 32 to 8", conv(padding=1), "9,40,4,4", "8,40,3,3")
case("conv: tiny planes, a tall window", conv(padding=(1, 33)), "5,32,4,4", "32,32,2,66", grad=False)
case("conv: points", conv(), "2,40,9,9", "48,40,1,1", "48")
case("conv: points, few outputs", conv(), "2,40,9,9", "8,40,1,1")
case("conv: points, many channels", conv(), "2,260,5,5", "260,260,1,1")
case("conv: points, strided", conv(stride=2), "6,64,7,7", "72,64,1,1")
case("conv: points, a large plane", conv(), "1,160,16,16", "128,160,1,1")
case("conv: points, a large plane of few", conv(), "1,20,16,16", "20,20,1,1")
case("conv: points, padded", conv(padding=1), "2,40,9,9", "48,40,1,1")
case("conv: points, strided along rows", conv(stride=(1, 2)), "2,40,9,9", "48,40,1,1")
case("conv: a row", conv(), "2,16,1,60", "20,16,1,5")
case("conv: a row of few", conv(), "2,2,1,60", "20,2,1,5")
case("conv: a row, few outputs", conv(), "2,16,1,60", "4,16,1,5")
case("conv: a row, a tall window", conv(padding=(1, 0)), "2,16,1,60", "20,16,3,5")
case("conv: 512 outputs", conv(padding=1), "1,8,12,12", "64,8,3,3")
case("conv: gradient of 64 inputs", conv(padding=1), "1,64,20,20", "64,64,3,3")
case("conv: gradient of large planes", conv(padding=1), "1,16,33,33", "64,16,3,3")
case("conv: gradient of 32 outputs", conv(padding=1), "1,16,17,17", "32,16,3,3")
case("conv: gradient of 32 small outputs", conv(padding=1), "1,16,9,9", "32,16,3,3")
case("conv: gradient, few lanes", conv(), "2,20,20,20", "20,20,1,1")
case("conv: gradient, 16 deep", conv(), "2,16,12,12", "20,16,1,1")
case("conv: gradient, 18 deep", conv(), "2,2,20,20", "20,2,3,3")
case("conv: gradient, 18 deep of small planes", conv(), "2,2,10,10", "20,2,3,3")
case("conv: gradient, many images", conv(padding=1), "40,4,20,20", "6,4,3,3")
case("conv: groups", conv(padding=1, groups=2), "2,8,9,10", "6,4,3,3", "6")
case("conv: the input is not dense", conv(padding=1), "2,3,9,10/fs", "5,3,3,3")
case("conv: the input is not dense, groups", conv(padding=1, groups=3), "2,6,9,10/ft", "6,2,3,3")
case("conv: the weight is not dense", conv(padding=1), "2,3,9,10", "5,3,3,3/ft")
case("conv: the bias is not dense", conv(padding=1), "2,3,9,10", "5,3,3,3", "5/fs")
case("conv: an empty batch", conv(padding=1), "0,3,9,10", "5,3,3,3", "5")
case("conv: no channels", conv(padding=1), "2,0,9,10", "5,0,3,3", "5")
case("conv: mostly padding", conv(padding=400, dilation=1), "1,1,2,2", "1,1,2,2", grad=False)
case("conv: mostly padding, doubles", conv(padding=300, stride=200), "1,1,2,2/d", "1,1,2,2/d")
case("conv: channels last, mostly padding", conv(padding=400, stride=300), "1,2,2,2/fl", "2,2,2,2/fl")
for _dtype in "fdhb":
    case(f"conv: {_dtype}", conv(padding=1), f"2,20,9,10/{_dtype}", f"24,20,3,3/{_dtype}", f"24/{_dtype}")
    case(
        f"conv: {_dtype}, last",
        conv(padding=1),
        f"2,20,9,10/{_dtype}l",
        f"24,20,3,3/{_dtype}l",
        f"24/{_dtype}",
    )
    case(f"conv: {_dtype}, 1d", conv(padding=1), f"2,20,30/{_dtype}", f"24,20,3/{_dtype}", f"24/{_dtype}")
    case(f"conv: {_dtype}, 3d", conv(padding=1), f"2,4,5,6,7/{_dtype}", f"6,4,3,3,3/{_dtype}", f"6/{_dtype}")
    case(
        f"conv: {_dtype}, depthwise, last",
        conv(padding=1, groups=20),
        *(f"2,20,9,10/{_dtype}l", f"20,1,3,3/{_dtype}", f"20/{_dtype}"),
    )
    case(
        f"conv: {_dtype}, transposed",
        transposed(2, 1),
        f"2,6,5,6/{_dtype}",
        f"6,4,3,3/{_dtype}",
        f"4/{_dtype}",
    )
case("conv: last, few channels", conv(), "2,3,30,30/fl", "8,3,3,3/fl")
case("conv: last, one channel", conv(padding=1), "2,1,9,10/fl", "8,1,3,3/fl")
case("conv: last, points", conv(), "2,40,9,9/fl", "48,40,1,1/fl", "48")
case("conv: last, points, strided", conv(stride=2), "2,40,60,60/fl", "48,40,1,1/fl", grad=False)
case("conv: last, dilated", conv(dilation=2), "2,70,20,40/fl", "24,70,3,3/fl", grad=False)
case("conv: last, long rows", conv(), "1,70,5,40/fl", "24,70,3,3/fl")
case("conv: last, a row", conv(), "1,70,1,140/fl", "24,70,1,3/fl")
case("conv: last, 3d", conv(padding=1), "1,20,5,6,7/fl", "24,20,3,3,3/fl", "24")
case("conv: last, 3d, no padding", conv(), "2,70,5,6,40/fl", "24,70,1,1,1/fl", grad=False)
case("conv: last, groups", conv(padding=1, groups=2), "2,8,9,10/fl", "6,4,3,3/fl", "6")
case("conv: last, only the output", conv(padding=1), "2,20,9,10", "24,20,3,3/fl", "24")
case("conv: last, only the input", conv(padding=1), "2,20,9,10/fl", "24,20,3,3", "24")
case("conv: last, depthwise to more", conv(padding=1, groups=20), "2,20,9,10/fl", "40,1,3,3", "40")
case("conv: last, depthwise, mixed", conv(padding=1, groups=20), "2,20,9,10", "20,1,3,3/fl", "20")
case("conv: last, threads", conv(padding=1), "2,64,24,24/fl", "96,64,3,3/fl", "96")
case("conv: transposed, phases", transposed(3), "2,6,5,6", "6,4,3,3", "4")
case("conv: transposed, 1d", transposed(2), "2,6,15", "6,4,3", "4")
case("conv: transposed, 3d", transposed(2), "2,3,4,5,6", "3,4,3,3,3", "4")
case("conv: transposed, groups", transposed(2, 1, groups=2), "2,6,5,6", "6,4,3,3", "8")
case("conv: transposed, many phases", transposed(70), "1,2,2,2", "2,2,3,3", grad=False)
case("conv: transposed, many images", transposed(1, 1), "16,6,4,4", "6,4,3,3")
case("conv: doubles, one channel", conv(padding=1), "2,1,9,10/d", "8,1,3,3/d")
case("conv: doubles, many outputs, threads", conv(padding=1), "1,32,12,12/d", "128,32,3,3/d")
case("conv: threads", conv(padding=1), "2,32,32,32", "40,32,3,3", "40")
case("conv: transposed, threads", transposed(2, 1), "2,32,16,16", "32,48,3,3", "48")


# ---- products ----
def linear(x, w, *b):
    return F.linear(x, w, *b)


def addmm(beta=1.0, alpha=1.0):
    return lambda x, a, b: torch.addmm(x, a, b, beta=beta, alpha=alpha)


for _m, _n, _k in [
    *((1, 1, 5), (1, 40, 40), (1, 40, 8), (3, 40, 40), (3, 40, 8), (3, 8, 8), (40, 1, 40), (40, 3, 40)),
    *((40, 3, 8), (4, 4, 40), (4, 2, 40), (30, 30, 1), (1, 7, 1), (9, 50, 70), (64, 200, 300), (2, 2, 9000)),
]:
    for _turn in ("f,f", "f,ft", "ft,f", "ft,ft"):
        _a, _b = _turn.split(",")
        case(
            f"matmul: {_m} {_n} {_k} {_turn}", torch.matmul, f"{_m},{_k}/{_a}", f"{_k},{_n}/{_b}", grad=False
        )
case("matmul: a large B", torch.matmul, "60,300", "300,420", grad=False)
case("matmul: a larger B", torch.matmul, "60,600", "600,500", grad=False)
case("matmul: large", torch.matmul, "8,1800/h", "1800,1800/h", grad=False)
case("matmul: a large A", torch.matmul, "8,1800", "1800,1800", grad=False)
case("matmul: long", torch.matmul, "8,9000/ft", "9000,12")
case("matmul: long, doubles", torch.matmul, "8,9000/d", "9000,12/d")
case("matmul: long, halves, turned", torch.matmul, "8,9000/h", "9000,2/h", grad=False)
case("matmul: long, batched", torch.matmul, "2,3,9000", "2,9000,4", grad=False)
case("matmul: long, much of C", torch.matmul, "300,8200", "8200,300", grad=False)
case("matmul: no k", torch.matmul, "3,0", "0,4")
case("matmul: no rows", torch.matmul, "0,3", "3,4")
case("matmul: a vector", torch.matmul, "30", "30,40")
case("matmul: by a vector", torch.matmul, "40,30", "30")
case("matmul: two vectors", torch.matmul, "30", "30")
case("matmul: batches", torch.matmul, "5,7,9", "5,9,11")
case("matmul: batches fold", torch.matmul, "5,7,9", "9,11")
case("matmul: rows fold", torch.matmul, "5,1,9", "9,11")
case("matmul: rows that do not follow", torch.matmul, "5,7,9/ft", "9,11")
case("matmul: stretched batches", torch.matmul, "4,5,7,9", "5,9,11")
case("matmul: batches of one", torch.matmul, "1,7,9", "1,9,11")
case("matmul: large batches", torch.matmul, "2,130,140", "2,140,130")
case("matmul: many small ones", torch.matmul, "400,20,20", "400,20,20")
case("matmul: stretched", torch.matmul, "6,7,9/fe", "6,9,11")
case("bmm: thin", torch.bmm, "6,2,40", "6,40,50")
for _dtype in "dhb":
    case(f"matmul: {_dtype}", torch.matmul, f"20,30/{_dtype}", f"30,40/{_dtype}")
    case(f"matmul: {_dtype}, few rows", torch.matmul, f"2,40/{_dtype}", f"40,50/{_dtype}")
    case(f"matmul: {_dtype}, few dots", torch.matmul, f"2,40/{_dtype}", f"40,50/{_dtype}t")
    case(f"linear: {_dtype}", linear, f"20,30/{_dtype}", f"40,30/{_dtype}", f"40/{_dtype}")
    case(f"linear: {_dtype}, batches", linear, f"3,20,30/{_dtype}t", f"40,30/{_dtype}", f"40/{_dtype}")
    case(f"addmm: {_dtype}", addmm(0.5, 2.0), f"20,40/{_dtype}", f"20,30/{_dtype}", f"30,40/{_dtype}")
case("linear: rows", linear, "20,30", "40,30", "40")
case("linear: no bias", linear, "20,30", "40,30")
case("linear: few rows", linear, "2,30", "40,30", "40")
case("linear: few outputs", linear, "50,40", "3,40", "3")
case("linear: a vector", linear, "30", "40,30", "40")
case("linear: no inputs", linear, "5,0", "4,0", "4")
case("linear: batches of rows that do not follow", linear, "3,20,30/ft", "40,30", "40")
case("linear: the weight is turned", linear, "20,30", "40,30/ft", "40")
case("linear: large, threads", linear, "128,256", "300,256", "300")
case("addmm: beta 1", addmm(), "20,40", "20,30", "30,40")
case("addmm: a row", addmm(), "40", "20,30", "30,40")
case("addmm: a column", addmm(), "20,1", "20,30", "30,40")
case("addmm: beta 0", addmm(0.0), "20,40", "20,30", "30,40")
case("addmm: alpha 2", addmm(1.0, 2.0), "40", "20,30", "30,40")
case("addmm: half a row", addmm(0.5), "40", "20,30", "30,40")
case("addmm: every second", addmm(), "40/fs", "20,30", "30,40")
case("addmm: long", addmm(), "3,4", "3,9000", "9000,4")
case("addmv", lambda x, a, b: torch.addmv(x, a, b, beta=0.5), "20", "20,30", "30")
case("baddbmm", lambda x, a, b: torch.baddbmm(x, a, b, alpha=0.5), "3,20,40", "3,20,30", "3,30,40")


# an output of its own, and one in the memory of an input
def into(*shape):
    def call(a, b):
        out = torch.empty(shape, dtype=a.dtype).t()
        return torch.matmul(a, b, out=out)

    return call


def beside(x, b):
    rows = x.clone()
    return rows[:20].addmm_(rows[20:], b)


def before(x, b):
    rows = x.clone()
    return rows[:20].addmm_(b, rows[20:])


case("addmm: into columns", lambda x, a, b: x.clone().t().addmm_(a, b), "40,20", "20,30", "30,40")
case("addmm: into few columns", lambda x, a, b: x.clone().t().addmm_(a, b), "40,3", "3,30", "30,40")
case(
    "addmm: into every second column",
    lambda x, a, b: x.clone()[:, ::2].addmm_(a, b),
    "20,80",
    "20,30",
    "30,40",
)
case("matmul: into columns", torch.matmul, "20,30", "30,40", grad=False)
case("matmul: into turned columns", into(40, 20), "20,30", "30,40", grad=False)
case("matmul: into few turned columns", into(40, 2), "2,30", "30,40", grad=False)
case("addmm: beside a factor", beside, "40,30", "30,30", grad=False)
case("addmm: before a factor", before, "40,20", "20,20", grad=False)
case("matmul: one row by batches", torch.matmul, "5,1,9", "5,9,11")
case("matmul: one row by stretched batches", torch.matmul, "5,1,9/fs", "9,11")
for _dtype in "iqu":
    case(f"matmul: {_dtype}", torch.matmul, f"20,30/{_dtype}", f"30,40/{_dtype}", grad=False)
    case(f"matmul: {_dtype}, long", torch.matmul, f"2,9000/{_dtype}", f"9000,2/{_dtype}", grad=False)
    case(f"linear: {_dtype}", linear, f"20,30/{_dtype}", f"40,30/{_dtype}", grad=False)
    case(f"addmm: {_dtype}", addmm(), f"20,40/{_dtype}", f"20,30/{_dtype}", f"30,40/{_dtype}", grad=False)
case("linear: a vector as the weight", linear, "20,30", "30")
case("linear: every second input", linear, "20,30/fs", "40,30", "40")
case("linear: many rows to few, halves", linear, "3,20,64/h", "2,64/h", "2/h")
case("linear: every second of the bias", linear, "20,30", "40,30", "40/fs")

# ---- convolutions that a grid of sizes leads to ----
case("conv: points, strided of few", conv(stride=2), "2,12,9,9", "20,12,1,1")
case("conv: 8 inputs to 64", conv(padding=1), "1,64,5,5", "63,64,3,3", grad=False)
case("conv: 64 inputs to few", conv(padding=1), "1,64,9,9", "20,64,3,3", grad=False)
case("conv: 128 inputs to few", conv(padding=1), "1,128,20,20", "20,128,3,3", grad=False)
case("conv: last, columns that are not dense", conv(), "2,20,9,40/fl", "24,20,1,3/fl")
case("conv: last, one column", conv(dilation=(1, 2)), "2,20,9,40/fl", "24,20,3,1/fl")
case("conv: last, one dilated column of halves", conv(dilation=2), "2,20,9,40/hl", "24,20,3,3/hl")
case("conv: last, depthwise, the input is not", conv(padding=1, groups=20), "2,20,9,10/fs", "20,1,3,3/fl")
case("conv: last, one group", conv(padding=1), "2,1,9,10/fl", "1,1,3,3/fl", "1")
case("conv: last, the gradient of few", conv(padding=1), "2,4,9,10/fl", "5,4,3,3/fl", "5")
case("conv: last, the gradient of points", conv(), "2,40,9,9/fl", "48,40,1,1", "48")
case(
    "conv: last, the bias of many",
    lambda x, w, b: conv(padding=1)(x, w, b),
    "2,20,40,40/fl",
    "24,20,3,3/fl",
    "24",
)
case("conv: an empty plane", conv(padding=1), "2,3,0,10", "5,3,2,3", "5")
case("conv: 1d, stretched", conv(), "4,3,30/fe", "5,3,3", "5")
case("conv: stretched images", conv(padding=1), "4,40,4,4/fe", "48,40,3,3")
case("conv: small planes that are not flat", conv(padding=1), "16,40,4,4/fs", "48,40,3,3")
case("conv: depthwise planes that are not flat", conv(padding=1, groups=20), "2,20,9,10/fs", "20,1,3,3/fs")


# ---- pools ----
def pool(f, *arguments, **named):
    return lambda x: f(x, *arguments, **named)


_max = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_avg = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
for _kernel in ((2, 2), (3, 3), (2, 3), (3, 2), (2, 1), (1, 2), (1, 12), (1, 40), (3, 70)):
    for _stride in ((1, 1), (2, 2), (3, 3), (2, 1), (1, 2), (2, 70)):
        for _padding in ((0, 0), (1, 1), (1, 0), (0, 1)):
            if any(2 * p > k for p, k in zip(_padding, _kernel)):
                continue
            _name = f"{_kernel} {_stride} {_padding}"
            case(f"avg_pool: {_name}", pool(F.avg_pool2d, _kernel, _stride, _padding), "2,3,7,75")
            for _dilation in ((1, 1), (2, 2), (1, 2), (2, 1)):
                if all(
                    1 + d * (k - 1) <= n + 2 * p for d, k, n, p in zip(_dilation, _kernel, (7, 75), _padding)
                ):
                    _given = _kernel, _stride, _padding, _dilation
                    case(f"max_pool: {_name} {_dilation}", pool(F.max_pool2d, *_given), "2,3,7,75")
for _size in ("2,3,8,8", "2,3,9,9", "2,3,1,8", "2,3,8,1", "2,30,5,60", "1,300,5,6", "3,8,8", "0,3,8,8"):
    for _how in ("f", "d", "h", "b", "fs", "fl", "dl", "hl", "ft"):
        if "l" in _how and _size.count(",") < 3:
            continue
        for _adaptive in ((1, 1), (2, 1), (1, 2), (4, 4), (3, 5)):
            case(
                f"adaptive_avg_pool: {_size} {_how} {_adaptive}",
                pool(F.adaptive_avg_pool2d, _adaptive),
                f"{_size}/{_how}",
            )
            _f = lambda x, size=_adaptive: F.adaptive_max_pool2d(x, size, return_indices=True)[0]  # noqa: E731
            case(f"adaptive_max_pool: {_size} {_how} {_adaptive}", _f, f"{_size}/{_how}")
        if "1" in _size.split(",")[2:]:
            continue
        for _kernel in (2, 3):
            case(f"max_pool: {_size} {_how} {_kernel}", pool(F.max_pool2d, _kernel), f"{_size}/{_how}")
            case(
                f"avg_pool: {_size} {_how} {_kernel}",
                pool(F.avg_pool2d, _kernel, ceil_mode=True),
                f"{_size}/{_how}",
            )
            _f = lambda x, n=_kernel: F.max_pool2d(x, n, return_indices=True)[0]  # noqa: E731
            case(f"max_pool: {_size} {_how} {_kernel}, places", _f, f"{_size}/{_how}")
for _n, _size in ((1, "2,3,9000"), (1, "2,3,20"), (3, "2,3,4,5,6"), (3, "2,3,1,5,6"), (3, "2,3,4,5,6/fl")):
    for _kernel in (2, 4100) if "9000" in _size else ((1, 2, 2), 1) if ",1," in _size else (1, 2, 3):
        for _stride in (1, 2, 3):
            case(f"max_pool: {_n}d {_size} {_kernel} {_stride}", pool(_max[_n], _kernel, _stride), _size)
            case(f"avg_pool: {_n}d {_size} {_kernel} {_stride}", pool(_avg[_n], _kernel, _stride), _size)
case("max_pool: 1d, much padding", pool(F.max_pool1d, 4100, 2, 2000), "1,1,4200")
case("max_pool: 1d, dilated far", pool(F.max_pool1d, 3, 2, 1, 2500), "1,1,6000")
case("max_pool: 1d, dilated beyond", pool(F.max_pool1d, 3, 2, 1, 8), "1,1,15")
case("max_pool: dilated beyond the plane", pool(F.max_pool2d, (3, 2), 1, (1, 0), (3, 1)), "1,1,5,9")
case("max_pool: padding alone", pool(F.max_pool2d, (2, 2), 1, (1, 0), (2, 1)), "1,1,1,9", grad=False)
case("max_pool: a wide window in steps of three", pool(F.max_pool2d, (2, 40), 3, 0, (1, 2)), "1,1,5,200")
case("max_pool: integers", pool(F.max_pool2d, 2), "2,3,8,8/i", grad=False)
case("max_pool: last, integers", pool(F.max_pool2d, 2), "2,3,8,8/il", grad=False)
case("avg_pool: threads", pool(F.avg_pool2d, 3, 2, 1), "8,32,40,40", grad=False)


# ---- norms ----
def batch_norm(train, parts="wb", kept=torch.float32, momentum=0.1):
    def call(x, w, b):
        n = x.shape[1]
        torch.manual_seed(3)
        dtype = kept if x.dtype != torch.float64 else torch.float64
        mean, var = torch.randn(n, dtype=torch.float64), torch.rand(n, dtype=torch.float64) + 0.5
        mean, var = (mean.to(dtype), var.to(dtype)) if "m" in parts or not train else (None, None)
        found = F.batch_norm(
            x, mean, var, w if "w" in parts else None, b if "b" in parts else None, train, momentum
        )
        return (found, mean, var) if mean is not None else found

    return call


def instance_norm(own, parts="wbm"):
    def call(x, w, b):
        n = x.shape[1]
        mean, var = (
            (torch.zeros(n, dtype=x.dtype), torch.ones(n, dtype=x.dtype)) if "m" in parts else (None, None)
        )
        found = F.instance_norm(x, mean, var, w if "w" in parts else None, b if "b" in parts else None, own)
        return (found, mean, var) if mean is not None and own else found

    return call


def group_norm(groups, parts="wb"):
    return lambda x, w, b: F.group_norm(x, groups, w if "w" in parts else None, b if "b" in parts else None)


def layer_norm(parts="wb"):
    return lambda x, w, b: F.layer_norm(x, w.shape, w if "w" in parts else None, b if "b" in parts else None)


def rms_norm(parts="w"):
    return lambda x, w: F.rms_norm(x, w.shape, w if "w" in parts else None)


for _size in ("4,6,5,7", "40,6", "3,6,20", "2,6,3,4,5", "3,24,1,1", "2,6,40,40", "0,6,3,3"):
    for _how in ("f", "d", "h", "b", "fs", "fl", "fe"):
        if ("l" in _how and _size.count(",") < 3) or ("e" in _how and _size[0] == "0"):
            continue
        _n = _size.split(",")[1]
        _of = f"{_size}/{_how}", f"{_n}/{_how[0]}", f"{_n}/{_how[0]}"
        for _parts in ("", "w", "b", "wb", "wbm"):
            _kept = _SHORT[_how[0]]
            case(
                f"batch_norm: {_size} {_how} {_parts} train", batch_norm(True, _parts, _kept), *_of
            ) if _size[0] != "0" else None
            case(f"batch_norm: {_size} {_how} {_parts} eval", batch_norm(False, _parts, _kept), *_of)
            if _size.count(",") > 1 and _size[0] != "0" and _size != "3,24,1,1":
                case(f"instance_norm: {_size} {_how} {_parts}", instance_norm(True, _parts), *_of)
            if _size[0] != "0":
                case(f"group_norm: {_size} {_how} {_parts}", group_norm(2, _parts), *_of)
        if _size.count(",") > 1 and _size[0] != "0":
            case(f"instance_norm: {_size} {_how} given", instance_norm(False), *_of)
case("batch_norm: halves with floats", batch_norm(True, "wbm"), "4,6,5,7/h", "6", "6")
case("batch_norm: halves with floats, eval", batch_norm(False, "wbm"), "4,6,5,7/b", "6", "6")
case("batch_norm: last, one of them", batch_norm(True), "4,6,5,7/fl", "6", "6")
case("batch_norm: last, part of more", batch_norm(True), "4,6,5,7/fp", "6", "6")
case("batch_norm: last, part of more, eval", batch_norm(False), "4,6,5,7/fp", "6", "6")
case("group_norm: many groups", group_norm(24), "8,24,9,9", "24", "24")
case("group_norm: long lines of few", group_norm(1), "1,2,80,90", "2", "2")
case("layer_norm: several dims", layer_norm(), "4,5,6", "5,6", "5,6")
for _size, _n in (
    ("9,20", "20"),
    ("3,4,50", "50"),
    ("3,1", "1"),
    ("2,5000", "5000"),
    ("20,700", "700"),
    ("0,4", "4"),
):
    for _how in ("f", "d", "h", "b", "fs", "hs", "ft"):
        _of = f"{_size}/{_how}", f"{_n}/{_how[0]}", f"{_n}/{_how[0]}"
        for _parts in ("", "w", "b", "wb"):
            case(f"layer_norm: {_size} {_how} {_parts}", layer_norm(_parts), *_of)
        for _parts in ("", "w"):
            case(f"rms_norm: {_size} {_how} {_parts}", rms_norm(_parts), *_of[:2])


case("conv: both ways of a small batch, last", conv(padding=1), "9,40,4,4/fl", "48,40,3,3", "48")
for _i, _lies in enumerate(("", "l", "s", "t")):
    for _groups in (1, 20):
        for _pad in (0, 1):
            for _turn in range(4):  # gradients lie in every order: the number of a case chooses
                case(
                    f"conv: gradients {_lies} {_groups} {_pad} {_turn}",
                    conv(padding=_pad, groups=_groups),
                    *(f"5,20,9,10/f{_lies}", f"20,{20 // _groups},3,3", "20"),
                )
                if _groups > 1:
                    continue
                case(
                    f"max_pool: gradients {_lies} {_pad} {_turn}",
                    pool(F.max_pool2d, 3, 2, _pad),
                    f"5,20,9,10/f{_lies}",
                )
                case(
                    f"avg_pool: gradients {_lies} {_pad} {_turn}",
                    pool(F.avg_pool2d, 3, 2, _pad),
                    f"5,20,9,10/f{_lies}",
                )
                if _pad == 0:
                    _of = f"5,20,9,10/f{_lies}", "20", "20"
                    for _train in (True, False):
                        case(
                            f"batch_norm: gradients {_lies} {_turn} {_train}", batch_norm(_train, "wbm"), *_of
                        )
                    case(
                        f"layer_norm: gradients {_lies} {_turn}",
                        layer_norm(),
                        f"5,20,9,10/h{_lies}",
                        "10/h",
                        "10/h",
                    )
                    case(
                        f"layer_norm: mixed {_lies} {_turn}", layer_norm(), f"5,20,9,10/h{_lies}", "10", "10"
                    )
                    case(
                        f"group_norm: mixed {_lies} {_turn}", group_norm(4), f"5,20,9,10/b{_lies}", "20", "20"
                    )
                    case(
                        f"interpolate: gradients {_lies} {_turn}",
                        lambda x: F.interpolate(x, (7, 12)),
                        f"5,20,9,10/f{_lies}",
                    )


# ---- elementwise ----
def masked(how="", value=0.5):
    def call(x):
        mask = torch.arange(x.numel()).view(x.shape) % 3 == 0
        filled = torch.tensor(value, dtype=x.dtype) if "t" in how else value
        if "e" in how:
            x = x.detach().clone().t()
            return x.masked_fill_(mask.t(), filled)
        return x.masked_fill(mask, filled)

    return call


for _dtype in "fdhbiq":
    _given = "9,20" + "/" + _dtype
    for _how in ("", "t", "e"):
        case(f"masked_fill: {_dtype} {_how}", masked(_how, 2), _given, grad=False)
    case(f"add: {_dtype}", lambda x, y: (x + y, x - y, torch.add(x, y, alpha=2)), _given, _given)
    case(f"add: {_dtype}, turned", lambda x, y: torch.sub(x, y, alpha=3), f"20,9/{_dtype}t", f"20,9/{_dtype}")
    if _dtype in "fdhb":
        _halves = {"rounding_mode": "trunc"}
        case(f"div: {_dtype}", lambda x, y: x / (y.abs() + 1), _given, _given)
        case(f"prelu: {_dtype}", F.prelu, f"4,5,6/{_dtype}", f"5/{_dtype}")
        case(f"prelu: {_dtype}, one", F.prelu, f"4,5,6/{_dtype}", f"1/{_dtype}")
        case(f"threshold: {_dtype}", lambda x: F.threshold(x, 0.1, 0.2), _given)
        case(f"lerp: {_dtype}", lambda x, y: torch.lerp(x, y, 0.3), _given, _given)
        case(f"lerp: {_dtype}, tensor", torch.lerp, _given, _given, _given)
        case(f"lerp: {_dtype}, a number", torch.lerp, _given, _given, f"/{_dtype}", grad=False)
        case(f"where: {_dtype}", lambda x, y: torch.where(x.detach() > 0, x, y), _given, _given)
        case(f"logit: {_dtype}", lambda x: torch.logit(torch.sigmoid(x), 0.1), _given)
        case(f"logit: {_dtype}, open", lambda x: torch.logit(torch.sigmoid(x)), _given)
        for _power in (2, 3, 0.5, -1, -0.5, 1.7):
            case(f"pow: {_dtype} {_power}", lambda x, n=_power: (x.abs() + 1) ** n, _given)
        for _order in (0, 1, 2, 3, float("inf"), float("-inf"), None):
            _f = lambda x, n=_order: torch.linalg.vector_norm(x, 2 if n is None else n, dim=0)  # noqa: E731
            case(f"vector_norm: {_dtype} {_order}", _f, _given, grad=False)
case("prelu: a vector", F.prelu, "6", "1")
case("prelu: vectors, every second weight", F.prelu, "4,5", "5/fs")
case("threshold: far", lambda x: F.threshold(x, 1e5, 2.0), "9,20")
case("threshold: to far", lambda x: F.threshold(x, 0.5, 1e5), "9,20")
case("masked_fill: infinite", masked("", float("inf")), "9,20", grad=False)
case("masked_fill: stretched", lambda x: x.masked_fill(torch.zeros(9, 20) > 0, 1.0), "9,20/fe")
case("masked_fill: a flag", lambda x: x.masked_fill(torch.ones(9, 20) > 0, True), "9,20", grad=False)
case("pow: one dtype more", lambda x: x ** torch.tensor(2.0), "9,20", grad=False)
case("pow: a number to many", lambda x: 2.0**x, "9,20")
case("pow: many to many", lambda x, y: (x.abs() + 1) ** y, "9,20", "9,20")
case("pow: nothing to nothing", lambda x, y: (x.abs() + 1) ** y, "", "")

# ---- along a dim ----
for _dtype in "fdhb":
    for _size in ("9,20", "9,1", "3,20,70", "", "0,4", "20,300") if _dtype in "fh" else ("9,20", "3,20,70"):
        for _how in ("", "s", "t", "e"):
            if (_how == "t" and _size.count(",") < 1) or (_how in "se" and not _size):
                continue
            if _how == "e" and _size[0] == "0":
                continue
            _given = f"{_size}/{_dtype}{_how}"
            for _dim in {0, -1, -2} if _size else {0}:
                case(f"softmax: {_given} {_dim}", lambda x, d=_dim: F.softmax(x, d), _given)
                case(f"log_softmax: {_given} {_dim}", lambda x, d=_dim: F.log_softmax(x, d), _given)
                if _dtype in "fh":
                    case(f"sum: {_given} {_dim}", lambda x, d=_dim: (x.sum(d), x.mean(d)), _given)
                    case(f"sort: {_given} {_dim}", lambda x, d=_dim: torch.sort(x, d)[0], _given)
                    case(f"cumsum: {_given} {_dim}", lambda x, d=_dim: x.cumsum(d), _given)
                    if _size[:1] != "0":
                        case(
                            f"amax: {_given} {_dim}",
                            lambda x, d=_dim: (x.amax(d), x.amin(d)),
                            _given,
                            grad=False,
                        )
                        case(f"topk: {_given} {_dim}", lambda x, d=_dim: torch.topk(x, 1, d)[0], _given)
                        case(f"median: {_given} {_dim}", lambda x, d=_dim: torch.median(x, d)[0], _given)
case("sum: all of much", lambda x: (x.sum(), x.var(), x.amax()), "300,700")
case("sum: many columns", lambda x: x.sum(0), "1000,70")
case("sum: every second", lambda x: x.sum(0), "100,70/fs")
case("sum: halves of much", lambda x: x.sum(1), "30,7000/h")
case("cumsum: empty", lambda x: (x.cumsum(1), x.logcumsumexp(0)), "0,3")
case("cumsum: of bytes", lambda x: x.cumsum(1, dtype=torch.int8), "5,3/u", grad=False)
case(
    "transpose: complex",
    lambda x: x.to(torch.complex128).t().contiguous().view(torch.float64),
    "5,3",
    grad=False,
)
case("transpose: empty", lambda x: x.transpose(1, 2).clone(memory_format=torch.contiguous_format), "3,0,5")
case("cumsum: a long line", lambda x: x.cumsum(0), "200000")
case("cumsum: long lines", lambda x: (x.cumsum(1), x.logcumsumexp(1)), "3,30000", grad=False)
case("cumsum: long lines of doubles", lambda x: (x.cumsum(1), x.cumsum(0)), "3,30000/d")
case("cumsum: every second of a long line", lambda x: x.cumsum(1), "3,30000/fs")
case("cumsum: short columns", lambda x: x.cumsum(1), "30,3,70")
case("cumsum: short lines", lambda x: x.cumsum(2), "30,70,3")
case("cumsum: whole", lambda x: (x.cumsum(1), x.cumsum(0), x.cumprod(1)), "30,70/q", grad=False)
case("cumsum: small whole", lambda x: x.cumsum(1), "30,70/u", grad=False)
case("cummax: lines", lambda x: (x.cummax(1)[0], x.cummin(0)[0]), "30,70")
case("topk: few of many", lambda x: torch.topk(x, 5)[0], "3,9000")
case("topk: many of many", lambda x: torch.topk(x, 500)[0], "3,9000")
case("topk: smallest", lambda x: torch.topk(x, 5, largest=False)[0], "3,900")
case("kthvalue", lambda x: torch.kthvalue(x, 5)[0], "3,900")
case("mode", lambda x: torch.mode(x)[0], "3,90/q", grad=False)
case("sort: whole numbers", lambda x: torch.sort(x, descending=True)[0], "3,900/q", grad=False)
case("sort: columns", lambda x: torch.sort(x, 0)[0], "30,70")
case("sort: long columns", lambda x: torch.sort(x, 0)[0], "5000,3")

# ---- memory ----
for _dtype in "fdhbiu":
    case(f"copy: {_dtype}, turned", lambda x: x.t().contiguous(), f"90,200/{_dtype}")
    case(f"copy: {_dtype}, planes", lambda x: x.permute(2, 0, 1).contiguous(), f"9,20,30/{_dtype}")
    case(f"copy: {_dtype}, stretched", lambda x: x.contiguous(), f"9,20/{_dtype}e")
    case(f"copy: {_dtype}, every second", lambda x: x.contiguous(), f"9,20/{_dtype}s")

# ---- resize, distances, attention, bags ----
for _mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
    for _how in ("f", "d", "h", "b", "fl", "hl", "fs", "hs", "ft"):
        for _size in ((9, 12), (3, 5), (6, 9)):
            _f = lambda x, size=_size, mode=_mode: F.interpolate(x, size, mode=mode)  # noqa: E731
            case(f"interpolate: {_mode} {_how} {_size}", _f, f"2,3,6,7/{_how}")


def bytes_resized(x):
    return F.interpolate(x if x.dtype == torch.uint8 else x.double(), (9, 5))


for _how in ("u", "ul", "us"):
    case(f"interpolate: bytes {_how}", bytes_resized, f"2,3,6,7/{_how}", grad=False)
case("interpolate: an empty batch", lambda x: F.interpolate(x, (9, 5)), "0,3,6,7")
case("interpolate: line", lambda x: F.interpolate(x, 9, mode="linear"), "2,3,6")
case("interpolate: space", lambda x: F.interpolate(x, (9, 3, 4), mode="trilinear"), "2,3,6,5,4")
case("interpolate: last, one channel", lambda x: F.interpolate(x, (9, 5)), "2,1,6,7/fl")
for _p in (0.0, 1.0, 2.0, 3.0, float("inf")):
    for _dtype in "fd":
        _f = lambda x, y, p=_p: torch.cdist(x, y, p, "donot_use_mm_for_euclid_dist")  # noqa: E731
        case(f"cdist: {_dtype} {_p}", _f, f"2,9,20/{_dtype}", f"2,7,20/{_dtype}")
        case(f"pdist: {_dtype} {_p}", lambda x, p=_p: F.pdist(x, p), f"9,20/{_dtype}")
case("cdist: the largest, turned", lambda x, y: torch.cdist(x, y, float("inf")), "2,9,20/ft", "2,7,20/fs")
case("cdist: turned", lambda x, y: torch.cdist(x, y, 1.0), "2,9,20/ft", "2,7,20/fs")
case("cdist: one number", lambda x, y: torch.cdist(x, y, 1.0), "9,1", "7,1")
case("cdist: nothing", lambda x, y: torch.cdist(x, y, 1.0), "9,0", "7,0")


def attention(**named):
    return lambda q, k, v, *mask: F.scaled_dot_product_attention(q, k, v, *mask, **named)


for _dtype in "fdhb":
    for _rows, _keys in ((1, 9), (3, 40), (9, 9), (70, 300), (300, 70)):
        _q, _k = f"2,3,{_rows},16/{_dtype}", f"2,3,{_keys},16/{_dtype}"
        case(f"attention: {_dtype} {_rows} {_keys}", attention(), _q, _k, _k)
        case(f"attention: {_dtype} {_rows} {_keys} causal", attention(is_causal=True), _q, _k, _k)
        case(
            f"attention: {_dtype} {_rows} {_keys} masked",
            attention(),
            _q,
            _k,
            _k,
            f"{_rows},{_keys}/{_dtype}",
            grad=False,
        )
        case(f"attention: {_dtype} {_rows} {_keys} turned", attention(), _q + "t", _k + "t", _k + "t")
        case(f"attention: {_dtype} {_rows} {_keys} stretched", attention(), _q + "e", _k + "e", _k + "e")
case("attention: many keys", attention(), "1,1,40,16", "1,1,3000,16", "1,1,3000,16")
case("attention: nothing", attention(), "1,1,0,16", "1,1,30,16", "1,1,30,16")


def bag(mode, weighted=False):
    def call(table, *weights):
        at = torch.arange(24) * 7 % table.shape[0]
        starts = torch.tensor([0, 3, 3, 10])
        return F.embedding_bag(
            at, table, starts, mode=mode, per_sample_weights=weights[0] if weights else None
        )

    return call


for _mode in ("sum", "mean", "max"):
    for _how in ("f", "d", "h", "b", "fs", "ft", "hs"):
        for _width in (7, 16, 32):
            case(f"embedding_bag: {_mode} {_how} {_width}", bag(_mode), f"11,{_width}/{_how}")
            if _mode == "sum":
                case(
                    f"embedding_bag: weighted {_how} {_width}",
                    bag(_mode),
                    f"11,{_width}/{_how}",
                    f"24/{_how[0]}",
                )


# ---- layers and steps ----
def recurrent(kind, **named):
    def call(x):
        torch.manual_seed(4)
        net = getattr(torch.nn, kind)(x.shape[-1], 6, **named).double().to(x.dtype)
        return net(x)[0]

    return call


for _kind in ("RNN", "LSTM", "GRU"):
    for _dtype in "fdh":
        case(f"rnn: {_kind} {_dtype}", recurrent(_kind), f"5,3,4/{_dtype}")
        case(f"rnn: {_kind} {_dtype} both ways", recurrent(_kind, bidirectional=True), f"5,3,4/{_dtype}")


def steps(kind, **named):
    def call(*weights):
        weights = [w.detach().clone().requires_grad_() for w in weights]
        optimizer = getattr(torch.optim, kind)(weights, lr=0.1, **named)
        for _ in range(2):
            for w in weights:
                w.grad = w.detach() * 0.5 + 0.1
            optimizer.step()
        return [w.detach() for w in weights]

    return call


for _kind in ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "RAdam", "Adamax", "Adadelta"):
    for _how in ("f", "d", "ft", "fs"):
        case(f"step: {_kind} {_how}", steps(_kind), f"9,20/{_how}", f"5/{_how[0]}", grad=False)
        case(f"step: {_kind} {_how} each", steps(_kind, foreach=False), f"9,20/{_how}", grad=False)


# ---- what few sizes reach ----
case("random: normal", lambda x: torch.normal(x * 0, x * 0), "9,20", grad=False)
case("random: normal, mean alone", lambda x: torch.normal(x, 0.0), "9,20", grad=False)
case("random: normal, every second", lambda x: torch.normal(x, x * 0), "9,20/fs", grad=False)
case("random: normal, other shapes", lambda x, y: torch.normal(x, y * 0), "9,20", "20", grad=False)
case("random: normal of few", lambda x: torch.normal(x, 0.0), "3", grad=False)
case("matmul: no columns", torch.matmul, "3,4", "4,0")
case("matmul: a factor of nothing", torch.matmul, "3,4,0", "3,0,5")
case("matmul: long, large C", torch.matmul, "400,8200", "8200,300", grad=False)
case("linear: long, kept", linear, "40,9000", "40,9000", "40", grad=False)
case("linear: turned around, batches", linear, "3,50,40/ft", "3,40", "3")
case("softmax: gradients of every second", lambda x: F.softmax(x, 1), "5,70/hs")
case("sort: short columns of one", lambda x: torch.sort(x, 0)[0], "30,1")
case("sort: long columns of many", lambda x: torch.sort(x, 0)[0], "70000,2")
case("amax: every second of bytes", lambda x: x.amax(1), "300,7/us", grad=False)
case("threshold: stretched", lambda x: F.threshold(x, 0.1, 0.2), "9,20/fe")
case("pow: whole", lambda x: x**2, "9,20/i", grad=False)
case("vector_norm: by default", torch.linalg.vector_norm, "9,20")
case("distance: large, memory", lambda x, y: torch.cdist(x, y, 1.0), "70,300", "90,300")
for _depth in ("511", "512", "513/d", "1025"):
    case(f"distance: {_depth} deep", lambda x, y: torch.cdist(x, y, 1.0), f"5,{_depth}", f"40,{_depth}")
case("conv: planes of many places", conv(padding=(0, 5), dilation=(1, 3)), "1,1,3,300", "1,1,3,7")
case("conv: last, no places", conv(), "0,20,9,10/fl", "24,20,3,3/fl", "24")
case("conv: last, halves of one channel", conv(), "2,1,9,10/hl", "24,1,3,3/h", "24/h")
case("conv: last, strided past the end", conv(stride=3), "2,20,9,10/fl", "24,20,2,2/fl", "24")
case("conv: 1d of nothing", conv(), "0,3,30", "5,3,3", "5")
case("conv: 1d, mostly padding", conv(padding=300000, stride=3000), "1,2,2", "2,2,2")
case("conv: 2d, mostly padding", conv(padding=3000, stride=300), "1,2,2,2", "2,2,2,2")
case("conv: last, 2d, mostly padding", conv(padding=3000, stride=300), "1,2,2,2/fl", "2,2,2,2/fl")
case("attention: keys that are not dense", attention(), "1,2,3,16", "1,2,30,16/fs", "1,2,30,16")
case("attention: values that are not dense", attention(), "1,2,3,16", "1,2,30,16", "1,2,30,16/fs")
case("max_pool: dilated, one row", pool(F.max_pool2d, (1, 3), 1, (0, 1), (1, 9)), "1,1,1,40")
case("max_pool: 65 taps", pool(F.max_pool2d, (1, 3), 3, 0, (1, 65)), "1,1,3,200")
case("max_pool: padded past one row", pool(F.max_pool2d, (2, 2), 1, (1, 1), (2, 2)), "1,1,1,9", grad=False)
case("avg_pool: one window, padded", pool(F.avg_pool2d, (3, 8), 8, (1, 1)), "1,1,3,8")
case(
    "batch_norm: planes without a mean", lambda x: F.batch_norm(x, None, None, None, None, True), "5,6,7,8/fl"
)


# ---- odd calls ----
def last_weight(f, **named):
    """A weight of one channel lies channels last where its strides say so."""

    def call(x, w, *b):
        return f(**named)(x, w.as_strided(w.shape, (w.shape[2] * w.shape[3], 1, w.shape[3], 1)), *b)

    return call


def itself(at):
    def call(x, b):
        x = x.clone()
        return x.addmm_(x, b) if at == 0 else x.addmm_(b, x)

    return call


def with_places(f, *arguments):
    return lambda x: f(x, *arguments, return_indices=True)


case("linear: one number as the bias", linear, "20,30", "40,30", "1")
case("addmm: its first factor is the sum", itself(0), "20,20", "20,20", grad=False)
case("addmm: its second factor is the sum", itself(1), "20,20", "20,20", grad=False)
case("matmul: long, threads", torch.matmul, "40,30000", "30000,40", grad=False)
case("conv: depthwise, very many phases", conv(stride=70, groups=3), "1,3,90,90", "3,1,3,3")
case("conv: points, strided along rows of few", conv(stride=(1, 2)), "2,12,9,9", "20,12,1,1")
case("conv: points, padded along rows", conv(padding=(0, 1)), "2,40,9,9", "48,40,1,1")
case("conv: points, one row of places", conv(stride=2), "2,40,2,2", "48,40,1,1")
case("conv: points, one column of places", conv(stride=2), "2,40,1,2", "48,40,1,1")
case("conv: gradient of few inputs, threads", conv(stride=2, padding=1), "8,12,48,48", "48,12,3,3")
case("conv: gradient, many images, threads", conv(padding=1), "40,4,40,40", "6,4,3,3")
case("conv: last, part of the channels", conv(), "2,20,9,10/fp", "24,20,3,3", "24")
case("conv: last, 3d without a batch", conv(padding=1), "4,5,6,7/fl", "6,4,3,3,3", "6")
case("conv: last, one channel, 3d without a batch", conv(padding=1), "1,5,6,7/fl", "1,1,3,3,3")
case("conv: last, depthwise, 3d without a batch", conv(groups=4), "4,5,6,7/fl", "4,1,3,3,3", "4")
case("conv: last, the weight of groups", last_weight(conv, padding=1, groups=20), "2,20,9,10", "20,1,3,3")
case("conv: last, the weight of one", last_weight(conv, padding=1), "2,1,9,10", "8,1,3,3", grad=False)
case("conv: last, depthwise, no bias", conv(padding=1, groups=20), "2,20,9,10/fl", "20,1,3,3")
case("conv: last, padded behind", conv(padding="same"), "2,20,9,10/fl", "24,20,2,2/fl", grad=False)
for _how in ("f", "fl"):
    _far = conv(padding=2**29, stride=2**29)
    case(f"conv: 3d {_how}, far more padding", _far, f"1,2,2,2,2/{_how}", "2,2,2,2,2", grad=False)
case("max_pool: 65 taps, places", with_places(F.max_pool2d, (1, 3), 3, 0, (1, 65)), "1,1,3,200")
case("max_pool: wide, places", with_places(F.max_pool2d, (1, 70), 1, 0, (1, 2)), "1,1,3,200")
_alone = with_places(F.max_pool2d, (2, 2), 1, (1, 0), (2, 1))
case("max_pool: padding alone, places", _alone, "1,1,1,9", grad=False)
case("max_pool: two depths of one", pool(F.max_pool3d, (2, 2, 2), (1, 2, 2), (1, 0, 0)), "2,3,1,6,6")
case("max_pool: last, 3d without a batch", pool(F.max_pool3d, 2), "4,6,6,6/fl")
case("max_pool: last, part of the channels", pool(F.max_pool2d, 2), "2,3,8,8/fp")
case("avg_pool: last, part of the channels", pool(F.avg_pool2d, 2), "2,3,8,8/fp")
case("adaptive_avg_pool: to nothing", pool(F.adaptive_avg_pool2d, (0, 0)), "1,2,3,4")
case("sum: columns of short rows", lambda x: x.sum((0, 2)), "8,3,20")
case("sum: columns of long rows", lambda x: x.sum((0, 2)), "8,3,300")
case("cumsum: many lines", lambda x: x.cumsum(1), "100,40")
case("sort: one short column of two", lambda x: torch.sort(x[:, :1], 0)[0], "30,2")
case("norm: no order", lambda x: (torch.norm(x, None), torch.norm(x, None, 0)), "9,20")
case("softmax: safe, of a number", lambda x: torch._safe_softmax(x, 0), "")
case("threshold: in place, stretched", lambda x: F.threshold_(x.expand(4, 5), 0.1, 0.2), "1,5", grad=False)
case("cdist: the second is not dense", lambda x, y: torch.cdist(x, y, 1.0), "2,9,20", "2,7,20/fs")
case("copy: to shorts without a sign", lambda x: (x * 3).to(torch.uint16).to(x.dtype), "9,20/u", grad=False)
case("random: normal, fewer deviations", lambda x, y: torch.normal(x, y * 0), "9,20", "1,20", grad=False)
case("interpolate: last, part of the channels", lambda x: F.interpolate(x, (9, 5)), "2,3,6,7/fp")
case("interpolate: last, one image", lambda x: F.interpolate(x, (9, 5)), "1,3,6,7/fl")
case("layer_norm: very long rows", layer_norm(), "3,9000/h", "9000/h", "9000/h")
case("index: no true one", lambda x: x[x > 1e9], "4,5", grad=False)
case("index: many into a mask", lambda x, y: x.index_put((x > -1e9,), y), "20", "20", grad=False)
case("index: added to a mask", lambda x, y: x.index_put((x > 0,), y, accumulate=True), "20", "", grad=False)
case("softmax: of halves that are not dense", lambda x: F.softmax(x.exp()[:, ::2], 1), "5,70/h")


@pytest.mark.parametrize("family", sorted({name.partition(":")[0] for name in CASES}))
def test_a_chooser_leads_to_the_same_result(family):
    with kept_threads():
        for at, name in enumerate(CASES):
            if name.partition(":")[0] == family:
                threads = 2 if name.endswith("threads") else 1 + at % 2
                compare(name, ((threads, ("", "apart", "", "last")[at % 4]),))


# ---- memory ----
def _step(x):
    w = x.detach().clone().requires_grad_()
    w.grad = w.detach()
    torch.optim.Adam([w, w.detach().clone().requires_grad_()], lr=0.1, foreach=True).step()
    return w.detach()


def _grid(x):
    torch.manual_seed(3)
    return F.grid_sample(x, torch.rand(2, 4, 5, 2, dtype=torch.float64).to(x.dtype), align_corners=False)


def _bags(grad, table):
    at, starts = torch.arange(24) % 11, torch.tensor([0, 3, 3, 10])
    return _C._nn._embedding_bag_per_sample_weights_backward(grad, table, at, starts, starts, 0)


def _group_norm_back(grad, x):
    return _C._nn.native_group_norm_backward(grad, x, None, None, None, 2, 1e-5)


_MANY = "1,1,40,16", "1,1,3000,16", "1,1,3000,16"
case("memory: attention", attention(), *_MANY)
case("memory: attention, halves", attention(), "1,2,9,16/h", "1,2,30,16/h", "1,2,30,16/h")
case("memory: bags", bag("sum", True), "11,16", "24")
case("memory: bias", lambda g: _C._nn.conv_bias(g, 2), "2,3,4,5/ft", grad=False)
case("memory: depthwise", conv(padding=1, groups=20), "2,20,9,10/ft", "20,1,3,3/ft", "20/fs")
case("memory: depthwise, last", conv(padding=1, groups=20), "2,20,9,10/fl", "20,1,3,3/ft", "20/fs")
case("memory: tiny planes", conv(padding=1), "16,32,4,4/ft", "32,32,3,3/ft", "32/fs")
case("memory: chunks of images", conv(padding=1), "40,4,20,20/ft", "6,4,3,3")
case("memory: grid", _grid, "2,3,6,7/ft")
case("memory: batch_norm", lambda x: F.batch_norm(x, None, None, None, None, True), "4,6,5,7/ft")
case("memory: group_norm", lambda x: F.group_norm(x, 2), "4,6,5,7/ft")
case("memory: group_norm, halves", lambda x: F.group_norm(x, 2), "4,6,5,7/h")
case("memory: instance_norm", lambda x: F.instance_norm(x), "4,6,5,7/ht")
case("memory: layer_norm", lambda x: F.layer_norm(x, (7,)), "4,6,5,7/ft")
case("memory: layer_norm, halves", lambda x: F.layer_norm(x, (7,)), "4,6,5,7/h")
case("memory: layer_norm, weights", layer_norm(), "4,6,70/ht", "70/h", "70/h")
case("memory: instance_norm, long", lambda x: F.instance_norm(x), "1,2,64,66")
case("memory: group_norm, no statistics", _group_norm_back, "1,2,64,66", "1,2,64,66", grad=False)
case("memory: step", _step, "9,20", grad=False)
case("memory: pool, last", pool(F.max_pool2d, 2), "2,3,8,8/fl")
case("memory: pool, last, halves", pool(F.max_pool2d, 2), "2,3,8,8/hl")
case("memory: mean pool, last", pool(F.avg_pool2d, 2), "2,3,8,8/fl")
case("memory: sum", lambda x: x.sum(), "300,700")
case("memory: cumsum", lambda x: x.cumsum(0), "40000")
case("memory: softmax, halves", lambda x: F.softmax(x, 1), "5,70/hs")
case("memory: softmax of columns, halves", lambda x: F.softmax(x, 0), "5,70/h")
case("memory: sort", lambda x: torch.sort(x, 0)[0], "30,70")
case("memory: sort, whole numbers", lambda x: torch.sort(x, 0)[0], "30,70/q", grad=False)


# one of each way: what it asks memory for
_MEMORY = [
    name
    for name in CASES
    if name.startswith(("memory: ", "conv: ", "linear: ", "addmm: ", "attention: h 3", "rnn: "))
    or name.startswith("matmul: long")
    or name.endswith((", places", " wbm train", " wb", " given", "(3, 5)", "max_pool: 2,3,9,9 f 3"))
]


def fail(call, given, grad, lies):
    whole = 0  # in a row: a call may do without memory for packed weights
    for n in range(_ALLOCATIONS):
        _C._fail_alloc(n)
        try:
            run(call, given, grad, lies[n % len(lies)])
            whole += 1
        except (MemoryError, RuntimeError):
            whole = 0
        finally:
            _C._fail_alloc(-1)
        if whole > 3:
            break


@pytest.mark.parametrize("part", range(4))
def test_when_memory_ends(part):
    """Whichever allocation fails, the call says so, and the next one is as ever."""
    with kept_threads():
        torch.set_num_threads(1)
        for name in _MEMORY[part::4]:
            if "large" in name or "threads" in name:
                continue
            call, specs, grad = CASES[name]
            torch.manual_seed(1)
            given = [make(spec) for spec in specs]
            every = ("", "turned") if name.startswith("memory: ") and grad else ("",)
            for lies in every:
                fail(call, given, grad, (lies,) if len(every) > 1 else ("", "apart", "last"))


# ---- gradients by themselves: statistics that are not there, or of another dtype ----
def _given(t, how):
    return {"given": t, "none": None, "empty": t[:0], "double": t.double(), "half": t.half()}[how]


_STATISTICS = [
    ("given", "given"),
    ("none", "none"),
    ("given", "none"),
    ("empty", "empty"),
    ("given", "empty"),
]
_STATISTICS += [("double", "given"), ("given", "double")]


@pytest.mark.parametrize("norm", ["batch", "group", "group, short", "layer"])
def test_gradients_of_norms_by_themselves(norm):
    def call(grad, x, mean, scale, w):
        if norm == "batch":
            return _C._nn.native_batch_norm_backward(grad, x, w, None, None, mean, scale, True, 1e-5)
        if norm == "layer":
            return _C._nn.native_layer_norm_backward(grad, x, [35], mean, scale, w, 1e-5)
        return _C._nn.native_group_norm_backward(grad, x, mean, scale, w, 2, 1e-5)

    torch.manual_seed(1)
    shape = {"batch": (4, 6, 5, 7), "group": (4, 6, 35), "group, short": (4, 6, 3), "layer": (4, 6, 35)}[norm]
    rows = {"batch": (1, 0, 2, 3), "group": None, "group, short": None, "layer": None}[norm]
    n = 35 if norm == "layer" else 6
    x, grad = torch.randn(shape).double(), torch.randn(shape).double()
    w = torch.randn(n).double()
    flat = x.permute(rows).reshape(6, -1) if rows else x.reshape(24 if norm == "layer" else 8, -1)
    mean, scale = flat.mean(1), (flat.var(1, unbiased=False) + 1e-5).rsqrt()
    expected = call(grad, x, mean, scale, w)
    for stats in _STATISTICS:
        for weight in ("given", "double"):
            for lies in ("", "last"):
                found = call(
                    lie(grad.float(), lies),
                    x.float(),
                    *(_given(t.float(), how) for t, how in zip((mean, scale), stats)),
                    _given(w.float(), weight),
                )
                for ours, exact in zip(found, expected):
                    assert torch.allclose(ours.double(), exact, 1e-3, 1e-3), (stats, weight, lies)


def test_dtypes_that_differ():
    torch.manual_seed(1)
    x, w = torch.randn(4, 6, 5), torch.rand(6) + 0.5
    expected = F.batch_norm(x.double(), w.double(), w.double(), w.double(), w.double())
    found = F.batch_norm(x.half(), w, w.half(), w, w)
    assert torch.allclose(found.double(), expected, 0, 3e-2)
    found = F.batch_norm(x.half(), w, w, w.half(), w.half())
    assert torch.allclose(found.double(), expected, 0, 3e-2)
    w = torch.rand(5) + 0.5
    expected = F.rms_norm(x.double(), (5,), w.double())
    assert torch.allclose(F.rms_norm(x, (5,), w.double()).double(), expected, 0, 1e-4)
    y = torch.softmax(torch.randn(5, 70).half(), 1)
    grad = torch.randn(5, 70).half()
    expected = _C._nn.softmax_backward(grad, y, 1)
    assert torch.equal(_C._nn.softmax_backward(grad, lie(y, "apart"), 1), expected)


# ---- what is refused ----
def _int8(n):
    return torch.full((3,), n, dtype=torch.int8)


_REFUSED = {
    "integers divided by zero": (lambda: _int8(1) // _int8(0), "ZeroDivisionError"),
    "a sum of integers times a fraction": (
        lambda: torch.add(_int8(1), _int8(1), alpha=1.5),
        "alpha must not be a floating point",
    ),
    "a difference of integers times a fraction": (
        lambda: torch.sub(_int8(1), _int8(1), alpha=1.5),
        "alpha must not be a floating point",
    ),
    "too large a number to fill with": (
        lambda: torch.zeros(3).masked_fill(torch.ones(3) > 0, 1e39),
        "without overflow",
    ),
    "a running sum of truths": (lambda: _int8(1).cumsum(0, dtype=torch.bool), "not implemented for 'Bool'"),
    "a negative deviation": (
        lambda: torch.normal(torch.zeros(20), -torch.ones(20)),
        "normal expects all elements of std >= 0.0",
    ),
    "an index outside its plane": (
        lambda: _C._nn.max_pool2d_with_indices_backward(
            torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 4, 4), 2, 2, 0, 1, False, torch.full((1, 1, 2, 2), 99)
        ),
        "found an invalid max index: 99",
    ),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_is_refused(name):
    call, text = _REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        call()


def test_linear_without_vector_kernels():
    x, w = torch.randn(20, 30), torch.randn(40, 30)
    expected = F.linear(x.double(), w.double())
    _C._kernels("none")
    try:
        found = F.linear(x, w.clone())
    finally:
        _C._kernels("all")
    assert torch.allclose(found.double(), expected, 0, 1e-4)


# ---- more elements than 31 bits count, of views that repeat a few ----
def _many(x, *shape):
    return x.expand(shape)


def test_convolutions_of_many_elements():
    n = 2**31 + 8
    ones = torch.ones
    assert torch.equal(
        F.conv2d(_many(ones(1), 1, 1, 1, n), ones(1, 1, 1, 2), stride=(1, 2**30)), ones(1, 1, 1, 3) * 2
    )
    assert torch.equal(F.conv1d(_many(ones(1), 1, 1, n), ones(1, 1, 2), stride=2**30), ones(1, 1, 3) * 2)
    grad = ones(1, 1, 1, 3)
    found = _C._nn.conv2d_weight(grad, _many(ones(1), 1, 1, 1, n), [1, 1, 1, 2], (1, 2**30))
    assert torch.equal(found, ones(1, 1, 1, 2) * 3)
    # planes that fit, but not with the channels beside them
    torch.manual_seed(1)
    for high in (2**26 + 8, 2**28):
        x, w = torch.randn(16, 32, 1, 1), torch.randn(32, 32, 2, 1)
        found = F.conv2d(x.expand(16, 32, high, 1), w, dilation=(high - 2, 1))
        expected = F.conv2d(x.expand(16, 32, 3, 1).double(), w.double())
        assert torch.allclose(found.double(), expected, 0, 1e-4)
    for channels in (1, 16):
        x, grad = torch.randn(1, channels, 1, 2).double(), torch.randn(1, channels, 2, 1).double()
        found = _C._nn.conv2d_weight(
            grad, x.expand(1, channels, 2**27, 2), [channels, channels, 1, 2], (2**26, 1)
        )
        expected = _C._nn.conv2d_weight(grad, x.expand(1, channels, 2, 2), [channels, channels, 1, 2], 1)
        assert torch.allclose(found, expected)
    for dtype in (torch.float32, torch.float64):
        x, grad = torch.ones(1, 2**19, 1, 1, dtype=dtype), torch.arange(16, dtype=dtype).reshape(1, 16, 1, 1)
        found = _C._nn.conv2d_weight(grad, x, [16, 2**19, 1, 1], 1)
        assert torch.equal(found, grad.reshape(16, 1, 1, 1).expand(16, 2**19, 1, 1))
    with pytest.raises((RuntimeError, MemoryError)):  # which lies channels last: a copy is made
        w = torch.ones(2, 2, 1, 2).movedim(1, -1).contiguous().movedim(-1, 1)
        F.conv2d(_many(torch.ones(1), 2**14, 2, 1, n), w, stride=(1, 2**30))


def test_others_of_many_elements():
    x = torch.ones(1)
    assert torch.equal(F.max_pool2d(_many(x, 1, 1, 2**16, 2**16), 1, stride=2**15), torch.ones(1, 1, 2, 2))
    assert torch.equal(F.interpolate(_many(x, 1, 1, 2**16, 2**16), (2, 2)), torch.ones(1, 1, 2, 2))
    with pytest.raises((RuntimeError, MemoryError)):
        torch.kthvalue(_many(x, 2**45), 3)


# ---- steps ----
def test_steps_by_gradients_in_another_order():
    for kind in ("SGD", "Adam"):
        turned, plain = torch.ones(9, 10, requires_grad=True), torch.ones(9, 10, requires_grad=True)
        turned.grad, plain.grad = torch.full((10, 9), 0.5).t(), torch.full((9, 10), 0.5)
        for w in (turned, plain):
            getattr(torch.optim, kind)([w], lr=0.1).step()
        assert torch.equal(turned, plain)
