"""Running one script on torch and here, and comparing the answers."""

import warnings

import pytest

import rushlight
import rushlight.nn

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")


def attempt(function, *args, **kwargs):
    """The answer, or the error as text."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)


def numbers(t, *shape, start=0.0):
    """Values that no two libraries could draw differently."""
    count = 1
    for n in shape:
        count *= n
    values = [((i * 7 + 3) % 11 - 5) / 4 + start for i in range(count)]
    return t.tensor(values).reshape(shape)


def linear(t, n_in=3, n_out=2, bias=True):
    m = t.nn.Linear(n_in, n_out, bias=bias)
    with t.no_grad():
        m.weight.copy_(numbers(t, n_out, n_in))
        if bias:
            m.bias.copy_(numbers(t, n_out, start=1.0))
    return m


def conv(t):
    m = t.nn.Conv2d(2, 4, 3)
    with t.no_grad():
        m.weight.copy_(numbers(t, 4, 2, 3, 3))
        m.bias.copy_(numbers(t, 4))
    return m


# ---- comparing ----
def plain(value, t):
    """Tensors as nested lists, and other things as they are; a class of either library by its name."""
    if isinstance(value, t.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.detach().reshape(-1).tolist()
    if isinstance(value, dict):
        return {k: plain(v, t) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, t) for v in value]
    if isinstance(value, t.nn.Module):
        return repr(value)
    return value.replace("rushlight.", "torch.") if isinstance(value, str) else value


def same(a, b, where=""):
    if isinstance(a, float) and isinstance(b, float):
        assert a == pytest.approx(b, rel=2e-5, abs=2e-6, nan_ok=True), where
    elif isinstance(a, list) and isinstance(b, list) or isinstance(a, tuple) and isinstance(b, tuple):
        assert len(a) == len(b), (where, a, b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    else:
        assert a == b, where


def case(function):
    """Mark a script; it answers with plain Python, tensors, or texts of errors."""
    function.is_case = True
    return function


def compare(script):
    """Run the script, which is given the library, on both."""
    answers = []
    for t in (torch, rushlight):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            t.manual_seed(0)
            answers.append(plain(script(t), t))
    same(*answers)
