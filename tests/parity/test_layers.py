"""Layers, functional, init, optim, modes, pickling: the same lines on torch and on rushlight, in one process.

The files *_cases.txt hold the lines; cases are separated by ---.
"""

import copy
import pickle
import re
import warnings
from collections import OrderedDict
from pathlib import Path

import numpy
import pytest

import rushlight

torch = pytest.importorskip("torch")
with warnings.catch_warnings():  # of what PyTorch imports for its first compilation
    warnings.simplefilter("ignore")
    torch.compile(len)

# the last line is an expression; what it answers or raises must be equal
CASES = [
    case
    for name in (
        "tensor_cases.txt",
        "number_cases.txt",
        "layers_cases.txt",
        "device_cases.txt",
        "storage_cases.txt",
        "interop_cases.txt",
        "object_cases.txt",
        "names_cases.txt",
        "gates_cases.txt",
    )
    for case in Path(__file__).with_name(name).read_text().strip().split("\n---\n")
]
# shape_cases.txt: a case is a line
_SHAPES = """x, v, i = torch.arange(24.0).view(2, 3, 4), torch.arange(6.0), torch.arange(6)
s, m, bl, w = torch.tensor(3.0), torch.arange(9.0).view(3, 3), v > 2, torch.arange(1.0, 7).requires_grad_()
"""
CASES += [_SHAPES + line for line in Path(__file__).with_name("shape_cases.txt").read_text().splitlines()]
# nn_cases.txt: as well; T: a table, L: rows of it, o: where bags of them begin
_MORE = """T, L = (torch.arange(18.0) * 7 % 11 - 5).view(6, 3), torch.tensor([1, 2, 4, 4, 5, 0, 3])
o, n = torch.tensor([0, 3, 3, 5]), torch.tensor([[float("nan")] * 2, [1.0, 1.0]])
A, B = (torch.arange(32.0) * 7 % 11 - 5).view(4, 8), (torch.arange(192.0) * 5 % 13 - 6).view(2, 8, 12)
def bags(*args, **named):
    joined, bag_of, sizes, largest = torch.embedding_bag(*args, **named)
    return joined, sizes[: len(joined)], largest[: len(joined)]
"""
CASES += [
    _SHAPES + _MORE + line for line in Path(__file__).with_name("nn_cases.txt").read_text().splitlines()
]
# loss_cases.txt: as well; a: any numbers, p, q: probabilities, s: signs, n: counts, c: classes
_LOSSES = """a = torch.tensor([[-2.0, 0.5, 3.0], [0.25, -0.75, 1.5]])
b = torch.tensor([[1.0, 0.5, -1.5], [2.0, -1.0, 1.0]])
p, q = torch.tensor([[0.1, 0.5, 0.9], [1.0, 0.0, 0.3]]), torch.tensor([[0.0, 1.0, 0.7], [1.0, 0.5, 0.2]])
s, n, c = b.sign(), torch.tensor([[0.0, 1, 4], [2, 7, 3]]), torch.tensor([2, 0])
w, nan, inf = torch.tensor([0.5, 2.0, 1.25]), float("nan"), float("inf")
E, N = torch._C._nn, ("none", "mean", "sum")
def grads(loss, *leaves):
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    y = loss(*leaves)
    first = torch.autograd.grad(y.sum(), leaves, create_graph=True)
    again = [g for g in first if g.requires_grad]
    second = again and torch.autograd.grad(sum((g * g).sum() for g in again), leaves)
    return y.grad_fn, first[0].grad_fn, [g.detach() for g in first], second
def cast(*losses):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return [loss().dtype for loss in losses]
h, labels = p.bfloat16(), torch.tensor([[0, 2, -1], [1, -1, 0]])
"""
CASES += [_LOSSES + line for line in Path(__file__).with_name("loss_cases.txt").read_text().splitlines()]


def environment(t):
    return {
        "torch": t,
        "nn": t.nn,
        "F": t.nn.functional,
        "P": t.nn.Parameter,
        "x": t.zeros(2, 3),
        "y": t.ones(2, 3, requires_grad=True),
        "m": t.arange(12.0).view(3, 4),
        "i3": t.arange(12.0).view(1, 2, 6),
        "i4": t.arange(32.0).view(1, 2, 4, 4),
        "i5": t.arange(64.0).view(1, 1, 4, 4, 4),
        "copy": copy,
        "pickle": pickle,
        "OrderedDict": OrderedDict,
        "np": numpy,
        "__name__": __name__,
    }


# what PyTorch adds to warnings of its own
_INTERNAL = re.compile(
    r"( This type of warning will be suppressed for the rest of this program\.)?"
    r" \(Triggered internally at .*\)"
)


def answer(t, case):
    t.manual_seed(11)
    *statements, expression = case.split("\n")
    scope = environment(t)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec("\n".join(statements), scope)
            result = repr(eval(expression, scope))
        except (SyntaxError, NameError):  # the case itself is broken
            raise
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        finally:
            t.set_grad_enabled(True)
    said = [f"{w.category.__name__}: {_INTERNAL.sub('', str(w.message))}" for w in warned]
    said = [text for text in said if "__array_" not in text]  # NumPy is told what PyTorch's methods lack
    return re.sub(" at 0x[0-9a-f]+", "", result).replace("rushlight", "torch"), said


@pytest.mark.parametrize("case", CASES)
def test_same(case):
    assert answer(rushlight, case) == answer(torch, case)


def numbers(tensor):
    return torch.tensor(tensor.tolist())


def layers(t):
    nn = t.nn
    return {
        "linear": (nn.Linear(16, 8), (5, 16)),
        "linear 3-D": (nn.Linear(16, 8, bias=False), (2, 5, 16)),
        "conv": (nn.Conv2d(3, 8, 3, padding=1, stride=2), (2, 3, 13, 11)),
        "conv same": (nn.Conv2d(3, 8, (2, 5), padding="same", dilation=(1, 2)), (2, 3, 13, 11)),
        "conv groups": (nn.Conv2d(4, 8, 3, groups=4), (2, 4, 9, 9)),
        "conv reflect": (nn.Conv2d(3, 4, 3, padding=2, padding_mode="reflect"), (1, 3, 8, 8)),
        "conv replicate": (nn.Conv2d(3, 4, 3, padding=2, padding_mode="replicate"), (1, 3, 8, 8)),
        "conv circular": (nn.Conv2d(3, 4, 3, padding=(2, 1), padding_mode="circular"), (1, 3, 8, 8)),
        "max pool": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 10, 9)),
        "avg pool": (nn.AvgPool2d((2, 3), 2, (1, 1), ceil_mode=True, count_include_pad=False), (2, 3, 10, 9)),
        "adaptive": (nn.AdaptiveAvgPool2d((3, None)), (2, 3, 10, 9)),
        "batch norm 1": (nn.BatchNorm1d(6), (9, 6)),
        "batch norm 2": (nn.BatchNorm2d(3, momentum=0.3), (4, 3, 5, 6)),
        "softmax": (nn.Softmax(1), (4, 7)),
        "log softmax": (nn.LogSoftmax(-1), (4, 7)),
        "flatten": (nn.Flatten(), (3, 4, 5)),
        "gelu": (nn.GELU(), (50,)),
        "gelu tanh": (nn.GELU("tanh"), (50,)),
        "silu": (nn.SiLU(), (50,)),
        "elu": (nn.ELU(0.5), (50,)),
        "leaky": (nn.LeakyReLU(0.2), (50,)),
        "relu6": (nn.ReLU6(), (50,)),
        "hardtanh": (nn.Hardtanh(-0.5, 0.25), (50,)),
        "sigmoid": (nn.Sigmoid(), (50,)),
        "tanh": (nn.Tanh(), (50,)),
        "identity": (nn.Identity(1, a=2), (5,)),
        "dropout off": (nn.Dropout(0.5).eval(), (5,)),
        "conv 1": (nn.Conv1d(4, 6, 3, 2, 1, groups=2), (3, 4, 17)),
        "conv 1 same": (nn.Conv1d(4, 6, 4, padding="same", padding_mode="circular"), (3, 4, 17)),
        "conv 1 reflect": (nn.Conv1d(4, 2, 3, padding=2, padding_mode="reflect"), (2, 4, 9)),
        "conv 1 replicate": (nn.Conv1d(4, 2, 2, padding="same", padding_mode="replicate"), (2, 4, 9)),
        "conv 3 reflect": (nn.Conv3d(2, 1, 2, padding=1, padding_mode="reflect"), (1, 2, 3, 4, 5)),
        "conv 3 circular": (nn.Conv3d(2, 1, 2, padding=1, padding_mode="circular"), (1, 2, 3, 4, 5)),
        "conv 3 dilation": (nn.Conv3d(2, 1, 3, padding="same", dilation=(2, 1, 1)), (1, 2, 6, 4, 5)),
        "conv 3": (nn.Conv3d(4, 6, (3, 2, 1), (2, 1, 2), (1, 0, 1), groups=2), (2, 4, 7, 6, 5)),
        "conv 3 same": (nn.Conv3d(2, 3, 3, padding="same", padding_mode="replicate"), (2, 2, 5, 4, 3)),
        "transposed 1": (nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), (2, 4, 7)),
        "transposed 2": (nn.ConvTranspose2d(4, 6, (3, 2), (2, 3), 1, (1, 0), dilation=2), (2, 4, 7, 5)),
        "transposed 3": (nn.ConvTranspose3d(2, 3, 2, 2), (2, 2, 3, 4, 2)),
        "max pool 3": (nn.MaxPool3d(2, ceil_mode=True), (2, 3, 5, 4, 3)),
        "avg pool 3": (nn.AvgPool3d(2, padding=1, count_include_pad=False), (2, 3, 5, 4, 3)),
        "adaptive 3": (nn.AdaptiveAvgPool3d((2, None, 5)), (2, 3, 5, 4, 3)),
        "adaptive max": (nn.AdaptiveMaxPool2d((2, 5)), (2, 3, 7, 4)),
        "lp pool": (nn.LPPool2d(2, (3, 2), 1), (2, 3, 7, 4)),
        "max pool 1": (nn.MaxPool1d(3, 2, 1, ceil_mode=True), (2, 3, 10)),
        "avg pool 1": (nn.AvgPool1d(3, 2, 1, True, False), (2, 3, 10)),
        "adaptive 1": (nn.AdaptiveAvgPool1d(3), (2, 3, 10)),
        "batch norm 3": (nn.BatchNorm3d(3), (4, 3, 2, 5, 6)),
        "layer norm": (nn.LayerNorm((5, 6)), (4, 5, 6)),
        "group norm": (nn.GroupNorm(2, 6), (4, 6, 5, 3)),
        "instance norm": (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (4, 3, 5, 6)),
        "rms norm": (nn.RMSNorm(6), (4, 5, 6)),
        "local response": (nn.LocalResponseNorm(3, 0.1), (2, 5, 4, 3)),
        "alpha dropout": (nn.AlphaDropout(0.3), (2, 5, 4, 3)),
        "feature alpha dropout": (nn.FeatureAlphaDropout(0.3), (20, 5, 4)),
        "dropout 2": (nn.Dropout2d(0.3), (9, 5, 4, 3)),
        "rrelu": (nn.RReLU(), (50,)),
        "prelu": (nn.PReLU(5), (4, 5, 3)),
        "glu": (nn.GLU(1), (4, 6, 3)),
        "celu": (nn.CELU(0.7), (50,)),
        "selu": (nn.SELU(), (50,)),
        "mish": (nn.Mish(), (50,)),
        "hardswish": (nn.Hardswish(), (50,)),
        "hardsigmoid": (nn.Hardsigmoid(), (50,)),
        "softplus": (nn.Softplus(2), (50,)),
        "softsign": (nn.Softsign(), (50,)),
        "tanhshrink": (nn.Tanhshrink(), (50,)),
        "softshrink": (nn.Softshrink(), (50,)),
        "hardshrink": (nn.Hardshrink(), (50,)),
        "log sigmoid": (nn.LogSigmoid(), (50,)),
        "threshold": (nn.Threshold(0.2, -1), (50,)),
        "softmin": (nn.Softmin(1), (4, 7)),
        "upsample": (nn.Upsample(scale_factor=1.5, mode="bilinear"), (2, 3, 5, 4)),
        "pixel shuffle": (nn.PixelShuffle(2), (2, 12, 3, 4)),
        "channel shuffle": (nn.ChannelShuffle(3), (2, 12, 3, 4)),
        "unflatten": (nn.Unflatten(1, (3, -1)), (2, 12, 4)),
    }


@pytest.mark.parametrize("name", layers(torch))
def test_outputs_and_state(name):
    results = []
    for t in (torch, rushlight):
        t.manual_seed(5)
        layer, shape = layers(t)[name]
        x = t.rand(*shape) * 4 - 2
        outputs = [numbers(layer(x).detach()), numbers(layer(x).detach()), numbers(layer.eval()(x).detach())]
        results.append((repr(layer), {k: numbers(v) for k, v in layer.state_dict().items()}, outputs))
    (text, state, outputs), (our_text, our_state, our_outputs) = results
    assert our_text == text and our_state.keys() == state.keys()
    for key, value in state.items():
        torch.testing.assert_close(our_state[key], value, rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(our_outputs, outputs):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(rushlight.nn.modules.__all__) & set(torch.nn.modules.__all__)))
def test_wrong_arguments(name):
    said = []
    for t in (torch, rushlight):
        for arguments in ((), (1,) * 30):
            try:
                said.append(type(getattr(t.nn, name)(*arguments)).__name__)
            except (TypeError, ValueError) as error:
                said.append(str(error))
    assert said[2:] == said[:2]


@pytest.mark.parametrize("shape", [(1, 2, 7, 5), (2, 3, 4, 4)])
@pytest.mark.parametrize(
    "options",
    [
        {"size": (3, 9)},
        {"size": 6, "mode": "bilinear"},
        {"size": (9, 2), "mode": "bilinear", "align_corners": True},
        {"scale_factor": 1.7},
        {"scale_factor": (0.4, 2.3), "mode": "bilinear"},
        {"scale_factor": (0.4, 2.3), "mode": "bilinear", "recompute_scale_factor": True},
        {"scale_factor": 2.5, "mode": "bilinear", "align_corners": True},
        {"scale_factor": 1.7, "recompute_scale_factor": True},
        {"size": (2, 3), "mode": "area"},
    ],
    ids=str,
)
def test_interpolate(shape, options):
    x = torch.rand(shape)
    ours = rushlight.nn.functional.interpolate(rushlight.tensor(x.tolist()), **options)
    theirs = torch.nn.functional.interpolate(x, **options)
    torch.testing.assert_close(numbers(ours), theirs, rtol=1e-5, atol=1e-6)


def random_tensor(rng):
    dtype = rng.choice(
        ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool"]
    )
    shape = [rng.choice([0, 1, 2, 3, 5, 7]) for _ in range(rng.randrange(5))]
    if rng.random() < 0.2:
        shape = [rng.choice([30, 1001, 1200])]
    generator = torch.Generator().manual_seed(rng.randrange(10**6))
    values = torch.randn(shape, dtype=torch.float64, generator=generator)
    values *= 10.0 ** rng.choice([-8, -5, -1, 0, 0, 0, 1, 3, 5, 9])
    if rng.random() < 0.3:
        values = values.round()
    if values.numel() and rng.random() < 0.3:
        flat = values.view(-1)
        for special in (float("nan"), float("inf"), -float("inf"), -0.0):
            flat[rng.randrange(flat.numel())] = special
    if not getattr(torch, dtype).is_floating_point:
        values = values.nan_to_num(0, 0, 0).clamp(0 if dtype == "uint8" else -128, 127)
    return values.to(getattr(torch, dtype))


@pytest.mark.parametrize("seed", range(8))
def test_repr_of_random_tensors(seed):
    import random

    rng = random.Random(seed)
    for _ in range(40):
        theirs = random_tensor(rng)
        dtype = getattr(rushlight, str(theirs.dtype).removeprefix("torch."))
        ours = rushlight.tensor(theirs.tolist(), dtype=dtype).view(theirs.shape)
        assert repr(ours) == repr(theirs)
