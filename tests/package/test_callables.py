"""Every public callable has a signature, pickles to itself, and calls the package its home."""

import copy
import inspect
import pickle
import subprocess
import sys

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

HOMES = {
    "torch": torch,
    "Tensor": torch.Tensor,
    "F": F,
    "nn": nn,
    "Module": nn.Module,
    "linalg": torch.linalg,
    "special": torch.special,
    "optim": torch.optim,
}
# exceptions, which Python's own have no signature either; this list only shrinks
WITHOUT_SIGNATURE = {"linalg.LinAlgError", "torch.AcceleratorError", "torch.OutOfMemoryError"}
# what stands for a whole family of calls, some of them written in Python; this list only shrinks
TAKES_ANYTHING = {"torch.range", "Tensor.new", "Tensor.to", "Module.compile", "Module.to"}


def public(home):
    for name in dir(HOMES[home]):
        member = getattr(HOMES[home], name)
        if not name.startswith("_") and callable(member):
            yield f"{home}.{name}", member


def has_signature(member):
    try:
        return bool(inspect.signature(member))
    except ValueError:
        return False


@pytest.mark.parametrize("home", HOMES)
def test_public_callables_have_a_signature(home):
    missing = {name for name, member in public(home) if not has_signature(member)}
    assert missing == {name for name in WITHOUT_SIGNATURE if name.startswith(f"{home}.")}


@pytest.mark.parametrize("home", ["torch", "Tensor", "F", "Module", "linalg", "special"])
def test_few_take_anything(home):
    """(*args, **kwargs) tells nobody what a function takes."""
    found = set()
    for name, member in public(home):
        if not inspect.isclass(member) and name not in WITHOUT_SIGNATURE:
            kinds = [str(p) for p in inspect.signature(member).parameters.values() if p.name != "self"]
            found |= {name} if kinds == ["*args", "**kwargs"] else set()
    assert found == {name for name in TAKES_ANYTHING if name.startswith(f"{home}.")}


@pytest.mark.parametrize("home", HOMES)
def test_public_callables_pickle_to_themselves(home):
    for name, member in public(home):
        assert pickle.loads(pickle.dumps(member)) is member, name
        assert copy.deepcopy(member) is member, name


FUNCTIONS = [
    F.gelu,
    F.relu_,
    torch.relu,
    torch.tensor,
    torch.Tensor.add,
    torch.Tensor.backward,
    torch.linalg.inv,
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_another_process_finds_the_functions_of_a_pickle(protocol, tmp_path):
    path = tmp_path / "functions"
    path.write_bytes(pickle.dumps(FUNCTIONS, protocol))
    code = "import pickle, sys; print(*(f.__name__ for f in pickle.load(open(sys.argv[1], 'rb'))))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stdout.split() == [f.__name__ for f in FUNCTIONS], done.stderr


def test_a_module_may_hold_functions_of_c():
    model = nn.Sequential(nn.Linear(2, 2), nn.TransformerEncoderLayer(2, 1, 2, activation=F.gelu))
    model.activation, model.join = F.gelu, torch.Tensor.add
    again = pickle.loads(pickle.dumps(model))
    assert again.activation is F.gelu and again.join is torch.Tensor.add and again[1].activation is F.gelu


def test_functions_of_c_are_the_package_s():
    for name, member in public("torch"):
        if type(member) is type(len):
            assert member.__module__ == "rushlight", name
            assert member.__qualname__ == member.__name__
    assert F.gelu.__module__ == torch.linalg.inv.__module__ == "rushlight._C._nn"
    assert torch.Tensor.add.__qualname__ == "Tensor.add" and torch.Tensor.add.__objclass__ is torch.Tensor
