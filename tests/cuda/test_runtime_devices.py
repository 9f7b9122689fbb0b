"""Tensors of several devices in one call: the CPU's result, or PyTorch's error before any kernel runs.

Each tensor argument of each operator with a CUDA kernel lies on the CPU in turn, as it is and as a number,
then it alone lies on the device.
"""

import re

import pytest

import op_samples as samples
import rushlight as torch
from rushlight import _C

from .test_operators import NUMBERS_STAY, OPERATORS, assert_same, moved

SAMPLED = 3  # calls of each operator
REFUSALS = (
    r"Expected all tensors to be on the same device, but (found at least two devices, cuda:0 and cpu!"
    r"|got \w+ is on (cpu|cuda:0), different from other tensors on (cpu|cuda:0) \(when checking argument in "
    r"method wrapper_CUDA_\w+\))"
    r"|Input type \(torch\.(cuda\.)?\w+Tensor\) and (weight|bias) type \(torch\.(cuda\.)?\w+Tensor\) should "
    r"|indices should be either on cpu or on the same device as the indexed tensor \((cpu|cuda:0)\)"
    r"|expected self and mask to be on the same device, but got mask on (cpu|cuda:0) and self on (cpu|cuda:0)"
    r"|Cannot compare two tensors on different devices\. Got: (cpu|cuda:0) and (cpu|cuda:0)"
    r"|Expected query, key, and value to have the same device type, but got query\.device: cuda"
    r"|Expected query, key, and value to have the same device type, but got query\.device: cpu"
    r"|high must be a scalar tensor and on CPU"
)


def places(args):
    """Where the tensors of a call stand: (position, None), or (position, position in the list)."""
    for i, each in args.items():
        if isinstance(each, _C.Tensor):
            yield i, None
        elif isinstance(each, (list, tuple)):
            yield from ((i, j) for j, t in enumerate(each) if isinstance(t, _C.Tensor))


def replaced(args, place, change, others=lambda x: x):
    """The arguments, one tensor of which is changed in one way and all others in another."""
    i, j = place
    made = {key: others(each) for key, each in args.items()}
    if j is None:
        made[i] = change(args[i])
    else:
        made[i] = type(args[i])(change(t) if n == j else others(t) for n, t in enumerate(args[i]))
    return made


def answer(name, args):
    """The tensors that an operator answers with, or its error."""
    given = [args[i] for i in sorted(key for key in args if isinstance(key, int))]
    named = {key: each for key, each in args.items() if isinstance(key, str)}
    try:
        results = samples.flat_results(samples.function(_C, OPERATORS[name])(*given, **named))
        return [each.cpu() for each in results]
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return error


def ways(args, place):
    i, j = place
    tensor = args[i] if j is None else args[i][j]

    def there(x):
        return moved(x, "cuda:0")

    yield "on the CPU", lambda: lambda x: x, there
    if tensor.numel():
        yield "a number of the CPU", lambda: lambda x: x.flatten()[0].clone(), there
    yield "alone on the device", lambda: there, lambda x: x


def calls(name):
    dtypes = samples.admitted(OPERATORS[name])
    dtype = "float32" if "float32" in dtypes else dtypes[0]
    usable = [sample for sample in samples.of(name) if dtype not in sample.without]
    for sample in usable[:SAMPLED]:
        args, kwargs = sample.build(_C, dtype, "plain")
        for place in places(dict(enumerate(args)) | kwargs):
            for what, _, _ in ways(dict(enumerate(args)) | kwargs, place):
                yield dtype, sample, place, what


def fresh(sample, dtype):
    args, kwargs = sample.build(_C, dtype, "plain")
    return dict(enumerate(args)) | kwargs


def several(name):
    args = fresh(samples.of(name)[0], samples.admitted(OPERATORS[name])[0])
    return name not in samples.FACTORIES | NUMBERS_STAY and len(list(places(args))) > 1


@pytest.mark.parametrize("name", [name for name in OPERATORS if several(name)])
def test_every_tensor_on_another_device_in_turn(name):
    for dtype, sample, place, what in calls(name):
        case = f"{name}({sample}) {dtype}: {place} {what}"
        args = fresh(sample, dtype)
        (change, others) = next((c(), o) for w, c, o in ways(args, place) if w == what)
        if len(list(places(args))) < 2:
            continue
        ours = answer(name, replaced(args, place, change, others))
        same = (lambda x: x.flatten()[0].clone()) if what.startswith("a number") else (lambda x: x)
        theirs = answer(name, replaced(fresh(sample, dtype), place, same))
        if isinstance(ours, Exception):
            refused = isinstance(ours, RuntimeError) and re.match(REFUSALS, str(ours))
            assert refused or str(ours) == str(theirs), f"{case}: {ours!r}"
            continue
        assert not isinstance(theirs, Exception), f"{case}: {theirs!r}"
        for x, y in zip(ours, theirs, strict=True):
            if name not in samples.UNINITIALISED | samples.RANDOM:
                assert_same(x, y, dtype, case)


def there(*shape):
    return torch.ones(shape, device="cuda:0")


def here(*shape):
    return torch.ones(shape)


F = torch.nn.functional
TWO = "Expected all tensors to be on the same device, but found at least two devices, "
GOT = "Expected all tensors to be on the same device, but got {}, different from other tensors on {} (when "
GOT += "checking argument in method wrapper_CUDA_{})"
TEXTS = [
    (lambda: here(3) + there(3), TWO + "cuda:0 and cpu!"),
    (lambda: here(3).add_(there(3)), TWO + "cuda:0 and cpu!"),
    (lambda: here().add_(there()), TWO + "cuda:0 and cpu!"),
    (lambda: torch.add(there(3), 1, out=here(3)), TWO + "cuda:0 and cpu!"),
    (lambda: here(2, 2) @ there(2, 2), GOT.format("mat2 is on cuda:0", "cpu", "mm")),
    (lambda: there(1, 2, 2) @ here(1, 2, 2), GOT.format("mat2 is on cpu", "cuda:0", "bmm")),
    (lambda: F.linear(there(2, 2), here(2, 2), here(2)), GOT.format("mat1 is on cuda:0", "cpu", "addmm")),
    (lambda: F.linear(there(2, 2), here(2, 2)), GOT.format("mat2 is on cpu", "cuda:0", "mm")),
    (lambda: torch.cat([there(2), here(2)]), GOT.format("tensors is on cpu", "cuda:0", "cat")),
    (
        lambda: F.embedding(torch.tensor([1]), there(2, 2)),
        GOT.format("index is on cpu", "cuda:0", "_index_select"),
    ),
    (
        lambda: F.layer_norm(there(2, 2), (2,), here(2)),
        GOT.format("weight is on cpu", "cuda:0", "_native_layer_norm"),
    ),
    (
        lambda: there(2).scatter(0, torch.tensor([1]), there(1)),
        GOT.format("index is on cpu", "cuda:0", "scatter_src"),
    ),
    (lambda: there(2).take(torch.tensor([1])), GOT.format("index is on cpu", "cuda:0", "_take")),
    (lambda: torch.cdist(there(2, 2), here(2, 2)), GOT.format("x2 is on cpu", "cuda:0", "__cdist_forward")),
    (
        lambda: F.conv2d(there(1, 1, 3, 3), here(1, 1, 2, 2)),
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    ),
    (lambda: there(3) + torch.ones(3, device="meta"), "Tensor on device meta is not on the expected device"),
]


@pytest.mark.parametrize("call, text", TEXTS)
def test_errors_are_those_of_pytorch(call, text):
    with pytest.raises(RuntimeError, match="^" + re.escape(text)):
        call()
