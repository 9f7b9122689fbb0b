"""Every way that a kernel's chooser may go, by the sizes, dtypes, layouts and threads that lead there; results
and gradients are those of the same call in float64. make choosers counts the branches that these cases take."""

import contextlib

import pytest

import rushlight as torch
from rushlight import _C

F = torch.nn.functional
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 3e-4, torch.float16: 2e-2, torch.bfloat16: 1.2e-1}
_SHORT = {"f": torch.float32, "d": torch.float64, "h": torch.float16, "b": torch.bfloat16}
CASES = {}


def make(spec):
    """A tensor of "8,3,5,5": then "/" and a dtype (f d h b), then layouts: l channels last, t its last two dims
    turned, s every second column, e stretched along its first dim, o shifted by an element."""
    sizes, _, how = spec.partition("/")
    shape = [int(n) for n in sizes.split(",") if n]
    x = torch.randn(shape, dtype=torch.float64)
    x = x.to(_SHORT[how[0]] if how else torch.float32)
    for layout in how[1:]:
        if layout == "l":
            dims = [0, *range(2, x.ndim), 1]
            x = x.permute(dims).contiguous().permute(0, x.ndim - 1, *range(1, x.ndim - 1))
        elif layout == "t":
            x = x.transpose(-1, -2).contiguous().transpose(-1, -2)
        elif layout == "s":
            x = torch.stack([x, x], -1)[..., 0]
        elif layout == "e":
            x = x[:1].expand(shape)
        elif layout == "o":
            x = torch.cat([x.flatten()[:1], x.flatten()])[1:].view(shape)
        else:
            raise ValueError(layout)
    return x


def case(name, call, *specs, grad=True):
    assert name not in CASES, name
    CASES[name] = call, specs, grad


def run(call, tensors, grad):
    """The results of a call, then its gradients."""
    tensors = [t.detach().requires_grad_(grad and t.is_floating_point()) for t in tensors]
    found = call(*tensors)
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    sums = [x for x in found if x.requires_grad]
    if grad and sums:
        torch.manual_seed(2)
        given = [torch.randn(x.shape, dtype=torch.float64).to(x.dtype) for x in sums]
        leaves = [t for t in tensors if t.requires_grad]
        found += [g for g in torch.autograd.grad(sums, leaves, given, allow_unused=True) if g is not None]
    return [x.detach() for x in found]


def compare(name, threads):
    call, specs, grad = CASES[name]
    torch.manual_seed(1)
    given = [make(spec) for spec in specs]
    expected = run(call, [t.double().contiguous() for t in given], grad)
    for n in threads:
        torch.set_num_threads(n)
        found = run(call, given, grad)
        assert len(found) == len(expected)
        for i, (ours, exact) in enumerate(zip(found, expected)):
            rough = min(_TOLERANCE[t.dtype] for t in (ours,)) if ours.is_floating_point() else 0
            bound = rough * (1 + exact.abs().max().item() if exact.numel() else 1)
            assert ours.shape == exact.shape, (name, i)
            assert exact.numel() == 0 or (ours.double() - exact).abs().max().item() <= bound, (name, i, n)


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
    case(f"conv: {_dtype}, last", conv(padding=1), f"2,20,9,10/{_dtype}l", f"24,20,3,3/{_dtype}l", f"24/{_dtype}")
    case(f"conv: {_dtype}, 1d", conv(padding=1), f"2,20,30/{_dtype}", f"24,20,3/{_dtype}", f"24/{_dtype}")
    case(f"conv: {_dtype}, 3d", conv(padding=1), f"2,4,5,6,7/{_dtype}", f"6,4,3,3,3/{_dtype}", f"6/{_dtype}")
    case(
        f"conv: {_dtype}, depthwise, last",
        conv(padding=1, groups=20),
        *(f"2,20,9,10/{_dtype}l", f"20,1,3,3/{_dtype}", f"20/{_dtype}"),
    )
    case(f"conv: {_dtype}, transposed", transposed(2, 1), f"2,6,5,6/{_dtype}", f"6,4,3,3/{_dtype}", f"4/{_dtype}")
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
        case(f"matmul: {_m} {_n} {_k} {_turn}", torch.matmul, f"{_m},{_k}/{_a}", f"{_k},{_n}/{_b}", grad=False)
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


@pytest.mark.parametrize("family", sorted({name.partition(":")[0] for name in CASES}))
def test_a_chooser_leads_to_the_same_result(family):
    with kept_threads():
        for name in CASES:
            if name.partition(":")[0] == family:
                compare(name, (1, 2))
