"""Functions and classes by their names: pickled, copied, and held by modules that are saved whole."""

import copy
import importlib
import io
import pickle
import re
import sys

import pytest

import rushlight as torch
from helpers import files as kit
from helpers.process import python
from rushlight import nn
from rushlight._files.layouts import sparse
from rushlight._files.names import find, torch_name
from rushlight.nn import functional as F

HOMES = """
nn nn.functional nn.init nn.modules nn.modules.module nn.parameter nn.utils nn.utils.parametrizations
nn.utils.parametrize nn.utils.prune nn.utils.stateless autograd autograd.functional autograd.gradcheck
autograd.graph cuda func jit linalg optim random serialization storage utils.checkpoint utils.hooks
""".split()


def public(home):
    module = importlib.import_module(home)
    for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
        value = getattr(module, name)
        if not name.startswith("_") and not isinstance(value, type(sys)) and callable(value):
            yield name, value


def methods():
    for name in dir(torch.Tensor):
        if not name.startswith("__"):
            yield name, getattr(torch.Tensor, name)


@pytest.mark.parametrize("home", ["", *HOMES])
def test_what_is_public_pickles_to_itself(home):
    checked = 0
    for name, value in public(f"rushlight.{home}".rstrip(".")):
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            assert pickle.loads(pickle.dumps(value, protocol)) is value, name
        assert copy.copy(value) is copy.deepcopy(value) is value
        checked += 1
    assert checked > 0


def test_methods_pickle_to_themselves():
    for name, method in methods():
        if callable(method):
            assert pickle.loads(pickle.dumps(method)) is method, name


def test_dtypes_and_their_like_pickle_to_themselves():
    for name in dir(torch):
        value = getattr(torch, name)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format, torch.qscheme)):
            assert pickle.loads(pickle.dumps(value)) is copy.deepcopy(value) is value, name


@pytest.mark.parametrize("home", ["", "nn", "nn.functional", "autograd", "optim"])
def test_pickles_name_no_private_module(home):
    known = {
        "rushlight._C",
        "rushlight._C._nn",
        "rushlight._utils",
        "rushlight._lowrank",
        "rushlight._tensor_str",
    }  # as PyTorch's do
    for name, value in public(f"rushlight.{home}".rstrip(".")):
        named = set(re.findall(r"rushlight(?:\.\w+)*\._[\w.]*", pickle.dumps(value, 2).decode("latin1")))
        assert named <= known, name


def test_sparse_tensors_pickle_by_a_public_name():
    x = sparse(torch.sparse_coo, (torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0]), (2,), False))
    x.note = [3]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(x, protocol)
        y = pickle.loads(data)
        assert b"_files" not in data and repr(y) == repr(x) == repr(copy.deepcopy(x)) and y.note == [3]


def test_pickles_open_in_a_process_that_imported_nothing():
    data = [
        pickle.dumps(f)
        for f in (F.gelu, F.relu_, torch.abs_, torch.linalg.qr, nn.init.zeros_, torch.FloatStorage)
    ]
    code = f"import pickle\nprint([pickle.loads(d).__name__ for d in {data!r}])"
    assert python(code) == "['gelu', 'relu_', 'abs_', 'linalg_qr', 'zeros_', 'FloatStorage']\n"


# ---- in files: PyTorch's names ----
class Holder(nn.Module):
    def __init__(self, *functions):
        super().__init__()
        self.functions = functions


@pytest.mark.parametrize("zipped", [True, False])
def test_modules_that_hold_functions_are_saved(zipped):
    functions = (
        F.gelu,
        F.relu,
        F.relu_,
        F.linear,
        F.logsigmoid,
        torch.tanh,
        torch.abs_,
        torch.linalg.vector_norm,
    )
    functions += (
        nn.init.zeros_,
        torch.Tensor.relu,
        torch.Tensor.float,
        torch.nn.utils.clip_grad_norm_,
        torch.isclose,
    )
    file = io.BytesIO()
    torch.save(Holder(*functions), file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    assert all(
        one is other
        for one, other in zip(torch.load(file, weights_only=False).functions, functions, strict=True)
    )
    assert b"rushlight" not in file.getvalue()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (F.gelu, "torch._C._nn.gelu"),
        (F.leaky_relu_, "torch._C._nn.leaky_relu_"),
        (F.logsigmoid, "torch._C._nn.log_sigmoid"),
        (torch.linalg.qr, "torch._C._linalg.linalg_qr"),
        (F.relu, "torch.nn.functional.relu"),
        (torch.autograd.backward, "torch.autograd.backward"),
        (torch.tanh, "torch.tanh"),
        (torch.relu_, "torch.nn.functional.relu_"),
        (torch.abs_, "torch.abs_"),
    ],
)
def test_names_in_files(function, name):
    module, _, last = name.rpartition(".")
    assert torch_name(function) == (module, last) and find(module, last) is function


@pytest.mark.parametrize(
    ("module", "name", "function"),
    [
        ("torch.functional", "norm", torch.norm),
        ("torch._C", "TensorBase", torch.Tensor),
        ("torch.nn.functional", "_threshold", F.threshold),
        ("torch.amp.autocast_mode", "autocast", torch.autocast),
        ("torch.cuda.random", "manual_seed", torch.cuda.manual_seed),
        ("torch._C._nn", "adaptive_avg_pool2d", torch._C._nn.adaptive_avg_pool2d),
    ],
)
def test_names_that_stand_elsewhere_in_pytorch(module, name, function):
    assert find(module, name) is function


@pytest.mark.parametrize("holder", ["_VariableFunctionsClass", "_VariableFunctions"])
def test_static_methods_of_pytorch(holder):
    for name, function in (("relu_", torch.relu_), ("abs", torch.abs), ("bilinear", F.bilinear)):
        body = (
            kit.name("builtins", "getattr")
            + kit.name("torch._C", holder)
            + kit.text(name)
            + b"\x86"
            + kit.REDUCE
        )
        assert torch.load(io.BytesIO(kit.archive(body)), weights_only=False) is function
        with pytest.raises(pickle.UnpicklingError, match="Unsupported|builtins.getattr|getattr"):
            torch.load(io.BytesIO(kit.archive(body)))
    with pytest.raises(pickle.UnpicklingError, match="asks for torch.nowhere, which rushlight does not have"):
        find("torch._C", holder).nowhere  # noqa: B018


def test_quantized_layers_are_never_taken_for_plain_ones():
    for module in ("quantized.modules.linear", "quantized.dynamic.modules.linear", "qat.modules.linear"):
        found = find(f"torch.nn.{module}", "Linear")
        assert found is not nn.Linear and not issubclass(found, nn.Linear)
        assert torch_name(found) == (f"torch.nn.{module}", "Linear")


# ---- functions that write in place are functions ----
def test_functions_that_write_in_place():
    x = torch.tensor([-1.0, 2.0])
    assert torch.abs_(x) is x and x.tolist() == [1, 2]
    assert F.relu_(input=x) is x and F.leaky_relu_(x, negative_slope=0.5) is x
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not float"):
        torch.abs_(2.0)
    with pytest.raises(TypeError, match=r"exp_\(\) got an unexpected keyword argument 'out'"):
        torch.exp_(x, out=x)
    assert "out" not in torch.exp_.__text_signature__ and torch.exp_.__text_signature__.startswith("(input")
    assert torch.exp_.__module__ == "rushlight" and F.gelu.__module__ == "rushlight._C._nn"
